/** Sessions of subscribers with groups, overrides, credit and time bands. */
import { describe, expect, it } from 'vitest'
import type {
  Override,
  PlanRevision,
  PriceSet,
  RateRevision,
  ServiceRevision,
  SubscriberProfile,
} from '../../src/domain/catalogue.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { moneyOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { groupOf, pricesOf, serviceOf, subscribedTo } from '../support/rating/offers.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const DAY = 86_400_000

interface SetUp {
  rates?: RateRevision[]
  plan?: Partial<PlanRevision>
  services?: ServiceRevision[]
  profile?: Partial<SubscriberProfile>
  money?: number
}

function sceneOf({ rates, plan, services, profile, money = 1000 }: SetUp): RatingFixture {
  const scene = new RatingFixture({
    MONEY: { slot: 0, bucket: moneyOf(money, { toMs: FAR.toMs }) },
  })
  const calls = rates ?? [rateOf('CALL', 'call', '1/1', FAR)]
  scene.catalogue = catalogueOf(calls, [planOf('PREPAID', { ...FAR, ...plan })], services)
  scene.profile = profileOf({ ...FAR, ...profile })
  return scene
}

let sessions = 0

/**
 * A whole session that uses everything it is granted; returns the sums of its lines and the grant.
 */
function use(scene: RatingFixture, asked: number, more: Partial<ChargeRequest> = {}) {
  sessions += 1
  const sessionId = `use-${sessions}`
  const service = serviceRequest({ usaget: 'call', requested: asked })
  const base = { sessionId, ...more }
  const first = scene.send({ ...base, kind: 'start', requestNumber: 0, services: [service] })
  const granted = first.services[0]?.granted ?? 0
  const used = serviceRequest({ usaget: 'call', used: granted })
  const from = scene.lines.length
  scene.send({ ...base, kind: 'release', requestNumber: 1, services: [used] })
  const lines = scene.lines.slice(from)
  const sum = (of: (line: (typeof lines)[number]) => number) =>
    lines.reduce((total, line) => total + of(line), 0)
  const inGroup = sum(
    ({ counts: { includedUnits, includedMoneyUnits } }) => includedUnits + includedMoneyUnits,
  )
  const [line] = lines
  return {
    granted,
    inGroup,
    charged: sum(({ counts: { charged } }) => charged),
    beyond: granted - inGroup === 0 ? 'none' : line?.counts.hasGroups ? 'over' : 'out',
    priceOf: line?.pricing.priceOf,
    reason: first.services[0]?.reason ?? first.reason,
  }
}

describe('included units', () => {
  const minutes = { groups: [groupOf('MIN', 100)] }

  it('are used first, and usage beyond them is priced', () => {
    const scene = sceneOf({ plan: minutes })
    expect(use(scene, 60)).toMatchObject({ inGroup: 60, beyond: 'none', charged: 0 })
    expect(use(scene, 60)).toMatchObject({ inGroup: 40, beyond: 'over', charged: 20 })
    expect(use(scene, 10)).toMatchObject({ inGroup: 0, beyond: 'over', charged: 10 })
  })

  it('start over with the next cycle; a late event counts in its own cycle', () => {
    const scene = sceneOf({ plan: minutes })
    use(scene, 70)
    scene.nowMs = START_MS + 40 * DAY
    expect(use(scene, 90)).toMatchObject({ inGroup: 90 })
    const late = { eventTimeMs: START_MS + DAY }
    expect(use(scene, 50, late)).toMatchObject({ inGroup: 30, charged: 20 })
    // Two cycles later the first one is closed, and its counter goes when another one begins.
    scene.nowMs = START_MS + 70 * DAY
    expect(use(scene, 50, late)).toMatchObject({ inGroup: 10, charged: 40 })
    use(scene, 1)
    const counters = scene.subscriber.buckets.filter(({ counter }) => counter !== '')
    const months = counters.map(({ fromMs }) => new Date(fromMs).getUTCMonth() + 1)
    expect(months).toEqual([8, 9])
  })

  it('of money pay whole intervals, tracked separately from units', () => {
    const rates = [rateOf('CALL', 'call', '10/60+5', FAR)]
    const groups = [groupOf('CASH', 25, { kind: 'totalCost' as const })]
    const scene = sceneOf({ rates, plan: { groups } })
    expect(use(scene, 200)).toMatchObject({ granted: 200, inGroup: 120, charged: 25 })
    const cash = scene.subscriber.buckets.find(({ counter }) => counter !== '')
    expect(cash).toMatchObject({ spent: 20, free: -20, limit: 25 })
  })

  it('are reported as out of group if no group includes the usage', () => {
    const scene = sceneOf({ plan: { groups: [groupOf('SMS', 9, { usagets: new Set(['sms']) })] } })
    expect(use(scene, 5)).toMatchObject({ inGroup: 0, beyond: 'out', charged: 5 })
  })

  it('bound the validity of a grant by the end of their counter', () => {
    const period = { months: 0, days: 0, hours: 0, untilMidnight: true }
    const services = [
      serviceOf('DAY', { groups: [groupOf('G', 9)], period: { ...period, days: 1 } }),
    ]
    const begun = START_MS + DAY - 1_000_000
    const scene = sceneOf({
      services,
      profile: { services: [subscribedTo('DAY', { fromMs: begun })] },
    })
    scene.nowMs = START_MS + DAY - 600_000
    const service = serviceRequest({ usaget: 'call', requested: 5 })
    const outcome = scene.send({ kind: 'start', services: [service] })
    expect(outcome.services[0]).toMatchObject({ granted: 5, validityMs: 600_000 })
  })
})

describe('the price', () => {
  const own = { plansPrices: { PREPAID: '3/1' }, ...FAR }
  const service = serviceOf('CHEAP', { prices: pricesOf('CALL', 'call', '5/1') })
  const override = (more: Partial<Override>): Override => ({
    type: 'service',
    key: 'CHEAP',
    serviceId: 0,
    conditions: [],
    prices: pricesOf('CALL', 'call', '6/1'),
    groups: null,
    disallowedRates: null,
    ...more,
  })
  const held = { services: [subscribedTo('CHEAP', { serviceId: 4, quantity: 3 })] }

  it.each<[string, SetUp, number, string]>([
    ['the rate', { rates: [rateOf('CALL', 'call', '2/1', FAR)] }, 2, 'BASE'],
    ['its entry for the plan', { rates: [rateOf('CALL', 'call', '2/1', own)] }, 3, 'rate PREPAID'],
    ['the plan', { plan: { prices: pricesOf('CALL', 'call', '4/1') } }, 4, 'plan PREPAID'],
    [
      'a service, before the plan',
      {
        services: [service],
        profile: held,
        plan: { prices: pricesOf('CALL', 'call', '4/1') },
      },
      ...([5, 'service CHEAP'] as const),
    ],
    [
      'an override of the service',
      { services: [service], profile: { ...held, overrides: [override({})] } },
      ...([6, 'service CHEAP'] as const),
    ],
    [
      'the service, if the override is meant for another instance',
      { services: [service], profile: { ...held, overrides: [override({ serviceId: 5 })] } },
      ...([5, 'service CHEAP'] as const),
    ],
    [
      'the override, if its condition is met',
      {
        services: [service],
        profile: {
          ...held,
          overrides: [override({ conditions: [{ field: 'quantity', op: 'gte', value: 3 }] })],
        },
      },
      ...([6, 'service CHEAP'] as const),
    ],
  ])('is that of %s', (_what, world, price, source) => {
    expect(use(sceneOf(world), 10)).toMatchObject({ charged: 10 * price, priceOf: source })
  })

  it('is a percentage of the standard price, also if the plan has an entry of its own', () => {
    const percentage = { kind: 'percentage', factor: 15, factorDigits: 1 } as const
    const prices = new Map([['CALL', new Map([['call', percentage]])]])
    const rates = [rateOf('CALL', 'call', '2/1+4', { plansPrices: { PREPAID: '3/1' }, ...FAR })]
    expect(use(sceneOf({ rates, plan: { prices } }), 10)).toMatchObject({ charged: 36 })
  })

  it('does not exist for a rate without one, or for a rate that the plan does not allow', () => {
    const rates = [rateOf('CALL', 'call', null, { plansPrices: { OTHER: '1/1' }, ...FAR })]
    expect(use(sceneOf({ rates }), 1).reason).toBe('noRate')
    const disallowedRates = new Set(['CALL'])
    expect(use(sceneOf({ plan: { disallowedRates } }), 1).reason).toBe('blocked')
  })
})

describe('postpaid credit', () => {
  const plan = { connectionType: 'postpaid' as const }

  it('is unlimited without a limit and does not touch prepaid money', () => {
    const scene = sceneOf({ plan })
    expect(use(scene, 1e9)).toMatchObject({ granted: 1e9, charged: 1e9 })
    expect(scene.bucket('MONEY').free).toBe(1000)
    expect(scene.subscriber.owed).toBe(0)
  })

  it.each([
    ['of the subscriber', 50, null, 50],
    ['of the account', null, 30, 30],
    ['that is the lower of both', 50, 30, 30],
    ['of nothing', 0, null, 0],
  ])('ends at the limit %s, reserved or used', (_what, creditLimit, accountCreditLimit, most) => {
    const scene = sceneOf({ plan, profile: { creditLimit, accountCreditLimit } })
    const service = serviceRequest({ usaget: 'call', requested: 20 })
    const held = scene.send({ kind: 'start', sessionId: 'held', services: [service] })
    const granted = held.services[0]?.granted ?? 0
    expect(granted).toBe(Math.min(20, most))
    expect(use(scene, 100)).toMatchObject({ granted: Math.max(0, most - granted) })
  })

  it('accepts over-use beyond the limit because the units are already used', () => {
    const scene = sceneOf({ plan, profile: { creditLimit: 10, accountCreditLimit: 10 } })
    const service = (used: number, requested: number) => [
      serviceRequest({ usaget: 'call', used, requested }),
    ]
    scene.send({ kind: 'start', requestNumber: 0, services: service(0, 5) })
    scene.send({ kind: 'release', requestNumber: 1, services: service(25, -1) })
    const credits = [...scene.subscriber.buckets, ...scene.account.buckets].filter(
      ({ counter }) => counter === 'credit',
    )
    expect(credits.map(({ spent, free }) => [spent, free])).toEqual([
      [25, -25],
      [25, -25],
    ])
    expect(scene.lines.at(-1)).toMatchObject({ counts: { charged: 25, debt: 0 } })
    expect(use(scene, 1).granted).toBe(0)
  })
})

describe('a time boundary', () => {
  const night: PriceSet = {
    tariff: tariffFrom('2/1'),
    bands: [
      {
        name: 'night',
        days: new Set(),
        dates: new Set(),
        fromSecond: 22 * 3600,
        toSecond: 6 * 3600,
        tariff: tariffFrom('1/1'),
      },
    ],
  }
  const rates = [
    {
      ...rateOf('CALL', 'call', null, FAR),
      usages: new Map([['call', { base: night, plans: new Map() }]]),
    },
  ]

  it('splits a call by its seconds in the time zone of the subscriber', () => {
    const scene = sceneOf({ rates, profile: { timeZone: 'Europe/Berlin' } })
    const service = (used: number, requested: number) => [
      serviceRequest({ usaget: 'call', used, requested }),
    ]
    // 22:00 in Berlin is 20:00 UTC in summer.
    scene.nowMs = START_MS + 20 * 3_600_000 - 40_000
    const start = scene.send({ kind: 'start', requestNumber: 0, services: service(0, 600) })
    expect(start.services[0]).toMatchObject({ validityMs: 40_000 })
    scene.nowMs += 100_000
    scene.send({ kind: 'release', requestNumber: 1, services: service(100, -1) })
    const summary = scene.lines.map(({ state, pricing: { band }, counts: { used, charged } }) => [
      band,
      used,
      charged,
      state,
    ])
    expect(summary).toEqual([
      ['', 40, 80, 'ended'],
      ['night', 60, 60, 'closed'],
    ])
  })

  it('counts from the last report, also if that reported no usage', () => {
    const scene = sceneOf({ rates, profile: { timeZone: 'Europe/Berlin' } })
    const service = (used: number, requested: number) => [
      serviceRequest({ usaget: 'call', used, requested }),
    ]
    scene.nowMs = START_MS + 19 * 3_600_000
    scene.send({ kind: 'start', requestNumber: 0, services: service(0, 600) })
    scene.nowMs = START_MS + 20 * 3_600_000 - 40_000
    scene.send({ kind: 'update', requestNumber: 1, services: service(0, 600) })
    scene.nowMs += 100_000
    scene.send({ kind: 'release', requestNumber: 2, services: service(100, -1) })
    expect(scene.lines.map(({ counts: { used } }) => used)).toEqual([40, 60])
  })

  it('may be the end of the cycle; one report may span several', () => {
    const scene = sceneOf({ rates: [rateOf('CALL', 'call', '1/1', FAR)] })
    const service = (used: number, requested: number) => [
      serviceRequest({ usaget: 'call', used, requested }),
    ]
    scene.send({ kind: 'start', requestNumber: 0, services: service(0, 10) })
    scene.nowMs = START_MS + 62 * DAY + DAY
    scene.send({ kind: 'update', requestNumber: 1, services: service(630, -1) })
    const summary = scene.lines.map(({ pricing: { cycle }, counts: { used, charged } }) => [
      cycle,
      used,
      charged,
    ])
    expect(summary).toEqual([
      ['202608', 310, 310],
      ['202609', 310, 310],
      ['202610', 10, 10],
    ])
  })
})

describe('access to services', () => {
  it.each([
    ['barred', { barred: true }, ''],
    ['not active yet', { activeFromMs: START_MS + 1 }, 'not active yet'],
    ['not active any more', { activeToMs: START_MS }, 'not active any more'],
  ])('%s', (_what, profile, detail) => {
    const scene = sceneOf({ profile })
    const service = serviceRequest({ usaget: 'call', requested: 5 })
    const outcome = scene.send({ kind: 'start', services: [service] })
    expect(outcome).toMatchObject({ reason: 'barred', detail })
  })

  it('grants an emergency number free of charge, also if barred or without credit', () => {
    const scene = sceneOf({ profile: { barred: true }, money: 0 })
    scene.isFreeNumber = (calledNumber) => calledNumber === '112'
    const service = serviceRequest({ usaget: 'call', requested: 500, calledNumber: '112' })
    scene.send({ kind: 'start', requestNumber: 0, services: [service] })
    const used = serviceRequest({ usaget: 'call', used: 400, calledNumber: '112' })
    scene.send({ kind: 'release', requestNumber: 1, services: [used] })
    expect(scene.lines.at(-1)).toMatchObject({
      pricing: { rateKey: 'FREE' },
      counts: { used: 400, charged: 0 },
    })
    expect(scene.subscriber.owed).toBe(0)
  })
})

describe('the refund of an event', () => {
  const event = (more: Partial<ChargeRequest>) => ({
    kind: 'event' as const,
    services: [serviceRequest({ usaget: 'call', requested: 30 })],
    ...more,
  })

  it('returns the charge to the same buckets, once, with a reversing line', () => {
    const scene = sceneOf({ plan: { groups: [groupOf('MIN', 10)] } })
    scene.send(event({ requestNumber: 0 }))
    expect(scene.bucket('MONEY').free).toBe(980)
    const refund = event({ requestNumber: 1, refund: true, services: [] })
    const back = scene.send(refund)
    expect(back).toMatchObject({ reason: 'granted', services: [{ granted: 30 }] })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 1000, spent: 0 })
    expect(scene.subscriber.buckets[1]).toMatchObject({ free: 0, spent: 0, limit: 10 })
    const [line, taken] = [scene.lines.at(-2)!, scene.lines.at(-1)!]
    expect(taken).toMatchObject({
      counts: { used: -30, includedUnits: -10, chargedUnits: -20, charged: -20 },
    })
    expect(taken.stamp).not.toBe(line.stamp)
    expect(scene.send(refund)).toEqual(back)
    const again = scene.send({ ...refund, requestNumber: 2 })
    expect(again).toMatchObject({ reason: 'nothingToRefund' })
    expect(scene.bucket('MONEY').free).toBe(1000)
  })

  it('is refused for a session that was not an event or does not exist', () => {
    const scene = sceneOf({})
    const refund = event({ requestNumber: 7, refund: true, services: [] })
    expect(scene.send(refund).reason).toBe('unknownSession')
    use(scene, 5, { sessionId: 's' })
    expect(scene.send(refund).reason).toBe('sessionClosed')
  })
})
