/** Usage that is reported exactly at an edge: it was used before, and a grant begins there. */
import { describe, expect, it } from 'vitest'
import type { Bucket } from '../../src/domain/bucket.ts'
import type { PriceSet } from '../../src/domain/catalogue.ts'
import type { RequestKind, ServiceRequest } from '../../src/domain/charge-request.ts'
import type { Line } from '../../src/domain/line.ts'
import { needsProfile } from '../../src/rating/charge-session.ts'
import { moneyOf } from '../support/domain/owners.ts'
import { requestOf, serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { groupOf } from '../support/rating/offers.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** 00:00 on 1 August, where cycle 202609 begins. */
const MIDNIGHT_MS = START_MS + 31 * 24 * HOUR

interface SetUp {
  /** Seconds of the day of a band at 2 per second; otherwise a second costs 1. */
  band?: [from: number, to: number]
  plan?: Parameters<typeof planOf>[1]
  buckets?: Bucket[]
  profile?: Parameters<typeof profileOf>[0]
  rate?: Parameters<typeof rateOf>[3]
}

function sceneOf({ band, plan, buckets = [], profile, rate }: SetUp): RatingFixture {
  const scene = new RatingFixture(
    Object.fromEntries(buckets.map((bucket) => [`B${bucket.id}`, { slot: 0 as const, bucket }])),
  )
  const always = { name: 'band', days: new Set<number>(), dates: new Set<string>() }
  const [fromSecond = 0, toSecond = 0] = band ?? []
  const bands = band && [{ ...always, fromSecond, toSecond, tariff: tariffFrom('2/1') }]
  const base: PriceSet = { tariff: tariffFrom('1/1'), bands: bands ?? [] }
  const usages = new Map([['call', { base, plans: new Map() }]])
  scene.catalogue = catalogueOf(
    [{ ...rateOf('CALL', 'call', null, { ...FAR, ...rate }), usages }],
    [planOf('PREPAID', { ...FAR, connectionType: 'postpaid', ...plan })],
  )
  scene.profile = profileOf({ ...FAR, ...profile })
  return scene
}

function report(
  scene: RatingFixture,
  kind: RequestKind,
  atMs: number,
  more: Partial<ServiceRequest> = {},
) {
  scene.nowMs = atMs
  const requestNumber = scene.sessions.get('s')?.processed ?? 0
  const services = [serviceRequest({ usaget: 'call', ...more })]
  return scene.send({ kind, requestNumber, sessionId: 's', services }).services[0]
}

/** Cycle, band, units in groups, other units and price of the newest version of each line. */
function summary(scene: RatingFixture): (string | number)[][] {
  const newest = new Map(scene.lines.map((line): [string, Line] => [line.stamp, line]))
  return [...newest.values()].map(
    ({ pricing: { cycle, band }, counts: { includedUnits, used, charged } }) => [
      cycle,
      band,
      includedUnits,
      used - includedUnits,
      charged,
    ],
  )
}

describe('usage reported at the end of a band', () => {
  const noon = START_MS + 12 * HOUR
  const scene = () => sceneOf({ band: [10 * 3600, 12 * 3600] })

  it('has the price of the band that ends, if it was granted before the band', () => {
    const call = scene()
    report(call, 'start', noon - 150 * MINUTE, { requested: 9000 })
    report(call, 'release', noon, { used: 9000 })
    expect(summary(call)).toEqual([
      ['202608', '', 0, 1800, 1800],
      ['202608', 'band', 0, 7200, 14_400],
    ])
  })

  it.each([
    ['without a grant', -1],
    ['if more is used than was granted', 100],
  ])('has that price %s, and the next grant has the next price', (_what, requested) => {
    const call = scene()
    report(call, 'start', noon - 10 * MINUTE, { requested })
    report(call, 'update', noon - 5 * MINUTE, { used: 300, requested })
    report(call, 'update', noon, { used: 300, requested: 60 })
    report(call, 'release', noon + MINUTE, { used: 60 })
    expect(summary(call)).toEqual([
      ['202608', 'band', 0, 600, 1200],
      ['202608', '', 0, 60, 60],
    ])
  })

  it('is divided as reported at the edge before it', () => {
    const call = scene()
    report(call, 'start', noon - 130 * MINUTE, { requested: 9000 })
    report(call, 'release', noon, { used: 8000, usedBefore: 500 })
    expect(summary(call)).toEqual([
      ['202608', '', 0, 500, 500],
      ['202608', 'band', 0, 7500, 15_000],
    ])
  })

  it.each([
    ['with a grant', 9000, 'release', 0],
    ['with a grant and another one', 9000, 'update', 60],
    ['without a grant', -1, 'release', 0],
    ['without a grant before another one', -1, 'update', 60],
  ] as const)('is divided at the edge as reported: %s', (_what, granted, kind, requested) => {
    const call = scene()
    report(call, 'start', noon - 10 * MINUTE, { requested: granted })
    report(call, 'update', noon - 5 * MINUTE, { used: 300, requested: granted })
    report(call, kind, noon, { used: 1000, usedBefore: 900, requested })
    report(call, 'release', noon + MINUTE)
    expect(summary(call)).toEqual([
      ['202608', 'band', 0, 1200, 2400],
      ['202608', '', 0, 100, 100],
    ])
  })

  it('needs the profile if part of it was used after the edge', () => {
    const call = scene()
    report(call, 'start', noon - 10 * MINUTE, { requested: 9000 })
    const session = call.sessions.get('s')!
    const needs = (usedBefore: number) => {
      const services = [serviceRequest({ usaget: 'call', used: 1000, usedBefore })]
      return needsProfile(requestOf({ kind: 'update', eventTimeMs: noon, services }), session)
    }
    expect([needs(-1), needs(900), needs(1000)]).toEqual([false, true, false])
  })

  it('has the price of the next band if it is an event at that time', () => {
    const call = scene()
    report(call, 'event', noon, { requested: 60 })
    expect(call.lines.map(({ counts: { charged } }) => charged)).toEqual([60])
    const before = scene()
    report(before, 'event', noon - 1, { requested: 60 })
    expect(before.lines.map(({ counts: { charged } }) => charged)).toEqual([120])
  })

  it('has the price of its grant if both are at that time', () => {
    const call = scene()
    report(call, 'start', noon, { requested: 60 })
    report(call, 'update', noon, { used: 60 })
    report(call, 'release', noon, { used: 5 })
    expect(summary(call)).toEqual([['202608', '', 0, 65, 65]])
  })
})

describe('the first usage of a session without a grant', () => {
  const band: [number, number] = [10 * 3600, 12 * 3600]
  const noon = START_MS + 12 * HOUR

  it('is split at the edges since the start', () => {
    const call = sceneOf({ band })
    report(call, 'start', noon - 150 * MINUTE)
    report(call, 'release', noon + 30 * MINUTE, { used: 10_800 })
    expect(summary(call)).toEqual([
      ['202608', '', 0, 1800, 1800],
      ['202608', 'band', 0, 7200, 14_400],
      ['202608', '', 0, 1800, 1800],
    ])
  })

  it('is split there although the clock of the node shows another time', () => {
    const call = sceneOf({ band })
    const send = (kind: RequestKind, requestNumber: number, eventTimeMs: number, used: number) => {
      const services = [serviceRequest({ usaget: 'call', used })]
      call.send({ kind, requestNumber, sessionId: 's', eventTimeMs, services })
    }
    call.nowMs = noon + 24 * HOUR
    send('start', 0, noon - 3 * HOUR, 0)
    send('update', 1, noon - MINUTE, 0)
    call.nowMs += MINUTE
    send('release', 2, noon + MINUTE, 120)
    expect(summary(call).map(([, name, , , price]) => [name, price])).toEqual([
      ['band', 120],
      ['', 60],
    ])
  })

  it('without any time has the terms that begin, whatever the clock of the node shows', () => {
    const call = sceneOf({})
    call.nowMs = MIDNIGHT_MS + 24 * HOUR
    for (const [requestNumber, kind] of (['start', 'release'] as const).entries()) {
      const services = [serviceRequest({ usaget: 'call', used: 60 * requestNumber })]
      call.send({ kind, requestNumber, sessionId: 's', eventTimeMs: MIDNIGHT_MS, services })
    }
    expect(summary(call)).toEqual([['202609', '', 0, 60, 60]])
  })

  it('is divided as reported at the first edge', () => {
    const call = sceneOf({ band })
    report(call, 'start', noon - MINUTE)
    report(call, 'release', noon + MINUTE, { used: 100, usedBefore: 90 })
    expect(summary(call)).toEqual([
      ['202608', 'band', 0, 90, 180],
      ['202608', '', 0, 10, 10],
    ])
  })

  it('counts in the cycles and groups of both sides, before the grant that follows', () => {
    const groups = [groupOf('G', 40, { usagets: new Set(['call']) })]
    const call = sceneOf({ plan: { groups } })
    report(call, 'start', MIDNIGHT_MS - MINUTE)
    report(call, 'update', MIDNIGHT_MS + MINUTE, { used: 120, requested: 5 })
    report(call, 'release', MIDNIGHT_MS + 2 * MINUTE, { used: 5 })
    expect(summary(call)).toEqual([
      ['202608', '', 40, 20, 20],
      ['202609', '', 40, 25, 25],
    ])
  })

  it.each([
    ['of the gateway', 0],
    ['behind that of the node', HOUR],
  ])(
    'of a further service is since the last report of the session, by a clock %s',
    (_, behindMs) => {
      const call = sceneOf({ band })
      const at = (nowMs: number) => {
        call.nowMs = nowMs + behindMs
        return { eventTimeMs: nowMs, sessionId: 's' }
      }
      const first = (used: number) => [serviceRequest({ usaget: 'call', used })]
      const begun = at(noon - 60 * MINUTE)
      call.send({ kind: 'start', requestNumber: 0, ...begun, services: first(0) })
      const used = at(noon - MINUTE)
      call.send({ kind: 'update', requestNumber: 1, ...used, services: first(1) })
      const services = [
        serviceRequest({ usaget: 'call', used: 1 }),
        serviceRequest({ usaget: 'call', ratingGroup: 7, used: 120 }),
      ]
      call.send({ kind: 'release', requestNumber: 2, ...at(noon + MINUTE), services })
      const chargedUnits = summary(call).map(([, name, , units, price]) => [name, units, price])
      expect(chargedUnits.slice(-2)).toEqual([
        ['band', 60, 120],
        ['', 60, 60],
      ])
    },
  )
})

describe('usage reported at the end of a cycle', () => {
  it('counts in the cycle that ends, with or without a report before', () => {
    const call = sceneOf({})
    report(call, 'start', MIDNIGHT_MS - 61 * MINUTE)
    report(call, 'update', MIDNIGHT_MS - HOUR, { used: 60 })
    report(call, 'release', MIDNIGHT_MS, { used: 3600 })
    expect(summary(call)).toEqual([['202608', '', 0, 3660, 3660]])
    const silent = sceneOf({})
    report(silent, 'start', MIDNIGHT_MS - HOUR)
    report(silent, 'release', MIDNIGHT_MS, { used: 3600 })
    expect(summary(silent)).toEqual([['202608', '', 0, 3600, 3600]])
  })

  it('is paid by the group of that cycle only', () => {
    const groups = [groupOf('G', 600, { usagets: new Set(['call']) })]
    const call = sceneOf({ plan: { groups }, band: [23 * 3600 + 50 * 60, 24 * 3600] })
    report(call, 'start', MIDNIGHT_MS - 20 * MINUTE, { requested: 1200 })
    report(call, 'release', MIDNIGHT_MS, { used: 1200 })
    expect(summary(call)).toEqual([
      ['202608', '', 600, 0, 0],
      ['202608', 'band', 0, 600, 1200],
    ])
  })

  it('and a grant at that time count on either side', () => {
    const groups = [groupOf('G', 600, { usagets: new Set(['call']) })]
    const call = sceneOf({ plan: { groups } })
    report(call, 'start', MIDNIGHT_MS - 20 * MINUTE)
    report(call, 'update', MIDNIGHT_MS, { used: 1200, requested: 700 })
    report(call, 'release', MIDNIGHT_MS + 20 * MINUTE, { used: 700 })
    expect(summary(call)).toEqual([
      ['202608', '', 600, 600, 600],
      ['202609', '', 600, 100, 100],
    ])
  })

  it('has no line in the next cycle if the service closes without usage', () => {
    const call = sceneOf({})
    report(call, 'start', MIDNIGHT_MS - HOUR)
    report(call, 'release', MIDNIGHT_MS)
    expect(summary(call)).toEqual([['202608', '', 0, 0, 0]])
  })
})

describe('usage reported when a bucket ends or begins', () => {
  const prepaid = { connectionType: 'prepaid' as const }

  it('is paid by the bucket that ends, and the grant by the one that begins', () => {
    const buckets = [
      moneyOf(1000, { id: 1, toMs: MIDNIGHT_MS }),
      moneyOf(1000, { id: 2, fromMs: MIDNIGHT_MS, priority: 5 }),
    ]
    const call = sceneOf({ plan: prepaid, buckets })
    report(call, 'start', MIDNIGHT_MS - HOUR, { requested: 10 })
    report(call, 'update', MIDNIGHT_MS, { used: 100, requested: 50 })
    expect(call.bucket('B1')).toMatchObject({ spent: 100, reserved: 0 })
    expect(call.bucket('B2')).toMatchObject({ spent: 0, reserved: 50 })
    report(call, 'release', MIDNIGHT_MS + MINUTE, { used: 50 })
    expect(call.bucket('B2')).toMatchObject({ spent: 50, reserved: 0 })
    expect(call.subscriber.owed).toBe(0)
  })

  it('is paid by the bucket that ends with the band before', () => {
    const edge = START_MS + 12 * HOUR
    const buckets = [moneyOf(10_000, { id: 1, toMs: edge })]
    const call = sceneOf({ plan: prepaid, buckets, band: [10 * 3600, 12 * 3600] })
    report(call, 'start', edge - MINUTE)
    report(call, 'update', edge - MINUTE + 1000, { used: 1 })
    report(call, 'release', edge + MINUTE, { used: 119 })
    expect(call.bucket('B1')).toMatchObject({ spent: 120 })
    expect(call.subscriber.owed).toBe(60)
  })
})

describe('usage reported when nothing was in force before', () => {
  it.each([
    ['the activation of the subscriber', { profile: { activeFromMs: MIDNIGHT_MS } }],
    ['the begin of the profile', { profile: { fromMs: MIDNIGHT_MS } }],
    ['the begin of the rate', { rate: { fromMs: MIDNIGHT_MS } }],
  ])('has the terms that begin: %s', (_what, setUp) => {
    const call = sceneOf(setUp)
    report(call, 'start', MIDNIGHT_MS)
    expect(report(call, 'release', MIDNIGHT_MS, { used: 60 })).toMatchObject({ reason: 'granted' })
    expect(summary(call)).toEqual([['202609', '', 0, 60, 60]])
  })

  it('has the terms that end: the last usage of a rate', () => {
    const call = sceneOf({ rate: { toMs: MIDNIGHT_MS } })
    report(call, 'start', MIDNIGHT_MS - HOUR)
    report(call, 'release', MIDNIGHT_MS, { used: 60 })
    expect(summary(call)).toEqual([['202608', '', 0, 60, 60]])
  })

  it('continues its segment when the profile begins at that time', () => {
    const call = sceneOf({})
    report(call, 'start', MIDNIGHT_MS - HOUR)
    report(call, 'update', MIDNIGHT_MS - MINUTE, { used: 60 })
    call.profile = profileOf({ ...FAR, fromMs: MIDNIGHT_MS, plan: 'OTHER' })
    const [rates] = [...call.catalogue.rates.values()]
    const other = planOf('OTHER', { ...FAR, connectionType: 'postpaid' })
    call.catalogue = catalogueOf([...rates!], [planOf('PREPAID', FAR), other])
    report(call, 'update', MIDNIGHT_MS, { used: 60, requested: 5 })
    report(call, 'release', MIDNIGHT_MS + MINUTE, { used: 5 })
    expect(
      call.lines.map(({ pricing: { plan }, counts: { used } }) => [plan, used]).slice(-2),
    ).toEqual([
      ['PREPAID', 120],
      ['OTHER', 5],
    ])
  })
})
