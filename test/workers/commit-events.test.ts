import { beforeEach, describe, expect, it } from 'vitest'
import type { BalanceRuleSet } from '../../src/domain/events/rule-set.ts'
import { sweepPartition } from '../../src/ledger/sweep.ts'
import { subscribedTo } from '../support/rating/offers.ts'
import {
  changesOf,
  eventCatalogue,
  FIRST_POSTPAID,
  newEntries,
  newEvents,
  reaching,
  ruleSetOf,
  told,
} from '../support/workers/event-scene.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  aidOf,
  DATA_UNITS,
  MONEY,
  NOW_MS,
  type ProcessorFixture,
  profileOf,
  request,
  SHARED_DATA,
  service,
} from '../support/workers/processor-fixture.ts'

let rules: BalanceRuleSet | null = null
/** Services of the subscribers, in MongoDB. */
let services: readonly string[] = []
let isMongoUp = true
/** Whether the rules, as the catalogue, have been read once. */
let isLoaded = true

const options = {
  catalogue: eventCatalogue,
  eventRules: () => (isLoaded ? rules : undefined),
  isCatalogueLoaded: () => isLoaded,
  async read({ value }: { value: string }) {
    if (!isMongoUp) throw Object.assign(new Error('down'), { name: 'CatalogUnavailableError' })
    const found = profileOf(Number(value))
    if (found === null) return null
    const changed = {
      ...found,
      plan: found.sid >= FIRST_POSTPAID ? 'POST' : 'PLAN',
      services: services.map((name) => subscribedTo(name)),
    }
    return { profile: changed, validUntilMs: found.toMs }
  },
}

const { scene, other } = useTwoNodes(options)
beforeEach(() => {
  rules = null
  services = []
  isMongoUp = true
})

const DATA = 'balance.totals.data.usagev'
const call = (units: number, used = 0) => service(units, used, { usaget: 'call' })

async function expire(atMs: number): Promise<void> {
  const sweep = { batchMax: 100, leaseMs: 10_000, replayMs: 600_000, token: 'test' }
  for (let partition = 0; partition < scene().ledger.keys.partitions; partition += 1) {
    await sweepPartition(scene().ledger, partition, sweep, atMs)
  }
}

describe('events of prepaid credit', () => {
  it('follow settled usage, and not the reservations of grants', async () => {
    rules = ruleSetOf(reaching(DATA, '-50,-20'), changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 100)
    await newEntries(scene())
    await scene().charge(request('start', 1, 0, [service(90)]))
    expect(await newEvents(scene())).toEqual([])
    await scene().charge(request('update', 1, 1, [service(30, 60)]))
    await scene().charge(request('release', 1, 2, [service(-1, 25)]))
    const events = await newEvents(scene())
    expect(events.map(told)).toEqual([
      'REACHED -100 -40 reached -50',
      'CHANGED 0 60',
      'REACHED -40 -15 reached -20',
      'CHANGED 60 85',
    ])
    const [line] = (await newEntries(scene())).flatMap(({ lines }) => lines)
    expect(line).toBeUndefined()
    expect(events[0]).toMatchObject({
      event_type: 'balance',
      event_code: 'REACHED',
      based_on: 'usage',
      matched_path: DATA,
      aid: aidOf(1),
      sid: 1,
      row: { usagev: 60, urt: NOW_MS / 1000, usaget: 'data' },
      balance: { sid: 1, bucket_id: 1 },
      creation_ms: NOW_MS,
    })
    expect(events[0]?.stamp).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(events.map(({ stamp }) => stamp)).size).toBe(4)
    expect(new Set(events.map(({ row }) => row.stamp)).size).toBe(1)
  })

  it('follow usage that is reported after the session has expired', async () => {
    rules = ruleSetOf(changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 100)
    await scene().charge(request('start', 1, 0, [service(20)]))
    await expire(NOW_MS + 3_700_000)
    await newEntries(scene())
    await scene().charge(request('update', 1, 1, [service(-1, 15)]))
    expect((await newEvents(scene())).map(told)).toEqual(['CHANGED 0 15'])
    await scene().charge(request('release', 1, 2, [service(-1, 30)]))
    expect((await newEvents(scene())).map(told)).toEqual(['CHANGED 15 45'])
  })

  it('follow the usage of a release after expiry, if it is the first report', async () => {
    rules = ruleSetOf(changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 100)
    await scene().charge(request('start', 1, 0, [service(20)]))
    await expire(NOW_MS + 3_700_000)
    await newEntries(scene())
    await scene().charge(request('release', 1, 1, [service(-1, 30)]))
    expect((await newEvents(scene())).map(told)).toEqual(['CHANGED 0 30'])
  })

  it('are written with the entry of their commit, beside its line', async () => {
    rules = ruleSetOf(changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 100)
    await newEntries(scene())
    await scene().charge(request('start', 1, 0, [service(90)]))
    await scene().charge(request('release', 1, 1, [service(-1, 10)]))
    const [, entry] = await newEntries(scene())
    expect(entry?.lines.map(({ stamp }) => stamp)).toEqual([entry?.events?.[0]?.row.stamp])
  })

  it('of the account name the subscriber whose usage it was', async () => {
    rules = ruleSetOf(changesOf(DATA))
    await scene().credit(1, SHARED_DATA, 100)
    await newEntries(scene())
    await scene().charge(request('event', 1, 0, [service(10)]))
    const [event] = await newEvents(scene())
    expect(event).toMatchObject({ sid: 1, balance: { sid: 0 }, before: -100, after: -90 })
  })

  it('of a refund report the way back', async () => {
    rules = ruleSetOf(reaching(DATA, -95))
    await scene().credit(1, DATA_UNITS, 100)
    await newEntries(scene())
    await scene().charge(request('event', 1, 0, [service(10)]))
    await scene().charge(request('event', 1, 1, [service(-1)], { refund: true }))
    const events = await newEvents(scene())
    expect(events.map(told)).toEqual([
      'REACHED -100 -90 reached -95',
      'REACHED -90 -100 reached -95',
    ])
    expect(events[1]?.row).toMatchObject({ usagev: -10, usaget: 'data' })
  })
})

describe('each movement has one event', () => {
  it('although requests are repeated, also at another node', async () => {
    rules = ruleSetOf(changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 100)
    await newEntries(scene())
    const opening = request('start', 1, 0, [service(50)])
    const update = request('update', 1, 1, [service(20, 30)])
    for (const node of [scene(), scene(), other()]) await node.charge(opening)
    for (const node of [scene(), other(), scene()]) await node.charge(update)
    expect((await newEvents(scene())).map(told)).toEqual(['CHANGED 0 30'])
  })

  it('although two nodes meet conflicts: the movements are one chain', async () => {
    rules = ruleSetOf(changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 10_000)
    await newEntries(scene())
    const rounds = Array.from({ length: 20 }, (_, round) => round)
    await Promise.all(
      rounds.map((round) => {
        const node = round % 2 === 0 ? scene() : other()
        const sessionId = `conflict-${round}`
        return node.charge(request('event', 1, 0, [service(round + 1)], { sessionId }))
      }),
    )
    const events = await newEvents(scene())
    expect(events).toHaveLength(20)
    let at = 0
    for (const { before, after } of events) {
      expect(before).toBe(at)
      at = Number(after)
    }
    expect(at).toBe(210)
    expect(new Set(events.map(({ stamp }) => stamp)).size).toBe(20)
  })

  it('also if a balance moves to and fro within one commit', async () => {
    rules = ruleSetOf(reaching(DATA, -95))
    await scene().credit(1, DATA_UNITS, 100)
    await newEntries(scene())
    const event = (sessionId: string) => request('event', 1, 0, [service(10)], { sessionId })
    const back = request('event', 1, 1, [service(-1)], { refund: true, sessionId: 'a' })
    await scene().charge(event('a'), back, event('b'))
    const entries = await newEntries(scene())
    expect(entries).toHaveLength(1)
    const events = entries.flatMap(({ events = [] }) => events)
    expect(events).toHaveLength(3)
    expect(new Set(events.map(({ stamp }) => stamp)).size).toBe(3)
  })
})

describe('a postpaid subscriber', () => {
  const SID = FIRST_POSTPAID
  const use = (node: ProcessorFixture, services: ReturnType<typeof service>[], sessionId: string) =>
    node.charge(request('event', SID, 0, services, { sessionId }))

  it('has events of groups, credit and totals, which are kept for rules only', async () => {
    await use(scene(), [service(30)], 'before')
    rules = ruleSetOf(
      reaching('balance.groups.G.usagev', 50, 'GROUP'),
      reaching('balance.cost', 0.02, 'CREDIT'),
      reaching(DATA, 100, 'UNITS'),
      reaching('balance.totals.call.cost', '0.5,1', 'CALLS'),
      reaching('balance.totals.data.over_group.usagev', 20, 'OVER'),
      reaching('balance.totals.call.out_group.usagev', 2, 'OUT'),
    )
    await newEntries(scene())
    await use(scene(), [service(30)], 'a')
    expect((await newEvents(scene())).map(told)).toEqual(['GROUP 30 60 reached 50'])
    await use(scene(), [service(70)], 'b')
    expect((await newEvents(scene())).map(told).sort()).toEqual([
      'CREDIT 0 0.03 reached 0.02',
      'OVER 0 30 reached 20',
      'UNITS 30 100 reached 100',
    ])
    await use(other(), [call(2)], 'c')
    const events = await newEvents(scene())
    expect(events.map(told).sort()).toEqual(['CALLS 0 1 reached 1', 'OUT 0 2 reached 2'])
    expect(events[0]).toMatchObject({ row: { usaget: 'call', usagev: 2 } })
    const { state } = await scene().owner(SID)
    const counters = state.buckets.map(({ counter, spent }) => `${counter} ${spent}`)
    expect(counters.filter((name) => name.startsWith('total/')).sort()).toEqual([
      'total/call/cost 1000000',
      'total/call/out_group 2',
      'total/data/over_group 30',
      'total/data/usagev 100',
    ])
  })

  it('of a session has its usage counted once, by report, and not again at its end', async () => {
    rules = ruleSetOf(changesOf(DATA))
    const sessionId = 'long'
    await scene().charge(request('start', SID, 0, [service(20)], { sessionId }))
    await scene().charge(request('update', SID, 1, [service(20, 15)], { sessionId }))
    await other().charge(request('update', SID, 2, [service(20, 0)], { sessionId }))
    await other().charge(request('release', SID, 3, [service(-1, 12)], { sessionId }))
    expect((await newEvents(scene())).map(told)).toEqual(['CHANGED 0 15', 'CHANGED 15 27'])
  })

  it('has a total for each cycle, and those of cycles that are over are dropped', async () => {
    rules = ruleSetOf(changesOf(DATA))
    await use(scene(), [service(5)], 'march')
    const april = Date.UTC(2026, 3, 3)
    const may = Date.UTC(2026, 4, 3)
    for (const [atMs, sessionId] of [
      [april, 'april'],
      [may, 'may'],
    ] as const) {
      scene().clock.set(atMs)
      const at = { sessionId, eventTimeMs: atMs }
      await scene().charge(request('event', SID, 0, [service(7)], at))
    }
    expect((await newEvents(scene())).map(told)).toEqual([
      'CHANGED 0 5',
      'CHANGED 0 7',
      'CHANGED 0 7',
    ])
    const { state } = await scene().owner(SID)
    const totals = state.buckets.filter(({ counter }) => counter.startsWith('total/'))
    expect(totals.map(({ fromMs }) => fromMs)).toEqual([Date.UTC(2026, 3, 1), Date.UTC(2026, 4, 1)])
  })
})

describe('rules are for certain subscribers', () => {
  it('by plan and account', async () => {
    const filtered = (event_code: string, filter: object) => ({
      ...changesOf('spent', event_code),
      filter,
    })
    rules = ruleSetOf(
      filtered('PLAN', { plan: ['PLAN', 'X'] }),
      filtered('POST', { plan: ['POST'] }),
      filtered('ACCOUNT', { aid: [aidOf(1)] }),
      filtered('OTHER', { aid: [aidOf(300)], plan: ['PLAN'] }),
      { ...changesOf('spent', 'INACTIVE'), active: false },
    )
    for (const sid of [1, 300]) {
      await scene().credit(sid, DATA_UNITS, 100)
      await scene().charge(request('event', sid, 0, [service(10)]))
    }
    const codes = (await newEvents(scene())).map(({ sid, event_code }) => `${sid} ${event_code}`)
    expect(codes.sort()).toEqual(['1 ACCOUNT', '1 PLAN', '300 OTHER', '300 PLAN'])
  })

  it('by service, which a node reads before it settles a release', async () => {
    const filter = { service: ['EXTRA'] }
    rules = ruleSetOf({ ...changesOf('spent'), filter })
    for (const [sid, mine, expected] of [
      [1, ['EXTRA'], ['CHANGED 0 10']],
      [2, [], []],
    ] as const) {
      services = mine
      await scene().credit(sid, DATA_UNITS, 100)
      await scene().charge(request('start', sid, 0, [service(50)]))
      await other().charge(request('release', sid, 1, [service(-1, 10)]))
      expect((await newEvents(scene())).map(told)).toEqual(expected)
    }
  })

  it('by service, and without MongoDB the release is settled nevertheless', async () => {
    rules = ruleSetOf({ ...changesOf('spent'), filter: { service: ['EXTRA'] } })
    services = ['EXTRA']
    await scene().credit(1, DATA_UNITS, 100)
    await scene().charge(request('start', 1, 0, [service(50)]))
    isMongoUp = false
    const [outcome] = await other().charge(request('release', 1, 1, [service(-1, 10)]))
    expect(outcome?.reason).toBe('granted')
    expect(await newEvents(scene())).toEqual([])
  })
})

describe('rules that have not been read yet', () => {
  it('let no release pass without its events: its repetition is settled later', async () => {
    rules = ruleSetOf(changesOf('spent'))
    await scene().credit(1, DATA_UNITS, 100)
    await scene().charge(request('start', 1, 0, [service(50)]))
    isLoaded = false
    const release = request('release', 1, 1, [service(-1, 10)])
    const [refused] = await other().charge(release)
    expect(refused?.reason).toBe('storeDown')
    isLoaded = true
    const [outcome] = await other().charge(release)
    expect(outcome?.reason).toBe('granted')
    expect((await newEvents(scene())).map(told)).toEqual(['CHANGED 0 10'])
  })
})

describe('without rules', () => {
  it('entries are as if there were no events', async () => {
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('event', 1, 0, [service(10)]))
    for (const entry of await newEntries(scene())) expect(entry).not.toHaveProperty('events')
  })
})
