/** The job that evaluates usage patterns, compared with a simple model. */
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { FraudEventDocument } from '../../../src/catalog/records/events/rule-event.ts'
import { loadConfig } from '../../../src/config/load.ts'
import {
  beginFraudRules,
  fraudHandler,
  nextFraudWindowMs,
} from '../../../src/jobs/event-jobs/fraud-job.ts'
import { jobsDue } from '../../../src/jobs/jobs.ts'
import { runJob } from '../../../src/jobs/runner.ts'
import { storeEventRules } from '../../support/billing/money-rules.ts'
import { useStore } from '../../support/catalog/store.ts'
import { silent } from '../../support/recorder/accounts.ts'

const store = useStore()
const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 5, 15, 10)
const QUARTER = { recurrence: { type: 'minutely', value: 15 } }
const HOUR = { date_range: { type: 'hourly', value: 1 } }
const at = (minute: number) => new Date(START_MS + minute * MINUTE_MS)

let catalog: Catalog
let nowMs = START_MS
const clock = { nowMs: () => nowMs }
beforeEach(async () => {
  nowMs = START_MS + MINUTE_MS
  catalog = await store.open()
  await catalog.ensureIndexes()
  await beginFraudRules({ catalog, clock })
})

const rules = (...fraud: object[]) => storeEventRules(catalog, { fraud })

async function run(on = catalog): Promise<void> {
  const handlers = { fraud: fraudHandler({ catalog: on, clock, log: silent }) }
  const config = loadConfig({ env: {} })
  const stores = { catalog: on, clock, config, log: silent, handlers }
  const [job] = await jobsDue(stores)
  if (job !== undefined) await runJob(stores, job, new AbortController().signal)
}

/** Runs as time passes, minutes after the start. */
async function runAt(...minutes: number[]): Promise<void> {
  for (const minute of minutes) {
    nowMs = START_MS + minute * MINUTE_MS
    await run()
  }
}

let lines = 0
function line(sid: number, minute: number, more: object = {}) {
  lines += 1
  const common = { stamp: `line${lines}`, type: 'realtime', usaget: 'call', aid: sid * 10, sid }
  return { ...common, plan: 'GOLD', arate_key: 'CALL', urt: at(minute), usagev: 60, ...more }
}
const insert = (...documents: object[]) => catalog.lines.insertMany(documents as never[])

async function events(): Promise<FraudEventDocument[]> {
  const found = await catalog.events
    .find()
    .sort({ to: 1, 'extra_params.sid': 1 } as never)
    .toArray()
  return found as unknown as FraudEventDocument[]
}
/** Subscribers and the ends of their windows, in minutes. */
async function reported(): Promise<[number, number][]> {
  return (await events()).map(({ extra_params: { sid }, to }) => [
    sid,
    (to.getTime() - START_MS) / MINUTE_MS,
  ])
}

const CALLS = {
  ...{ event_code: 'CALLS', event_description: 'many calls', ...QUARTER, ...HOUR },
  threshold_conditions: [[{ field: 'usagev', op: 'gte', value: 120, unit: 'minutes' }]],
}

describe('a subscriber that meets a threshold', () => {
  it('is reported with its sums, the window and the latest line', async () => {
    await rules(CALLS)
    await insert(
      line(7, 2, { aprice: 0.1, final_charge: 0.117, in_group: 60 }),
      line(7, 14, { aprice: 0.2, final_charge: 0.234, out_group: 60 }),
      line(8, 3),
    )
    await runAt(1, 16)
    const [event] = await events()
    expect(event).toEqual({
      _id: expect.anything(),
      stamp: expect.stringMatching(/^[0-9a-f]{32}$/),
      ...{ event_type: 'fraud', event_code: 'CALLS', event_description: 'many calls' },
      based_on: 'usage',
      creation_time: at(16),
      extra_params: {
        ...{ aid: 70, sid: 7 },
        row: {
          ...{ usagev: 120, aprice: 0.3, final_charge: 0.351 },
          ...{ in_group: 60, over_group: 0, out_group: 60 },
        },
      },
      conditions: [],
      thresholds: CALLS.threshold_conditions,
      ...{ from: at(-45), to: at(15), max_urt: at(14) },
      rule_ref: expect.any(String),
      receiver: {},
      delivery: { state: 'pending', due: at(16), attempts: 0 },
    })
    expect(await reported()).toEqual([[7, 15]])
  })

  it('is reported by each window that contains its lines', async () => {
    await rules(CALLS)
    await insert(line(7, 2), line(7, 14))
    await runAt(1, 16, 31, 46, 61, 76, 91)
    // The line of minute 2 is not in the window from 15 to 75.
    expect(await reported()).toEqual([15, 30, 45, 60].map((minute) => [7, minute]))
  })

  it('is not reported for lines that were, without overlap', async () => {
    await rules({ ...CALLS, lines_overlap: false })
    await insert(line(7, 2), line(7, 14), line(8, 20), line(8, 25))
    await runAt(1, 16, 31)
    expect(await reported()).toEqual([
      [7, 15],
      [8, 30],
    ])
    await insert(line(7, 35), line(8, 41))
    await runAt(46)
    expect(await reported()).toHaveLength(2)
    await insert(line(7, 50))
    await runAt(61)
    expect((await reported()).slice(2)).toEqual([[7, 60]])
    expect((await events()).at(-1)).toMatchObject({
      extra_params: { row: { usagev: 120 } },
      max_urt: at(50),
    })
  })

  it('at the borders: the begin of a window belongs to it, the end does not', async () => {
    const range = { date_range: { type: 'minutely', value: 15 } }
    await rules({ ...CALLS, ...range })
    await insert(line(7, 0), line(7, 15), line(8, 15), line(8, 29))
    await runAt(1, 16, 31)
    expect(await reported()).toEqual([[8, 30]])
  })

  it('is not the account itself', async () => {
    await rules(CALLS)
    await insert(line(0, 2), line(0, 3))
    await runAt(1, 16)
    expect(await reported()).toEqual([])
  })
})

describe('conditions', () => {
  let minute = 16
  /** Evaluates one rule for the window of minute 15. */
  const found = async (more: object) => {
    await catalog.events.deleteMany({})
    await rules({ ...CALLS, ...more })
    minute += 0.25
    await runAt(minute)
    return (await reported()).map(([sid]) => sid)
  }
  beforeEach(() => {
    minute = 16
  })
  beforeEach(() =>
    insert(
      ...[1, 2].map((minute) => line(1, minute)),
      ...[1, 2].map((minute) => line(2, minute, { plan: 'BRONZE', usaget: 'sms' })),
      ...[1, 2].map((minute) => line(3, minute, { arate_key: 'ABROAD', type: 'credit' })),
    ),
  )
  const when = (field: string, op: string, value: unknown) => ({ field, op, value })

  it('of one list have all to hold, of several lists one', async () => {
    const gold = when('subscriber.plan', 'in', ['GOLD'])
    expect(await found({ conditions: [[gold, when('arate_key', 'nin', 'ABROAD,OTHER')]] })).toEqual(
      [1],
    )
    const sms = when('usaget', 'in', 'sms')
    expect(await found({ conditions: [[gold, when('type', 'in', 'credit')], [sms]] })).toEqual([
      2, 3,
    ])
  })

  it('restrict nothing if there are none', async () => {
    expect(await found({ conditions: [] })).toEqual([1, 2, 3])
  })

  it('of thresholds may name usage types, and compare exactly', async () => {
    await insert(...[1, 2, 3].map((minute) => line(4, minute, { usagev: 1, aprice: 0.1 })))
    const of = (field: string, op: string, value: unknown, more = {}) => ({
      threshold_conditions: [[{ field, op, value, ...more }]],
    })
    const sms = await found(of('usagev', 'gte', 120, { usaget: ['sms'] }))
    expect(sms).toEqual([2])
    // The others have no usage of type sms.
    expect(await found(of('usagev', 'lt', 1, { usaget: 'sms' }))).toEqual([1, 3, 4])
    const exactly = (op: string, value: unknown) => found(of('aprice', op, value))
    // 0.1 + 0.1 + 0.1 is above 0.3 in binary fractions.
    expect(await exactly('in', ['0.3', 7])).toEqual([4])
    expect(await exactly('gt', 0.3)).toEqual([])
    expect(await exactly('gte', '0.30')).toEqual([4])
  })
})

describe('the job', () => {
  it('evaluates each window once, also after a pause, and knows the next one', async () => {
    expect(await nextFraudWindowMs({ catalog, clock })).toBeNull()
    await rules({ ...CALLS, ...QUARTER, date_range: QUARTER.recurrence })
    expect(await nextFraudWindowMs({ catalog, clock })).toBe(nowMs)
    await insert(line(7, 2), line(7, 3), line(8, 20), line(8, 21), line(9, 50), line(9, 51))
    await runAt(1)
    expect(await nextFraudWindowMs({ catalog, clock })).toBe(at(16).getTime())
    await runAt(61, 62, 75)
    expect(await reported()).toEqual([
      [7, 15],
      [8, 30],
      [9, 60],
    ])
  })

  it('writes no event twice: several processes, and windows that are evaluated again', async () => {
    await rules(CALLS, { ...CALLS, event_code: 'AGAIN', lines_overlap: false }, CALLS)
    const other = await store.open(store.url(), catalog.unguarded.jobs.dbName)
    await insert(line(7, 2), line(7, 3))
    await runAt(1)
    const before = await catalog.jobs.findOne({ kind: 'fraud' })
    nowMs = at(16).getTime()
    await Promise.all([run(), run(other), run(), run(other)])
    expect(await reported()).toHaveLength(2)
    const stale = { state: 'waiting', position: before?.position, due: new Date(0) } as const
    await catalog.jobs.updateOne({ kind: 'fraud' }, { $set: stale } as never)
    await run(other)
    expect(await reported()).toHaveLength(2)
  })

  it('reports more subscribers than a batch has', async () => {
    await rules({ ...CALLS, lines_overlap: false })
    const sids = Array.from({ length: 450 }, (_, index) => index + 1)
    await insert(...sids.map((sid) => line(sid, 2, { usagev: 200 })))
    await runAt(1, 16, 31)
    expect(await reported()).toHaveLength(450)
    await insert(...sids.map((sid) => line(sid, 32, { usagev: 200 })))
    await runAt(46)
    expect(await reported()).toHaveLength(900)
  })

  it('evaluates subscribers in shares if the server has not the memory for all', async () => {
    await rules(CALLS, { ...CALLS, event_code: 'ONCE', lines_overlap: false })
    const sids = Array.from({ length: 40 }, (_, index) => index + 1)
    await insert(...sids.map((sid) => line(sid, 2, { usagev: 200 })))
    await runAt(1)
    let refused = 0
    const aggregate = (pipeline: readonly object[], options: object) => {
      const { sid } = (pipeline[0] as { $match: { sid: { $gt?: 0; $mod?: [number, number] } } })
        .$match
      if (sid.$gt !== undefined && (sid.$mod?.[0] ?? 1) < 64) {
        refused += 1
        throw Object.assign(new Error('Exceeded memory limit for $group'), { code: 292 })
      }
      return catalog.unguarded.lines.aggregate([...pipeline], options)
    }
    const unguarded = { ...catalog.unguarded, lines: { aggregate } }
    const small = { ...catalog, unguarded } as unknown as Catalog
    nowMs = at(16).getTime()
    await run(small)
    expect(refused).toBe(2 * (1 + 8))
    expect(await reported()).toHaveLength(80)
  })

  it('evaluates the others if a rule is invalid, and forgets rules that are gone', async () => {
    await rules({ ...CALLS, threshold_conditions: [[]] }, CALLS)
    await insert(line(7, 2), line(7, 3))
    await runAt(1, 16)
    expect(await reported()).toEqual([[7, 15]])
    const position = async () =>
      Object.keys((await catalog.jobs.findOne({ kind: 'fraud' }))?.position ?? {})
    expect(await position()).toHaveLength(1)
    await rules({ ...CALLS, event_code: 'OTHER' })
    const [old] = await position()
    await runAt(31)
    expect(await position()).toHaveLength(1)
    expect(await position()).not.toContain(old)
  })
})

describe('compared with a model', () => {
  interface ModelLine {
    readonly sid: number
    readonly minute: number
    readonly cents: number
    readonly usaget: string
  }
  const anyLine = fc.record({
    sid: fc.integer({ min: 1, max: 4 }),
    minute: fc.integer({ min: 0, max: 119 }),
    cents: fc.integer({ min: -30, max: 100 }),
    usaget: fc.constantFrom('call', 'sms'),
  })

  /** Integers and loops only. */
  function model(
    all: readonly ModelLine[],
    { range, limit, overlap }: { range: number; limit: number; overlap: boolean },
  ): [number, number][] {
    const found: [number, number][] = []
    const last = new Map<number, number>()
    for (let end = 15; end <= 120; end += 15) {
      for (let sid = 1; sid <= 4; sid += 1) {
        let [sum, latest, any] = [0, -1, false]
        for (const one of all) {
          const isWithin = one.minute >= end - range && one.minute < end
          if (one.sid !== sid || !isWithin || one.usaget !== 'call') continue
          if (!overlap && one.minute <= (last.get(sid) ?? -1)) continue
          any = true
          sum += one.cents
          latest = Math.max(latest, one.minute)
        }
        if (!any || sum < limit) continue
        found.push([sid, end])
        last.set(sid, latest)
      }
    }
    return found
  }

  it('the same subscribers are reported by the same windows', async () => {
    const options = fc.record({
      range: fc.constantFrom(15, 30, 60, 90),
      limit: fc.integer({ min: 1, max: 200 }),
      overlap: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(anyLine, { maxLength: 40 }), options, async (all, expected) => {
        await catalog.lines.deleteMany({})
        await catalog.events.deleteMany({})
        await catalog.jobs.deleteMany({})
        nowMs = START_MS + MINUTE_MS
        await beginFraudRules({ catalog, clock })
        await rules({
          ...{ event_code: 'MODEL', ...QUARTER },
          date_range: { type: 'minutely', value: expected.range },
          lines_overlap: expected.overlap,
          conditions: [[{ field: 'usaget', op: 'in', value: 'call' }]],
          threshold_conditions: [[{ field: 'aprice', op: 'gte', value: expected.limit / 100 }]],
        })
        const documents = all.map(({ sid, minute, cents, usaget }) =>
          line(sid, minute, { usaget, aprice: cents / 100 }),
        )
        if (documents.length > 0) await insert(...documents)
        await runAt(1, 16, 40, 90, 121)
        expect(await reported()).toEqual(model(all, expected))
      }),
      { numRuns: 40 },
    )
  })
})
