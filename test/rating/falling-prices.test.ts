/** Prices that fall return money to each payer, in all that it has paid, and to nobody else. */
import { describe, expect, it } from 'vitest'
import type { Bucket } from '../../src/domain/bucket.ts'
import type { IncludedGroup } from '../../src/domain/catalogue.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import type { Tariff } from '../../src/domain/tariff.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { FALLING } from '../support/domain/tariffs.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { groupOf, serviceOf } from '../support/rating/offers.ts'
import { RatingFixture } from '../support/rating/rating-fixture.ts'
import { dataRate, FAR, money } from '../support/rating/refund-scene.ts'

type Buckets = ConstructorParameters<typeof RatingFixture>[0]

const OWN_AND_MORE: Buckets = {
  OWN: { slot: 0, bucket: money(90, { priority: 9 }) },
  MORE: { slot: 0, bucket: money(0, { id: 2, prepaidIncludeId: 2 }) },
}

class FallFixture extends RatingFixture {
  readonly #numbers = new Map<string, number>()

  constructor(buckets: Buckets = {}, groups: IncludedGroup[] = [], tariff: Tariff = FALLING) {
    super(buckets)
    const services = groups.map((group) => serviceOf(group.name, { groups: [group] }))
    const plan = { ...FAR, services: groups.map(({ name }) => name) }
    const plans = [
      planOf('PREPAID', plan),
      planOf('POSTPAID', { ...plan, connectionType: 'postpaid' }),
    ]
    const rates = [dataRate(tariff), rateOf('SMS', 'sms', '3/1', FAR)]
    this.catalogue = catalogueOf(rates, plans, services)
    this.onPlan('PREPAID')
  }

  onPlan(plan: string, accountCreditLimit: number | null = null): void {
    this.profile = profileOf({ ...FAR, plan, accountCreditLimit })
  }

  /** Reports usage of the session. Returns its newest line. */
  use(sessionId: string, used: number, usaget = 'data') {
    const number = this.#numbers.get(sessionId) ?? 0
    this.#numbers.set(sessionId, number + 2)
    if (number === 0) this.send({ kind: 'start', sessionId, requestNumber: 0, services: [] })
    const services = [serviceRequest({ usaget, used, requested: 0 })]
    const { services: answers } = this.send({ sessionId, requestNumber: number + 1, services })
    expect(answers).toMatchObject([{ reason: 'granted' }])
    return this.lines.at(-1)!
  }

  event(sessionId: string, requestNumber: number, refund: boolean, usaget: string, count: number) {
    const services = [serviceRequest({ usaget, requested: count })]
    const { reason } = this.send({ kind: 'event', sessionId, requestNumber, refund, services })
    expect(reason).toBe('granted')
  }

  spent(): number[][] {
    return [this.subscriber, this.account].map(({ buckets }) => buckets.map(({ spent }) => spent))
  }

  debts(): number[] {
    return [this.subscriber, this.account].map(({ owed, repaid }) => owed - repaid)
  }
}

describe('a price that falls, paid by several counters', () => {
  it('is returned by the credit of both cycles, if a refund has emptied one of them', () => {
    const scene = new FallFixture()
    scene.onPlan('POSTPAID', 1000)
    scene.use('s', 5)
    scene.nowMs = Date.UTC(2026, 7, 2)
    scene.use('s', 0)
    scene.use('s', 4)
    const before = credits(scene)
    expect(before).toEqual([50, 40, 50, 40])
    scene.event('care', 1, true, 'data', 3)
    expect(credits(scene)).toEqual([50, 10, 50, 10])
    scene.use('s', 4)
    // 13 units cost 13, and 30 have been refunded already.
    expect(credits(scene)).toEqual([0, 0, 0, 0])
  })

  it('is returned by the other group, if a refund has emptied one of them', () => {
    const groups = [50, 500].map((total, index) =>
      groupOf(`G${index}`, total, { kind: 'totalCost' }),
    )
    const scene = new FallFixture({}, groups)
    scene.use('s', 9)
    expect(scene.spent()).toEqual([[50, 40], []])
    scene.event('care', 1, true, 'data', 8)
    scene.use('other', 5)
    expect(scene.spent()).toEqual([[50, 10], []])
    scene.use('s', 4)
    expect(scene.spent()).toEqual([[0, 0], []])
  })

  it('lowers the limit of the account as the credit, not by the usage of others', () => {
    const scene = new FallFixture()
    scene.onPlan('POSTPAID', 1000)
    const other = scene.subscriber
    scene.use('s', 9)
    const own = scene.subscriber
    scene.subscriber = { ...other, sid: 8 }
    scene.use('other', 5)
    scene.subscriber = own
    expect(scene.spent()).toEqual([[90], [140]])
    scene.event('care', 1, true, 'data', 8)
    expect(scene.spent()).toEqual([[10], [60]])
    scene.use('s', 4)
    expect(scene.spent()).toEqual([[0], [50]])
  })
})

describe('a refund beyond the credit counted', () => {
  it.each([
    ['without an event', 'care', 30],
    ['of an event', 'event', 10],
  ])('lowers the limit of the account as the credit: %s', (_, sessionId, count) => {
    const scene = new FallFixture()
    scene.onPlan('POSTPAID', 1000)
    const other = scene.subscriber
    scene.event('event', 1, false, 'sms', 10)
    const own = scene.subscriber
    scene.subscriber = { ...other, sid: 8 }
    scene.use('other', 5)
    scene.subscriber = own
    scene.event('before', 1, true, 'sms', 7)
    expect(scene.spent()).toEqual([[9], [59]])
    scene.event(sessionId, 2, true, 'sms', count)
    expect(scene.spent()).toEqual([[0], [50]])
  })
})

describe('a price that falls after the plan has changed', () => {
  it('is on the invoice of a postpaid plan, and is not returned to prepaid money as well', () => {
    const scene = new FallFixture(OWN_AND_MORE)
    scene.use('s', 9)
    scene.onPlan('POSTPAID')
    const { counts } = scene.use('s', 2)
    expect(counts).toMatchObject({ charged: -79, payments: [] })
    expect(scene.bucket('OWN')).toMatchObject({ spent: 90, free: 0 })
  })

  it('is returned to prepaid money, although credit has paid: the invoice keeps its line', () => {
    const scene = new FallFixture(OWN_AND_MORE)
    scene.onPlan('POSTPAID')
    scene.use('s', 9)
    scene.onPlan('PREPAID')
    const { counts } = scene.use('s', 2)
    expect(counts).toMatchObject({
      charged: -79,
      payments: [{ bucketId: 1, kind: 'creditedMoney', amount: -79 }],
    })
    expect(scene.bucket('OWN')).toMatchObject({ credited: 169, spent: 0, free: 169 })
    expect(credits(scene)).toEqual([90])
  })
})

describe('repaid debt that a price returns', () => {
  it('leaves other sessions what they have paid', () => {
    const scene = new FallFixture(OWN_AND_MORE)
    scene.use('paid', 9)
    scene.use('owed', 9)
    scene.topUp('MORE', 90)
    expect(scene.spent()).toEqual([[90, 90], []])
    scene.use('owed', 2)
    scene.use('paid', 2)
    expect(freeOf(scene.subscriber.buckets)).toBe(158)
    expect(scene.spent()).toEqual([[11, 90], []])
  })

  it('leaves an event what it can refund', () => {
    const scene = new FallFixture(OWN_AND_MORE)
    scene.event('event', 1, false, 'sms', 30)
    scene.use('owed', 9)
    scene.topUp('MORE', 90)
    scene.use('owed', 2)
    scene.event('event', 2, true, 'sms', 30)
    expect(freeOf(scene.subscriber.buckets)).toBe(169)
    expect(scene.spent()).toEqual([[0, 90], []])
  })

  it('is not forgiven as well, if its owner has other debt', () => {
    const shared = money(0, { id: 1, prepaidIncludeId: 3 })
    const own = money(0, { id: 1, priority: 9 })
    const buckets: Buckets = { OWN: { slot: 0, bucket: own }, SHARED: { slot: 1, bucket: shared } }
    const scene = new FallFixture(buckets, [], FALLING_TWICE)
    scene.use('s', 9)
    scene.topUp('SHARED', 200)
    scene.use('s', 2)
    expect(scene.bucket('SHARED').free).toBe(189)
    scene.use('other', 100, 'sms')
    expect(scene.debts()).toEqual([0, 111])
    scene.topUp('OWN', 100)
    scene.use('s', 9)
    expect(scene.bucket('OWN').free).toBe(91)
    scene.use('s', 1)
    expect([scene.bucket('OWN').free, scene.bucket('SHARED').free]).toEqual([100, 0])
    expect(scene.debts()).toEqual([0, 100])
  })

  it('by a refund, but has no money to go to, stays on the line', () => {
    const scene = new FallFixture()
    scene.use('s', 9)
    scene.event('care', 1, true, 'money', 90)
    expect(scene.debts()).toEqual([0, 0])
    expect(scene.use('s', 2).counts).toMatchObject({ charged: 11, debt: 90, payments: [] })
    expect(scene.use('s', 5).counts).toMatchObject({ charged: 16, debt: 95, payments: [] })
  })
})

const TIER = { interval: 1, ceil: true }

/** All units cost 10 micros each up to 10, 1 up to 20, and nothing beyond. */
const FALLING_TWICE: Tariff = {
  ...FALLING,
  tiers: [
    { ...TIER, units: 10, price: 10 },
    { ...TIER, units: 10, price: 1 },
    { ...TIER, units: UNLIMITED, price: 0 },
  ],
}

/** Spent of the credit counters of the subscriber, then of the account. */
function credits({ subscriber, account }: RatingFixture): number[] {
  const counters = [...subscriber.buckets, ...account.buckets]
  return counters.filter(({ counter }) => counter === 'credit').map(({ spent }) => spent)
}

function freeOf(buckets: readonly Bucket[]): number {
  return buckets.reduce((sum, { free }) => sum + free, 0)
}
