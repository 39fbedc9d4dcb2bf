/** Two admins on the same stores, and many concurrent changes of one entity. */
import { describe, expect, it } from 'vitest'
import {
  type Answer,
  type Fields,
  idOf,
  requestOf,
  sendTo,
  stored,
  useApiServer,
  type Way,
} from '../../support/entities/api/api-server.ts'
import { make, makeSubscriber, ORDINARY } from '../../support/entities/api/creators.ts'

const world = useApiServer({ admins: 2 })
const WAYS: readonly Way[] = ['form', 'json', 'multipart']
const DAY_MS = 86_400_000
const BEGIN_MS = Date.UTC(2026, 0, 1)

interface Write {
  action: string
  query: Fields
  update: Fields
}

/** All concurrently, alternating between the two admins. */
function all(collection: string, writes: readonly Write[]): Promise<Answer[]> {
  return Promise.all(
    writes.map(({ action, ...params }, index) => {
      const [query, init] = requestOf(params, WAYS[index % WAYS.length] ?? 'form')
      const base = world.urls[index % world.urls.length]
      return sendTo(`${base}/billapi/${collection}/${action}${query}`, init)
    }),
  )
}

function dayAt(index: number): string {
  return new Date(BEGIN_MS + index * DAY_MS).toISOString().slice(0, 10)
}

/** A small generator with a seed, which is shown if a test fails. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function mixedWrites(key: Fields, field: string, count: number, seed: number): Write[] {
  const below = numbersFrom(seed)
  return Array.from({ length: count }, (_, index): Write => {
    const at = 1 + below(100)
    const query = { ...key, effective_date: dayAt(at) }
    const mark = { [field]: `write ${index}` }
    const kind = below(4)
    if (kind === 0) return { action: 'closeandnew', query, update: { from: dayAt(at), ...mark } }
    if (kind === 1) return { action: 'move', query, update: { to: dayAt(at + 1 + below(20)) } }
    if (kind === 2)
      return { action: 'permanentchange', query, update: { from: dayAt(at), ...mark } }
    return { action: 'update', query, update: mark }
  })
}

interface Revision {
  fromMs: number
  toMs: number
  fields: Fields
}

async function revisionsOf(store: string, key: Fields): Promise<Revision[]> {
  const found = await stored(world, store, key)
  return found.map((fields) => ({
    fromMs: (fields['from'] as Date).getTime(),
    toMs: (fields['to'] as Date).getTime(),
    fields,
  }))
}

function expectOrder(revisions: readonly Revision[], { gaps }: { gaps: boolean }): void {
  for (const [index, { fromMs, toMs }] of revisions.entries()) {
    expect(fromMs).toBeLessThan(toMs)
    const next = revisions[index + 1]
    if (next === undefined) continue
    if (gaps) expect(toMs).toBeLessThanOrEqual(next.fromMs)
    else expect(toMs).toBe(next.fromMs)
  }
}

/** Nothing is left to be done in other stores. */
async function expectNoEntries(): Promise<void> {
  await expect.poll(() => world.stores().catalog.outbox.find().toArray()).toEqual([])
}

/** Each answer is a success or a violated rule; no client receives a conflict. */
function expectSettled(answers: readonly Answer[]): Answer[] {
  for (const { http, body, text } of answers) {
    expect(http, text).toBe(200)
    expect([0, 1]).toContain(body.status)
    if (body.status === 1) continue
    expect(text).not.toContain('being changed by others')
    expect([17_577, 500]).toContain(body.code)
  }
  return answers.filter(({ body }) => body.status === 1)
}

describe('50 concurrent writes of one entity', () => {
  it('of closeandnew alone are all done, without gap', async () => {
    const { key } = (await make(world, 'rates')).entity
    const days = Array.from({ length: 50 }, (_, index) => 1 + ((index * 37) % 50))
    const writes = days.map((day): Write => {
      const query = { key, effective_date: dayAt(day) }
      return { action: 'closeandnew', query, update: { from: dayAt(day), description: `${day}` } }
    })
    const done = expectSettled(await all('rates', writes))
    expect(done).toHaveLength(50)
    const revisions = await revisionsOf('rates', { key })
    expect(revisions).toHaveLength(51)
    expectOrder(revisions, { gaps: false })
    for (const [index, { fields }] of revisions.entries()) {
      expect(fields['description']).toBe(index === 0 ? 'A rate' : String(index))
    }
    await expectNoEntries()
  })

  it.each([1, 2, 3])(
    'of all actions except close leave no gap and no overlap (seed %i)',
    async (seed) => {
      const { name } = (await make(world, 'plans')).entity
      const writes = mixedWrites({ name }, 'description', 50, seed)
      const done = expectSettled(await all('plans', writes))
      expect(done.length).toBeGreaterThan(5)
      const revisions = await revisionsOf('plans', { name })
      expect(revisions[0]?.fromMs).toBe(BEGIN_MS)
      expectOrder(revisions, { gaps: false })
      await expectReflected(done, revisions)
      await expectNoEntries()
    },
  )

  it.each([4, 5])('with close and delete leave no overlap (seed %i)', async (seed) => {
    const body = await make(world, 'services')
    const { name } = body.entity
    for (const day of [10, 20, 30, 40, 50]) {
      const query = { name, effective_date: dayAt(day) }
      await world.ok('services', 'closeandnew', { query, update: { from: dayAt(day) } })
    }
    const ids = (await revisionsOf('services', { name })).map(({ fields }) => String(fields['_id']))
    const below = numbersFrom(seed)
    const more = ids.slice(1).flatMap((_id): Write[] => [
      { action: 'close', query: { _id }, update: { to: dayAt(5 + below(60)) } },
      { action: 'delete', query: { _id }, update: {} },
      { action: 'reopen', query: { _id }, update: { from: dayAt(70 + below(30)) } },
    ])
    const mixed = mixedWrites({ name }, 'description', 35, seed)
    const writes = mixed.flatMap((one, index) => [one, ...more.slice(index, index + 1)])
    const done = expectSettled(await all('services', writes))
    expect(done.length).toBeGreaterThan(5)
    expectOrder(await revisionsOf('services', { name }), { gaps: true })
    await expectNoEntries()
  })

  it('of a subscriber keep its dates consistent with its revisions', async () => {
    const plans = await Promise.all([1, 2, 3].map(() => make(world, 'plans')))
    const names = plans.map(({ entity }) => entity['name'])
    const { sid } = (await makeSubscriber(world, { plan: names[0] })).entity
    const below = numbersFrom(6)
    const writes = Array.from({ length: 40 }, (): Write => {
      const at = 1 + below(100)
      const action = ['closeandnew', 'permanentchange'][below(2)] ?? ''
      const update = { from: dayAt(at), plan: names[below(3)] }
      return { action, query: { sid, effective_date: dayAt(at) }, update }
    })
    const done = expectSettled(await all('subscribers', writes))
    expect(done.length).toBeGreaterThan(5)
    const revisions = await revisionsOf('subscribers', { sid, type: 'subscriber' })
    expectOrder(revisions, { gaps: false })
    expectRuns(revisions)
    await expectNoEntries()
  })
})

/** The last value of each success is stored, or was overwritten by a later one. */
async function expectReflected(done: readonly Answer[], revisions: readonly Revision[]) {
  const ids = new Set(revisions.map(({ fields }) => String(fields['_id'])))
  for (const { body } of done) expect(ids).toContain(idOf(body))
  const marks = revisions
    .map(({ fields }) => fields['description'])
    .filter((mark) => mark !== 'A plan')
  const written = new Set(done.map(({ body }) => body.entity['description']))
  for (const mark of marks) expect(written).toContain(mark)
}

function expectRuns(revisions: readonly Revision[]): void {
  for (const [index, { fromMs, fields }] of revisions.entries()) {
    const before = revisions[index - 1]
    const isSame = before !== undefined && before.fields['plan'] === fields['plan']
    const expected = isSame ? before.fields['plan_activation'] : new Date(fromMs)
    expect(fields['plan_activation']).toEqual(expected)
    expect(fields['activation_date']).toEqual(new Date(BEGIN_MS))
    if (!isSame) expect(fields['former_plan']).toBe(before?.fields['plan'])
  }
}

describe('a unique value', () => {
  it('is created once, in 20 attempts on both admins', async () => {
    const write = (): Write => ({
      action: 'create',
      query: {},
      update: { key: 'ONE_ALONE', description: 'x', rate: 0.1, from: '2026-01-01' },
    })
    const answers = await all('taxes', Array.from({ length: 20 }, write))
    expect(answers.filter(({ body }) => body.status === 1)).toHaveLength(1)
    expect(await stored(world, 'taxes', { key: 'ONE_ALONE' })).toHaveLength(1)
  })

  it('as number of an account follows the last one, also after a conflict', async () => {
    const write = (): Write => ({
      action: 'create',
      query: {},
      update: { ...ORDINARY['accounts']?.(), from: '2026-01-01' },
    })
    const answers = await all('accounts', Array.from({ length: 20 }, write))
    const numbers = answers.map(({ body }) => Number(body.entity['aid'])).sort((a, b) => a - b)
    expect(numbers).toEqual(numbers.map((_, index) => Number(numbers[0]) + index))
  })

  it('as number of an account or subscriber is never assigned twice', async () => {
    const { aid, plan } = (await makeSubscriber(world)).entity
    const person = { firstname: 'A', lastname: 'B', address: 'C', aid, plan, from: '2025-06-01' }
    await make(world, 'plans', { name: `${plan}`, from: '2025-01-01' }).catch(() => null)
    const write = (): Write => ({
      action: 'create',
      query: {},
      update: { ...person, from: '2026-01-01' },
    })
    const answers = await all('subscribers', Array.from({ length: 20 }, write))
    const done = expectSettled(answers)
    expect(done).toHaveLength(20)
    expect(new Set(done.map(({ body }) => body.entity['sid'])).size).toBe(20)
    await expectNoEntries()
  })

  it('as last admin is kept: of two who demote each other one stays', async () => {
    const users = await Promise.all([1, 2].map(() => make(world, 'users', { roles: ['admin'] })))
    const writes = users.map(
      (user): Write => ({
        action: 'update',
        query: { _id: idOf(user) },
        update: { roles: ['read'] },
      }),
    )
    const answers = await all('users', writes)
    expect(answers.filter(({ body }) => body.status === 1)).toHaveLength(1)
    expect(await stored(world, 'users', { roles: 'admin' })).toHaveLength(1)
  })
})
