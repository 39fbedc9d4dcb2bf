/** Ends of billing cycles and edges of time bands in the middle of a session. */
import { describe, expect, it } from 'vitest'
import type { Bucket } from '../../src/domain/bucket.ts'
import type { PriceSet } from '../../src/domain/catalogue.ts'
import type { RequestKind, ServiceRequest } from '../../src/domain/charge-request.ts'
import type { Line } from '../../src/domain/line.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import type { Tariff } from '../../src/domain/tariff.ts'
import { bucketOf, moneyOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { groupOf } from '../support/rating/offers.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const SECOND = 1000
const HOUR = 3_600_000
/** 00:00 on 1 August; the night band begins at 22:00. */
const END_MS = START_MS + 31 * 24 * HOUR
const NIGHT_MS = START_MS + 22 * HOUR
const MINUTES = tariffFrom('600000/60')

interface SetUp {
  price?: Tariff
  /** From 22:00 to 06:00. */
  night?: Tariff
  buckets?: Bucket[]
  plan?: Parameters<typeof planOf>[1]
  atMs?: number
}

class Call {
  readonly scene: RatingFixture
  #number = 0

  constructor({ price = MINUTES, night, buckets = [rich()], plan = {}, atMs }: SetUp) {
    const named = buckets.map((bucket) => [`${bucket.id}`, { slot: 0 as const, bucket }])
    this.scene = new RatingFixture(Object.fromEntries(named))
    const band = { name: 'night', days: new Set<number>(), dates: new Set<string>() }
    const times = { fromSecond: 22 * 3600, toSecond: 6 * 3600 }
    const bands = night === undefined ? [] : [{ ...band, ...times, tariff: night }]
    const base: PriceSet = { tariff: price, bands }
    const usages = new Map([['call', { base, plans: new Map() }]])
    const rates = [{ ...rateOf('CALL', 'call', null, FAR), usages }]
    this.scene.catalogue = catalogueOf(rates, [planOf('PREPAID', { ...FAR, ...plan })])
    this.scene.profile = profileOf(FAR)
    this.scene.nowMs = atMs ?? END_MS - 30 * SECOND
  }

  send(kind: RequestKind, seconds: number, more: Partial<ServiceRequest>) {
    this.scene.nowMs += seconds * SECOND
    const services = [serviceRequest({ usaget: 'call', ...more })]
    this.#number += 1
    const outcome = this.scene.send({ kind, requestNumber: this.#number, services })
    return outcome.services[0]
  }

  /** The newest version of each line. */
  lines(): Line[] {
    return [...new Map(this.scene.lines.map((line) => [line.stamp, line])).values()]
  }

  /** Cycle, band, units and price of each line. */
  summary(): (string | number)[][] {
    return this.lines().map(({ pricing: { cycle, band }, counts: { used, charged } }) => [
      cycle,
      band,
      used,
      charged,
    ])
  }

  get money(): Bucket {
    return this.scene.bucket('1')
  }
}

const rich = () => moneyOf(1e12, { toMs: FAR.toMs })

function tariff(tiers: [units: number, price: number, interval: number][], more = {}): Tariff {
  const made = tiers.map(([units, price, interval]) => ({ units, price, interval, ceil: true }))
  return { tiers: made, access: 0, extraDigits: 0, terms: null, ...more }
}

describe('usage across the end of a billing cycle', () => {
  it('pays a minute that has begun only once', () => {
    const call = new Call({ buckets: [moneyOf(600_000, { toMs: FAR.toMs })] })
    expect(call.send('start', 0, { requested: 600 })).toMatchObject({ granted: 60 })
    call.send('release', 60, { used: 60 })
    expect(call.summary()).toEqual([
      ['202608', '', 30, 600_000],
      ['202609', '', 30, 0],
    ])
    expect(call.scene.subscriber.owed).toBe(0)
    expect(call.money).toMatchObject({ free: 0, reserved: 0, spent: 600_000 })
  })

  it('begins the next minute where the one before ends, and counts it in the next cycle', () => {
    const call = new Call({})
    call.send('start', 0, { requested: 600 })
    call.send('release', 100, { used: 100 })
    expect(call.summary()).toEqual([
      ['202608', '', 30, 600_000],
      ['202609', '', 70, 600_000],
    ])
  })

  it.each([
    ['one report', [600]],
    ['two reports', [300, 300]],
    ['reports of half a minute', Array.from({ length: 20 }, () => 30)],
  ])('continues the count of tiers: %s', (_what, reports) => {
    const price = tariff([
      [300, 600_000, 60],
      [UNLIMITED, 60_000, 60],
    ])
    const call = new Call({ price, atMs: END_MS - 300 * SECOND })
    call.send('start', 0, { requested: 1000 })
    for (const used of reports) call.send('update', used, { used, requested: 1000 })
    call.send('release', 0, { used: 0 })
    expect(call.summary()).toEqual([
      ['202608', '', 300, 3_000_000],
      ['202609', '', 300, 300_000],
    ])
  })

  it('prices a volume as a whole and returns what was paid in excess', () => {
    const terms = { ...VOLUME, minimum: 0 }
    const price = tariff(
      [
        [300, 10_000, 1],
        [UNLIMITED, 5_000, 1],
      ],
      { terms },
    )
    const call = new Call({ price, atMs: END_MS - 250 * SECOND })
    call.send('start', 0, { requested: 250 })
    call.send('update', 250, { used: 250, requested: 100 })
    expect(call.money.spent).toBe(2_500_000)
    call.send('release', 60, { used: 60 })
    expect(call.summary()).toEqual([
      ['202608', '', 250, 2_500_000],
      ['202609', '', 60, -950_000],
    ])
    expect(call.lines()[1]?.counts.payments).toMatchObject([{ kind: 'money', amount: -950_000 }])
    expect(call.money).toMatchObject({ spent: 1_550_000, reserved: 0 })
  })

  it('has the access price and the minimum charge once per session', () => {
    const terms = { ...VOLUME, method: 'tiered' as const, minimum: 2_000_000 }
    const call = new Call({ price: { ...MINUTES, access: 100_000, terms } })
    call.send('start', 0, { requested: 600 })
    call.send('release', 300, { used: 300 })
    // Thirty seconds cost the minimum; five minutes with access cost more than that.
    expect(call.summary()).toEqual([
      ['202608', '', 30, 2_000_000],
      ['202609', '', 270, 1_100_000],
    ])
  })

  it('uses the included units of each cycle, except for the minute already paid', () => {
    const plan = { groups: [groupOf('MINUTES', 45, { usagets: new Set(['call']) })] }
    const call = new Call({ plan, atMs: END_MS - 75 * SECOND })
    call.send('start', 0, { requested: 600 })
    call.send('release', 150, { used: 150 })
    const [first, second] = call.lines()
    expect(first).toMatchObject({
      counts: { used: 75, includedUnits: 45, chargedUnits: 30, charged: 600_000 },
    })
    // The rest of the minute first, then the included units, then charged ones.
    expect(second).toMatchObject({
      counts: { used: 75, includedUnits: 45, chargedUnits: 30, charged: 0 },
    })
  })

  it('is paid by the reserved bucket, also if the bucket ended with the cycle', () => {
    const monthly = moneyOf(600_000, { toMs: END_MS })
    const call = new Call({ price: tariffFrom('10000/1'), buckets: [monthly] })
    expect(call.send('start', 0, { requested: 60 })).toMatchObject({ granted: 60 })
    call.send('release', 50, { used: 50 })
    expect(call.summary()).toEqual([
      ['202608', '', 30, 300_000],
      ['202609', '', 20, 200_000],
    ])
    expect(call.scene.subscriber.owed).toBe(0)
    expect(call.money).toMatchObject({ free: 100_000, reserved: 0, spent: 500_000 })
    expect(call.lines()[1]).toMatchObject({ counts: { forfeitedMicros: 100_000 } })
  })

  it('is paid by units of a bucket that ended with the cycle', () => {
    const monthly = bucketOf({ usaget: 'call', credited: 60, toMs: END_MS })
    const call = new Call({ buckets: [monthly] })
    call.send('start', 0, { requested: 60 })
    call.send('release', 40, { used: 40 })
    expect(call.summary()).toEqual([
      ['202608', '', 30, 0],
      ['202609', '', 10, 0],
    ])
    expect(call.money).toMatchObject({ free: 20, reserved: 0, spent: 40 })
  })

  it('continues when the rate has another revision', () => {
    const call = new Call({ atMs: START_MS })
    const changed = START_MS + 30 * SECOND
    const dearer = rateOf('CALL', 'call', '1200000/60', { id: 'CALL@2', ...FAR, fromMs: changed })
    const before = rateOf('CALL', 'call', '600000/60', { ...FAR, toMs: changed })
    call.scene.catalogue = catalogueOf([before, dearer], [planOf('PREPAID', FAR)])
    call.send('start', 0, { requested: 20 })
    call.send('update', 40, { used: 20, requested: 60 })
    call.send('release', 60, { used: 60 })
    // Thirty of the first forty seconds; the minute that has begun is paid.
    expect(call.lines().map(({ counts: { used, charged } }) => [used, charged])).toEqual([
      [15, 600_000],
      [65, 1_200_000],
    ])
  })
})

const VOLUME = {
  method: 'volume' as const,
  unitScale: 1,
  factor: 1,
  factorDigits: 0,
  minimum: 0,
  rounding: null,
}

describe('usage across the edge of a time band', () => {
  const atMs = NIGHT_MS - 30 * SECOND

  it('keeps the price of a minute that has begun and charges the next one at the new price', () => {
    const call = new Call({ night: tariffFrom('100000/60'), atMs })
    call.send('start', 0, { requested: 600 })
    call.send('release', 90, { used: 90 })
    expect(call.summary()).toEqual([
      ['202608', '', 30, 600_000],
      ['202608', 'night', 60, 100_000],
    ])
  })

  it('is not split if both prices are the same', () => {
    const call = new Call({ night: { ...MINUTES }, atMs })
    const granted = call.send('start', 0, { requested: 600 })
    expect(granted).toMatchObject({ granted: 600, tariffChangeMs: 0, validityMs: HOUR })
    call.send('release', 90, { used: 90, usedBefore: 10 })
    expect(call.summary()).toEqual([['202608', '', 90, 1_200_000]])
  })

  it('continues the count of tiers at the price of the band', () => {
    const price = tariff([
      [60, 600_000, 60],
      [UNLIMITED, 10_000, 1],
    ])
    const night = tariff([
      [60, 300_000, 60],
      [UNLIMITED, 5_000, 1],
    ])
    const call = new Call({ price, night, atMs })
    call.send('start', 0, { requested: 600 })
    call.send('release', 90, { used: 90 })
    expect(call.summary()).toEqual([
      ['202608', '', 30, 600_000],
      ['202608', 'night', 60, 150_000],
    ])
  })

  it('reserves a grant at the higher price, however it is used', () => {
    const night = tariffFrom('20000/1')
    for (const usedBefore of [0, 10, 29, 30, -1]) {
      const money = moneyOf(600_000, { toMs: FAR.toMs })
      const call = new Call({ price: tariffFrom('10000/1'), night, buckets: [money], atMs })
      const granted = call.send('start', 0, { requested: 60 })
      expect(granted).toMatchObject({ granted: 30, finalUnit: false })
      expect(call.money.reserved).toBe(600_000)
      call.send('release', 45, { used: 30, usedBefore })
      expect(call.scene.subscriber.owed).toBe(0)
    }
  })

  it('has the present price if the next price is not affordable', () => {
    const money = moneyOf(700_000, { toMs: FAR.toMs })
    const call = new Call({ night: tariffFrom('1200000/60'), buckets: [money], atMs })
    expect(call.send('start', 0, { requested: 600 })).toMatchObject({ granted: 60 })
    call.send('release', 60, { used: 60 })
    expect(call.summary()).toEqual([['202608', '', 60, 600_000]])
    expect(call.scene.subscriber.owed).toBe(0)
  })

  it('pays a block of a package that has begun, and the next one where it ends', () => {
    const blocks = (price: number) => {
      return tariff(
        [
          [50, price, 40],
          [UNLIMITED, price, 10],
        ],
        { terms: { ...VOLUME, method: 'package' } },
      )
    }
    const call = new Call({ price: blocks(300), night: blocks(7), atMs })
    call.send('start', 0, { requested: 600 })
    call.send('update', 45, { used: 45, requested: 600 })
    call.send('release', 45, { used: 46 })
    // By day one block; at night those from 40 to 80, and from 80 to 90 and 100.
    expect(call.summary()).toEqual([
      ['202608', '', 30, 300],
      ['202608', 'night', 61, 21],
    ])
  })

  it('has one fixed price: what was paid before counts against that of a higher tier', () => {
    const fixed = (first: number, second: number) => {
      return tariff(
        [
          [50, first, 1],
          [UNLIMITED, second, 1],
        ],
        { terms: { ...VOLUME, method: 'graduated_flat' } },
      )
    }
    const dearer = new Call({ price: fixed(500, 800), night: fixed(600, 700), atMs })
    dearer.send('start', 0, { requested: 600 })
    dearer.send('release', 90, { used: 90 })
    expect(dearer.summary()).toEqual([
      ['202608', '', 30, 500],
      ['202608', 'night', 60, 200],
    ])
    const cheaper = new Call({ price: fixed(500, 300) })
    cheaper.send('start', 0, { requested: 600 })
    cheaper.send('release', 90, { used: 90 })
    expect(cheaper.summary()).toEqual([
      ['202608', '', 30, 500],
      ['202609', '', 60, -200],
    ])
    expect(cheaper.money).toMatchObject({ spent: 300, reserved: 0 })
  })

  it('never costs more than was reserved if blocks of a package cross tiers', () => {
    const night = tariff(
      [
        [100, 1000, 24],
        [100, 0, 78],
        [UNLIMITED, 30, 1],
      ],
      { terms: { ...VOLUME, method: 'package' } },
    )
    const money = moneyOf(6000, { toMs: FAR.toMs })
    // After 2 units the blocks of both tiers are used up at 200: the third one prices the most.
    for (const usedBefore of [0, 2, 29, 200]) {
      const call = new Call({ price: tariffFrom('1/1'), night, buckets: [money], atMs })
      const granted = call.send('start', 0, { requested: 300 })?.granted ?? 0
      expect(granted).toBeGreaterThan(200)
      call.send('release', 45, { used: granted, usedBefore })
      expect(call.scene.subscriber.owed).toBe(0)
    }
  })

  it('is split by largest remainder if a report spans several edges', () => {
    const call = new Call({ night: tariffFrom('1/1'), price: tariffFrom('2/1'), atMs: START_MS })
    call.scene.nowMs = START_MS + 21 * HOUR
    call.send('start', 0, { requested: 10 })
    // One hour of day, eight of night and six of day: 0.67, 5.33 and 4 of ten units.
    call.send('release', 15 * 3600, { used: 10 })
    expect(call.summary()).toEqual([
      ['202608', '', 1, 2],
      ['202608', 'night', 5, 5],
      ['202608', '', 4, 8],
    ])
  })
})
