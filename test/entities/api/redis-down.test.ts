/** A change while Redis is down: it is stored and answered, and followed up when Redis is back. */
import { expect, it } from 'vitest'
import { useApiServer } from '../../support/entities/api/api-server.ts'
import { make } from '../../support/entities/api/creators.ts'

const world = useApiServer()

async function fenceOf(aid: number, sid: number): Promise<number> {
  const [owner] = await world.stores().ledger.load([{ aid, sid, sessionKeys: [] }])
  if (owner === undefined || owner instanceof Error) throw owner ?? new Error('no owner')
  return owner.fence.number
}

it('a change of a subscriber has a warning, and its fence is raised later', async () => {
  const plan = String((await make(world, 'plans')).entity['name'])
  const aid = Number((await make(world, 'accounts')).entity['aid'])
  const person = { firstname: 'Ada', lastname: 'Byron', address: '12 St James Square' }
  const made = await make(world, 'subscribers', { ...person, aid, plan })
  const sid = Number(made.entity['sid'])
  const include = (await make(world, 'prepaidincludes')).entity['external_id']
  const { catalog, server } = world.stores()
  const before = await fenceOf(aid, sid)
  const query = { _id: made.entity._id.$id }
  const first = await world.ok('subscribers', 'update', { query, update: { lastname: 'First' } })
  expect(first.warnings).toBeUndefined()
  const raised = await fenceOf(aid, sid)
  expect(raised).toBeGreaterThan(before)
  // Executed entries are deleted a moment later.
  await expect.poll(() => catalog.outbox.countDocuments()).toBe(0)
  await server.kill9()
  const answer = await world.ok('subscribers', 'update', { query, update: { lastname: 'Second' } })
  expect(answer.entity['lastname']).toBe('Second')
  expect(answer.warnings).toEqual([
    'Redis or MongoDB is unavailable: the change is stored, and applies to charging within a ' +
      'second of its return',
  ])
  const stored = { sid, lastname: 'Second' } as object
  expect(await catalog.subscribers.countDocuments(stored)).toBe(1)
  expect(await catalog.outbox.distinct('kind')).toEqual(['fence'])
  // A load needs the ledger, and is refused.
  const load = { query: { sid, pp_includes_external_id: include }, update: { value: -1 } }
  expect((await world.call('balances', 'update', load)).http).toBe(503)
  await server.restart()
  await expect.poll(() => catalog.outbox.countDocuments()).toBe(0)
  expect(await fenceOf(aid, sid)).toBeGreaterThan(raised)
  const [owner] = await world.stores().ledger.load([{ aid, sid, sessionKeys: [] }])
  expect(owner).toMatchObject({ state: { buckets: [] } })
})
