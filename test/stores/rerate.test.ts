/** Rerating on real stores: exact, whatever it meets and wherever it is killed. */
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { addJob, claimJob } from '../../src/jobs/jobs.ts'
import { rerateJob } from '../../src/jobs/rerate-job.ts'
import { ACTOR } from '../support/billing/books.ts'
import {
  CYCLE,
  NOW_MS,
  openRerateScene,
  type SceneOffer,
  type ScenePrice,
  type SceneUse,
} from '../support/billing/rerate-scene.ts'
import { dyingCatalog } from '../support/catalog/dying.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { useOpened } from '../support/opened.ts'

const open = useOpened(openRerateScene)
beforeEach(async () => {
  open().recorder.isOver = false
  await open().stores.catalog.jobs.deleteMany({})
})

let accounts = 100
/** A new account with subscribers. */
async function account(subscribers = 1): Promise<{ aid: number; sids: number[] }> {
  accounts += 1
  const aid = accounts
  const sids = Array.from({ length: subscribers }, (_, index) => aid * 10 + index + 1)
  for (const sid of sids) await open().addSubscriber(aid, sid)
  return { aid, sids }
}

const price = (micros: number, more: Partial<ScenePrice> = {}): ScenePrice => {
  return { price: micros, interval: 10, access: 0, ...more }
}
const OLD: SceneOffer = {
  ...{ data: price(2_000), call: price(1_000), included: 100, isShared: false },
}
const NEW: SceneOffer = { ...OLD, data: price(3_000) }

async function chargeAll(uses: readonly SceneUse[]): Promise<void> {
  for (const use of uses) await open().charge(use)
  await open().recorded(uses[0]?.aid ?? 0)
}

const dataOf = (aid: number, sid: number, minute: number, used = 60): SceneUse => {
  return { aid, sid, usaget: 'data', used, minute }
}

const micros = async (aid: number) =>
  (await open().lines(aid)).map(({ aprice_micros }) => aprice_micros)
const versions = async (aid: number) => (await open().lines(aid)).map(({ v }) => v)
const spentOf = async (aid: number, sid: number) => {
  const [owner] = await open().owners(aid, [sid])
  return Object.fromEntries(
    (owner?.buckets ?? []).map(({ counter, spent }) => [counter.split('/')[0], spent]),
  )
}

describe('lines of an open cycle', () => {
  it('have the prices of today in a new version, and the counters follow', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([1, 2, 3].map((minute) => dataOf(aid, sid, minute)))
    // 100 of 180 units are included.
    expect(await micros(aid)).toEqual([0, 4_000, 12_000])
    expect(await spentOf(aid, sid)).toEqual({ group: 100, credit: 16_000 })
    await open().setOffer({ ...NEW, included: 150 })
    await open().run({ sid })
    await open().recorded(aid)
    expect(await micros(aid)).toEqual([0, 0, 9_000])
    expect(await versions(aid)).toEqual([1, 2, 2])
    expect(await spentOf(aid, sid)).toEqual({ group: 150, credit: 9_000 })
    expect(await open().audit(aid, sids)).toEqual([])
    expect(await open().rows(aid)).toMatchObject([
      {
        ...{ aid, cycle: CYCLE, state: 'applied', lines: 3, changed: 2, refused: [], chunk: null },
        difference: { aprice: '-0.007', final_charge: '-0.007' },
      },
    ])
    const [job] = await open().stores.catalog.jobs.find({ kind: 'rerate' }).toArray()
    expect(job).toMatchObject({ state: 'done', counts: { accounts: 1, lines: 3, changed: 2 } })
    const audited = await open().stores.catalog.audit.find({ type: 'rerate' }).toArray()
    expect(audited).toMatchObject([
      { collection: 'lines', key: String(aid), new: { cycle: CYCLE, changed: 2 } },
    ])
  })

  it('do not change when the run is repeated', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sid, 1, 200)])
    await open().setOffer(NEW)
    await open().run({ sid })
    await open().recorded(aid)
    const before = [await open().lines(aid), await open().owners(aid, [0, sid])]
    await open().run({ sid })
    await open().recorded(aid)
    expect([await open().lines(aid), await open().owners(aid, [0, sid])]).toEqual(before)
    expect((await open().rows(aid)).map(({ state }) => state)).toEqual(['applied', 'unchanged'])
  })

  it('are exported again', async () => {
    const { aid, sids } = await account()
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sids[0] ?? 0, 1, 20), dataOf(aid, sids[0] ?? 0, 2, 200)])
    const { exportwaiting } = open().stores.catalog
    await exportwaiting.deleteMany({})
    await open().setOffer(NEW)
    await open().run({ sid: sids[0] ?? 0 })
    await open().recorded(aid)
    const [, changed] = await open().lines(aid)
    expect(await exportwaiting.find().toArray()).toEqual([{ _id: changed?.stamp }])
  })

  it('of a group that did not exist are paid from a new counter', async () => {
    const { aid, sids } = await account(2)
    const [one = 0, two = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, one, 1), dataOf(aid, two, 2)])
    await open().setOffer({ ...OLD, isShared: true })
    await open().run({ plan: 'POST' })
    await open().recorded(aid)
    expect(await micros(aid)).toEqual([0, 4_000])
    expect(await spentOf(aid, 0)).toEqual({ group: 100 })
    expect(await spentOf(aid, one)).toMatchObject({ group: 0 })
    expect(await open().audit(aid, sids)).toEqual([])
  })

  it('count against the limit of their account', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    const valid = { from: new Date(0), to: new Date(4e12) }
    const limited = { type: 'account', aid, credit_limit: 100, ...valid }
    await open().stores.catalog.subscribers.insertOne(limited as never)
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sid, 1, 200)])
    expect(await spentOf(aid, 0)).toEqual({ credit: 20_000 })
    await open().setOffer(NEW)
    await open().run({ sid })
    await open().recorded(aid)
    expect(await spentOf(aid, 0)).toEqual({ credit: 30_000 })
    expect(await open().audit(aid, sids)).toEqual([])
  })

  it('keep what was used after they were planned', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sid, 1, 200)])
    await open().setOffer(NEW)
    const dying = await open().dyingLedger(0)
    await expect(open().run({ sid }, { ledger: dying.ledger })).rejects.toThrow()
    await dying.close()
    expect(await open().rows(aid)).toMatchObject([{ state: 'planned' }])
    await chargeAll([dataOf(aid, sid, 2, 50)])
    await open().run({ sid })
    await open().recorded(aid)
    expect(await micros(aid)).toEqual([30_000, 15_000])
    expect(await spentOf(aid, sid)).toEqual({ group: 100, credit: 45_000 })
    expect(await open().audit(aid, sids)).toEqual([])
  })

  it('are refused while the ledger may change them: an event that can be refunded', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sid, 1, 200), { ...dataOf(aid, sid, 2), isEvent: true }])
    await open().setOffer(NEW)
    await open().run({ sid })
    const [row] = await open().rows(aid)
    expect(row).toMatchObject({ state: 'refused', changed: 0, refused: [{ reason: 'kept' }] })
    expect(await versions(aid)).toEqual([1, 1])
  })

  it('are not repriced from a ledger that has less than they say', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sid, 1, 200)])
    const lines = open().stores.catalog.lines
    const [line] = await open().lines(aid)
    const paid = line?.payments.map((each) =>
      each.counter === 'credit' ? { ...each, cost_micros: 90_000 } : each,
    )
    await lines.updateOne({ stamp: line!.stamp }, { $set: { payments: paid } as never })
    await open().setOffer(NEW)
    await open().run({ sid })
    expect(await open().rows(aid)).toMatchObject([
      { state: 'refused', changed: 0, refused: [{ reason: 'ledger' }] },
    ])
    expect(await versions(aid)).toEqual([1])
  })
})

it('marks a line of a cycle that is over, with what it charged before', async () => {
  const { aid, sids } = await account()
  const [sid = 0] = sids
  await open().setOffer(OLD)
  await chargeAll([dataOf(aid, sid, 1, 200)])
  open().recorder.isOver = true
  await open().setOffer({ ...NEW, data: price(500) })
  await open().run({ sid })
  await open().recorded(aid)
  const [line] = await open().lines(aid)
  expect(line).toMatchObject({
    ...{ v: 2, exact: { aprice: '0.005' } },
    uninvoiced: { former: { usagev: 200, exact: { aprice: '0.02' } } },
  })
})

describe('requests of resetlines', () => {
  it('are worked off by the job: done, or failed with the reason', async () => {
    const { aid, sids } = await account()
    const [sid = 0] = sids
    await open().setOffer(OLD)
    await chargeAll([dataOf(aid, sid, 1, 200), { ...dataOf(aid, sid, 2), usaget: 'call' }])
    await open().setOffer(NEW)
    const done = await open().queue(aid, { usaget: 'call' })
    const none = await open().queue(aid, { usaget: 'sms' })
    const closed = await open().queue(aid, {}, '202501')
    await open().runQueue()
    expect(await done()).toEqual({ state: 'done', reason: '' })
    expect(await none()).toEqual({ state: 'failed', reason: 'no line of usage matches' })
    expect(await closed()).toEqual({ state: 'failed', reason: 'the cycle is closed' })
    await open().recorded(aid)
    expect(await micros(aid)).toEqual([30_000, 6_000])
    expect(await open().audit(aid, sids)).toEqual([])
  })

  it('of an account that cannot be rerated say why', async () => {
    const { aid, sids } = await account()
    await open().setOffer(OLD)
    await chargeAll([{ ...dataOf(aid, sids[0] ?? 0, 1), isEvent: true }])
    const refused = await open().queue(aid, {})
    await open().runQueue()
    const text = 'the ledger keeps its session: usage or a refund may still change it'
    expect(await refused()).toEqual({ state: 'failed', reason: text })
  })

  it('are not left out if they come while a job ends', async () => {
    const { catalog } = open().stores
    const clock = { nowMs: () => NOW_MS }
    const add = () =>
      catalog.transaction('queue', (session) =>
        addJob({ catalog, clock }, session, rerateJob(null, ACTOR)),
      )
    const claimed = await claimJob({ catalog, clock }, await add())
    await add()
    await claimed?.end(null)
    expect(await catalog.jobs.findOne({ kind: 'rerate' })).toMatchObject({ state: 'waiting' })
    const again = await claimJob({ catalog, clock }, (await catalog.jobs.findOne({}))!)
    await again?.end(null)
    expect(await catalog.jobs.findOne({ kind: 'rerate' })).toMatchObject({ state: 'done' })
  })
})

const offers: fc.Arbitrary<SceneOffer> = (() => {
  const one = fc.record({
    price: fc.integer({ min: 0, max: 1000 }),
    interval: fc.integer({ min: 1, max: 60 }),
    access: fc.integer({ min: 0, max: 50 }),
  })
  const included = fc.integer({ min: 1, max: 2000 })
  return fc.record({ data: one, call: one, included, isShared: fc.boolean() })
})()
const uses = fc.array(
  fc.record({
    who: fc.integer({ min: 0, max: 1 }),
    usaget: fc.constantFrom('data' as const, 'call' as const),
    used: fc.integer({ min: 1, max: 1500 }),
  }),
  { minLength: 1, maxLength: 8 },
)

/** By arithmetic alone: an interval that has begun is paid for. */
function modelled(all: readonly SceneUse[], offer: SceneOffer): number[] {
  const left = new Map<number, number>()
  return all.map(({ sid, usaget, used }) => {
    const holder = offer.isShared ? 0 : sid
    const free = usaget === 'data' ? (left.get(holder) ?? offer.included) : 0
    const within = Math.min(free, used)
    if (usaget === 'data') left.set(holder, free - within)
    const { price: each, interval, access } = offer[usaget]
    const beyond = used - within
    return beyond === 0 ? 0 : access + Math.ceil(beyond / interval) * each
  })
}

it('has the prices and counters of a model for any usage and offers', async () => {
  await fc.assert(
    fc.asyncProperty(offers, offers, uses, async (before, after, drawn) => {
      const { aid, sids } = await account(2)
      const all = drawn.map(({ who, usaget, used }, index) => {
        return { aid, sid: sids[who] ?? 0, usaget, used, minute: index + 1 }
      })
      await open().setOffer(before)
      await chargeAll(all)
      await open().setOffer(after)
      // Any of its subscribers selects the account.
      await open().run({ sid: all[0]?.sid ?? 0 }, { linesMax: 2 })
      await open().recorded(aid)
      expect(await micros(aid)).toEqual(modelled(all, after))
      expect(await open().audit(aid, sids)).toEqual([])
      await open().run({ sid: all[0]?.sid ?? 0 })
      expect((await open().rows(aid)).at(-1)).toMatchObject({ state: 'unchanged', changed: 0 })
    }),
    propertyRuns(20),
  )
})

describe('a run that is killed', () => {
  async function scene() {
    const { aid, sids } = await account(2)
    const [one = 0, two = 0] = sids
    await open().setOffer({ ...OLD, isShared: true })
    const all = [dataOf(aid, one, 1, 80), dataOf(aid, two, 2, 80), dataOf(aid, one, 3, 70)]
    await chargeAll(all)
    await open().setOffer(NEW)
    return { aid, sids, all }
  }

  /** As after a run without interruption. */
  async function expectDone({ aid, sids, all }: Awaited<ReturnType<typeof scene>>) {
    await open().recorded(aid)
    expect(await micros(aid)).toEqual(modelled(all, NEW))
    expect(await versions(aid)).toEqual([2, 2, 2])
    expect(await open().audit(aid, sids)).toEqual([])
    const [row, ...others] = await open().rows(aid)
    expect(others).toEqual([])
    expect(row).toMatchObject({
      ...{ state: 'applied', lines: 3, changed: 3, chunk: null, seq: 2 },
      difference: { final_charge: '-0.011' },
      done: { changed: 3, difference: { final_charge: '-0.011' } },
    })
    const { audit, jobs } = open().stores.catalog
    expect(await audit.countDocuments({ type: 'rerate', key: String(aid) })).toBe(2)
    expect(await jobs.findOne({ kind: 'rerate' }, { sort: { created: -1 } })).toMatchObject({
      ...{ state: 'done', counts: { accounts: 1, lines: 3, changed: 3 } },
    })
    await open().stores.catalog.jobs.deleteMany({})
  }

  it('leaves no double and no hole, before whichever write to MongoDB', async () => {
    let killed = 0
    for (let writes = 0; ; writes += 1) {
      const one = await scene()
      let done = 0
      const isLast = (command: string) => {
        if (WRITE.test(command)) done += 1
        return done > writes
      }
      const dying = await dyingCatalog(open().stores.mongo, isLast, 1_000)
      const parts = { catalog: dying.catalog, linesMax: 2 }
      await open()
        .run({ sid: one.sids[0] ?? 0 }, parts)
        .catch(() => undefined)
      const hasDied = dying.died()
      await dying.close()
      if (hasDied) await open().run({ sid: one.sids[0] ?? 0 }, { linesMax: 2 })
      await expectDone(one)
      if (!hasDied) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(8)
  })

  it('leaves no double and no hole, before whichever commit to the ledger', async () => {
    for (let commits = 0; commits < 2; commits += 1) {
      const one = await scene()
      const dying = await open().dyingLedger(commits)
      const parts = { ledger: dying.ledger, linesMax: 2 }
      await expect(open().run({ sid: one.sids[0] ?? 0 }, parts)).rejects.toThrow()
      await dying.close()
      await open().run({ sid: one.sids[0] ?? 0 }, { linesMax: 2 })
      await expectDone(one)
    }
  })
})

/** Commands that write, and the end of a transaction. */
const WRITE = /^(insert|update|delete|findAndModify|commitTransaction)\b/
