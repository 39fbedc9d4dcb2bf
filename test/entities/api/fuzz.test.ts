/**
 * For any request the answer is JSON, a refused request has no effect, and the node keeps running.
 */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'
import { type Body, useApiServer } from '../../support/entities/api/api-server.ts'
import { make, makeAny, ORDINARY } from '../../support/entities/api/creators.ts'
import { type FuzzRequest, fuzzRequest } from '../../support/entities/api/fuzz-requests.ts'

const world = useApiServer()
const known = new Map<string, { ids: string[]; keys: unknown[] }>()
const MADE = [
  'accounts',
  'subscribers',
  'plans',
  'services',
  'rates',
  'charges',
  'discounts',
  'taxes',
  'prepaidincludes',
  'prepaidgroups',
  'reports',
  'users',
  'autorenew',
]
const WAIT_MS = 30_000
const { numRuns } = propertyRuns(1500)

beforeAll(async () => {
  // Otherwise every deletion would hit the last admin.
  await make(world, 'users', { roles: ['admin'] })
  for (const collection of MADE) {
    for (let count = 0; count < 3; count += 1) learn(collection, await makeAny(world, collection))
  }
})

function learn(collection: string, { entity }: Body): void {
  const keyField = DEFINITIONS.get(collection)?.keyField ?? ''
  if (typeof entity?._id?.$id !== 'string') return
  const { ids, keys } = known.get(collection) ?? { ids: [], keys: [] }
  known.set(collection, { ids: [...ids, entity._id.$id], keys: [...keys, entity[keyField]] })
}

/** Each write increments the revision number of the document. */
async function revisionsOf(store: string): Promise<string> {
  const { catalog } = world.stores()
  const collection = catalog[store as 'plans']
  const projection = { _id: 1, rev: 1 }
  const found = await collection.find({}, { projection }).sort({ _id: 1 }).toArray()
  return found.map(({ _id, rev }) => `${_id} ${rev}`).join('\n')
}

async function answers(
  { collection, action, store, query, init }: FuzzRequest,
  before: string,
): Promise<Body> {
  const signal = AbortSignal.timeout(WAIT_MS)
  const path = `/billapi/${collection}/${action}${query}`
  const { http, contentType, body } = await world.send(path, { ...init, signal })
  expect([200, 400, 405, 413, 415, 431], JSON.stringify(body)).toContain(http)
  expect(contentType).toMatch(/^application\/json/)
  expect([0, 1]).toContain(body.status)
  if (http !== 200) expect(body.status).toBe(0)
  if (body.status === 0) {
    expect(textOf(body).length).toBeGreaterThan(5)
    expect(await revisionsOf(store)).toBe(before)
  }
  return body
}

function textOf({ message, data }: Body): string {
  return message ?? data?.message ?? ''
}

describe('any request', () => {
  it('is answered, and has its full effect or none', async () => {
    const seen = { done: 0, refused: 0 }
    const before = new Map<string, string>()
    const request = fuzzRequest(known)
    await fc.assert(
      fc.asyncProperty(request, async (one) => {
        const { store } = one
        const was = before.get(store) ?? (await revisionsOf(store))
        const body = await answers(one, was)
        before.clear()
        if (body.status === 0) before.set(store, was)
        else learn(one.collection, body)
        seen[body.status === 0 ? 'refused' : 'done'] += 1
      }),
      { numRuns, endOnFailure: true },
    )
    // Otherwise almost no request would have succeeded.
    expect(seen.done).toBeGreaterThan(numRuns / 10)
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
    await expect.poll(() => world.stores().catalog.outbox.countDocuments()).toBe(0)
  })
})

describe('long values', () => {
  const LONG = 'A'.repeat(3000)

  it.each(Object.keys(ORDINARY))('of %s: a key is refused by name', async (collection) => {
    const keyField = DEFINITIONS.get(collection)?.keyField ?? ''
    const update = { ...ORDINARY[collection]?.(), [keyField]: LONG, description: LONG }
    const { http, body } = await world.call(collection, 'create', { update })
    expect(http, body.message).toBe(200)
    // The node assigns account numbers.
    if (collection === 'accounts') return
    expect(body.status).toBe(0)
    expect(body.message).toContain(keyField)
  })

  it('of an indexed field are neither searched nor stored', async () => {
    const { name } = (await make(world, 'plans')).entity
    for (const asked of [LONG, { $in: [LONG] }, { $gt: LONG }, { $ne: LONG }]) {
      for (const action of ['get', 'uniqueget']) {
        const body = await world.refused('plans', action, { query: { name: asked } })
        expect([body.code, body.message]).toEqual([17_576, expect.stringContaining('name')])
      }
    }
    const update = { description: 'x' }
    const query = { name: LONG, effective_date: '2026-02-01' }
    expect((await world.refused('plans', 'update', { query, update })).message).toContain('name')
    const { _id } = (await makeAny(world, 'subscribers', { plan: name })).entity
    const later = { from: '2026-03-01', msisdn: LONG }
    for (const action of ['update', 'closeandnew', 'permanentchange']) {
      const body = await world.refused('subscribers', action, { query: { _id }, update: later })
      expect(body.message).toContain('msisdn')
    }
    await world.ok('subscribers', 'update', { query: { _id }, update: { lastname: 'Murray' } })
  })

  it('of a text are stored, and a body above a megabyte is refused', async () => {
    const description = 'ü'.repeat(200_000)
    const update = { ...ORDINARY['plans']?.(), description }
    const { entity } = await world.ok('plans', 'create', { update }, 'json')
    expect(entity['description']).toBe(description)
    const params = { update: { description: 'x'.repeat(1024 * 1024) } }
    for (const way of ['form', 'json', 'multipart'] as const) {
      const { http, body } = await world.call('plans', 'create', params, way)
      expect([http, body.status]).toEqual([413, 0])
    }
  })
})
