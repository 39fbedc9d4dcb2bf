/** Partial refunds of an event, and refunds without a known event. */
import { describe, expect, it } from 'vitest'
import type { Line } from '../../src/domain/line.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import { PLAIN_TERMS, withTerms } from '../../src/domain/tariff-terms.ts'
import { bucketOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { groupOf } from '../support/rating/offers.ts'
import { SETTINGS } from '../support/rating/rating-fixture.ts'
import {
  dataRate,
  explained,
  FAR,
  money,
  sceneOf,
  WITH_MONEY,
} from '../support/rating/refund-scene.ts'

const sums = (lines: readonly Line[]) =>
  lines.map(({ service: { usaget }, counts: { used, charged, debt } }) => {
    return { usaget, used, charged, debt }
  })

describe('a partial refund of an event', () => {
  it('returns units until none of the event remain', () => {
    const { scene, take, back, free } = sceneOf()
    take('sms', 10)
    expect(free()).toBe(70)
    expect(back('sms', 3)).toMatchObject({
      reason: 'granted',
      cost: 21,
      services: [{ usaget: 'sms', granted: 3, cost: 21 }],
    })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 79, spent: 21, credited: 100 })
    expect(back('sms', 8)).toMatchObject({ reason: 'refundLimit' })
    expect(free()).toBe(79)
    expect(back('sms', 7)).toMatchObject({ reason: 'granted', cost: 0 })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 100, spent: 0, credited: 100 })
    expect(back('sms', 1)).toMatchObject({ reason: 'nothingToRefund' })
    expect(sums(scene.lines)).toEqual([
      { usaget: 'sms', used: 10, charged: 30, debt: 0 },
      { usaget: 'sms', used: -3, charged: -9, debt: 0 },
      { usaget: 'sms', used: -7, charged: -21, debt: 0 },
    ])
    expect(new Set(scene.lines.map(({ stamp }) => stamp)).size).toBe(3)
    for (const line of scene.lines) expect(explained(line)).toBe(line.counts.charged)
  })

  it('is the difference in price to the remaining units: the access price comes last', () => {
    const { scene, take, back, free } = sceneOf()
    take('call', 120)
    expect(free()).toBe(75)
    back('call', 30)
    expect(free()).toBe(75)
    back('call', 30)
    expect(free()).toBe(85)
    back('call', 60)
    expect(free()).toBe(100)
    for (const line of scene.lines) expect(explained(line)).toBe(line.counts.charged)
  })

  it.each([
    // Three blocks of the first tier, of which the last one ends in the second; one of the second.
    ['package', [66, 70, 100]],
    // The remaining units would cost more than was charged.
    ['graduated_flat', [96, 96, 100]],
  ] as const)('follows the price model %s', (method, expected) => {
    const tiers = [
      { units: 100, interval: 40, price: 10, ceil: true },
      { units: UNLIMITED, interval: 40, price: 4, ceil: true },
    ]
    const plain = { tiers, access: 0, extraDigits: 0, terms: null }
    const rate = dataRate(withTerms(plain, { ...PLAIN_TERMS, method }))
    const { scene, take, back, free } = sceneOf({ rates: [rate] })
    take('data', 130)
    const left = [free()]
    for (const units of [30, 100]) {
      back('data', units)
      left.push(free())
    }
    expect(left).toEqual(expected)
    for (const line of scene.lines) expect(explained(line)).toBe(line.counts.charged)
  })

  it('returns money, up to the charged amount', () => {
    const { scene, take, back, free } = sceneOf()
    take('sms', 10)
    expect(back('money', 12)).toMatchObject({
      reason: 'granted',
      cost: 18,
      services: [{ usaget: 'money', granted: 12, cost: 18 }],
    })
    expect(free()).toBe(82)
    expect(back('money', 19)).toMatchObject({ reason: 'refundLimit' })
    expect(back('sms', 5)).toMatchObject({ reason: 'granted', cost: 15 })
    expect(free()).toBe(85)
    expect(back('sms', -1)).toMatchObject({ reason: 'granted', services: [{ granted: 5 }] })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 100, spent: 0 })
    expect(back('money', 1)).toMatchObject({ reason: 'nothingToRefund' })
    expect(scene.lines.reduce((sum, { counts: { charged } }) => sum + charged, 0)).toBe(0)
    for (const line of scene.lines) expect(explained(line)).toBe(line.counts.charged)
  })

  it('applies to the named one of several services; money comes from the last one first', () => {
    const { scene, takeAll, backAll, back, units, free } = sceneOf()
    takeAll(units('sms', 2, 1), units('sms', 3, 2))
    expect(free()).toBe(85)
    expect(back('sms', 1)).toMatchObject({ reason: 'nothingToRefund' })
    expect(back('sms', 1, 1)).toMatchObject({ reason: 'granted' })
    expect(free()).toBe(88)
    expect(back('money', 10)).toMatchObject({ reason: 'granted' })
    expect(free()).toBe(98)
    const [first, second] = scene.sessions.get('s')?.services ?? []
    expect([first?.segment?.counts.charged, second?.segment?.counts.charged]).toEqual([2, 0])
    const both = backAll(units('sms', 1, 1), units('sms', 4, 2))
    expect(both).toMatchObject({
      reason: 'granted',
      services: [{ reason: 'granted' }, { reason: 'refundLimit' }],
    })
    expect(free()).toBe(100)
    expect(new Set(scene.lines.map(({ stamp }) => stamp)).size).toBe(scene.lines.length)
  })

  it('returns to the group and the buckets that paid, the last one first', () => {
    const plan = { groups: [groupOf('MIN', 4)] }
    const { scene, take, back, free } = sceneOf({ plan })
    take('sms', 10)
    expect(free()).toBe(82)
    back('sms', 8)
    expect(free()).toBe(100)
    expect(scene.subscriber.buckets.find(({ counter }) => counter !== '')?.spent).toBe(2)
    expect(scene.lines.at(-1)).toMatchObject({
      counts: { used: -8, includedUnits: -2, chargedUnits: -6, charged: -18 },
    })
    back('sms', 2)
    expect(scene.subscriber.buckets.find(({ counter }) => counter !== '')?.spent).toBe(0)
  })

  it('is refused for no units or for another service', () => {
    const { scene, take, back, free } = sceneOf()
    take('sms', 10)
    expect(back('sms', 0).reason).toBe('nothingToRefund')
    expect(back('call', 5).reason).toBe('nothingToRefund')
    expect(free()).toBe(70)
    expect(scene.lines).toHaveLength(1)
    // Without units the refund is for the event as a whole, regardless of the service.
    expect(back('call', -1)).toMatchObject({ reason: 'granted', services: [{ granted: 10 }] })
    expect(free()).toBe(100)
  })
})

describe('a refund without an event', () => {
  it('credits an amount of money, once', () => {
    const { scene, back, free } = sceneOf()
    const given = back('money', 250)
    expect(given).toMatchObject({
      reason: 'granted',
      cost: -250,
      services: [{ usaget: 'money', granted: 250 }],
    })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 350, spent: 0, credited: 350 })
    expect(sums(scene.lines)).toEqual([{ usaget: 'money', used: -250, charged: -250, debt: 0 }])
    expect(explained(scene.lines[0]!)).toBe(-250)
    const again = { kind: 'event', requestNumber: 1, refund: true } as const
    const services = [serviceRequest({ usaget: 'money', requested: 250 })]
    expect(scene.send({ ...again, services })).toEqual(given)
    expect(free()).toBe(350)
    expect(back('money', 250).reason).toBe('nothingToRefund')
    expect(free()).toBe(350)
  })

  it('credits units at their present price, including the access price', () => {
    const { scene, back, free } = sceneOf()
    expect(back('call', 61)).toMatchObject({ reason: 'granted', services: [{ granted: 61 }] })
    expect(free()).toBe(125)
    expect(scene.lines).toMatchObject([
      { pricing: { rateKey: 'CALL' }, counts: { used: -61, chargedUnits: -61, charged: -25 } },
    ])
    expect(explained(scene.lines[0]!)).toBe(-25)
  })

  it('of units is credited to a bucket of units, or to a group with used units', () => {
    const buckets = { ...WITH_MONEY, PACK: { slot: 0 as const, bucket: pack() } }
    const packed = sceneOf({ buckets })
    packed.back('sms', 7)
    expect(packed.scene.bucket('PACK')).toMatchObject({ free: 27, credited: 27, spent: 0 })
    expect(packed.free()).toBe(100)
    expect(packed.scene.lines).toMatchObject([
      { counts: { used: -7, chargedUnits: 0, charged: 0 } },
    ])
    const plan = { groups: [groupOf('MIN', 4)] }
    const grouped = sceneOf({ plan })
    grouped.take('sms', 3)
    grouped.scene.sessions.clear()
    grouped.back('sms', 5)
    expect(grouped.scene.lines.at(-1)).toMatchObject({
      counts: { used: -5, includedUnits: -3, charged: -6 },
    })
    expect(grouped.free()).toBe(106)
  })

  const pack = () => bucketOf({ id: 2, usaget: 'sms', credited: 20, toMs: FAR.toMs })

  it('pays debt first', () => {
    const { scene, back, free } = sceneOf()
    scene.subscriber = { ...scene.subscriber, owed: 40 }
    back('money', 100)
    expect(scene.subscriber).toMatchObject({ owed: 0, repaid: 0 })
    expect(free()).toBe(160)
    expect(sums(scene.lines)).toEqual([{ usaget: 'money', used: -100, charged: -100, debt: -40 }])
  })

  it('is credited to the bucket that pays last, the own one before that of the account', () => {
    const buckets = {
      BONUS: { slot: 0 as const, bucket: money(10, { priority: 9 }) },
      MONEY: { slot: 0 as const, bucket: money(10, { id: 2, priority: 1 }) },
      SHARED: { slot: 1 as const, bucket: money(10, { priority: 0 }) },
    }
    const own = sceneOf({ buckets })
    own.back('money', 5)
    expect(['BONUS', 'MONEY', 'SHARED'].map(own.free)).toEqual([10, 15, 10])
    const { SHARED } = buckets
    const shared = sceneOf({ buckets: { SHARED } })
    shared.back('sms', 2)
    expect(shared.free('SHARED')).toBe(16)
    expect(shared.scene.lines[0]?.counts.payments).toMatchObject([{ owner: 1, amount: -6 }])
  })

  it('of a postpaid subscriber reduces the used credit and is always on the line', () => {
    const plan = { connectionType: 'postpaid' as const }
    const { scene, take, back } = sceneOf({ plan })
    take('sms', 10)
    scene.sessions.clear()
    back('money', 12)
    const owes = () => scene.subscriber.buckets.find(({ counter }) => counter === 'credit')?.spent
    expect(owes()).toBe(18)
    scene.sessions.clear()
    back('money', 100)
    expect(owes()).toBe(0)
    expect(scene.lines.at(-1)).toMatchObject({ counts: { charged: -100 } })
    expect(scene.bucket('MONEY').free).toBe(100)
  })

  it('is limited: by total money, and by units of a service', () => {
    const { refundMicrosMax, refundUnitsMax } = SETTINGS
    const limited = (usaget: string, count: number) => {
      const { scene, back, free } = sceneOf()
      const { reason } = back(usaget, count)
      if (reason !== 'granted')
        expect([free(), scene.lines, scene.sessions.size]).toEqual([100, [], 0])
      return reason
    }
    expect(limited('money', refundMicrosMax)).toBe('granted')
    expect(limited('money', refundMicrosMax + 1)).toBe('refundLimit')
    expect(limited('sms', Math.floor(refundMicrosMax / 3))).toBe('granted')
    expect(limited('sms', Math.floor(refundMicrosMax / 3) + 1)).toBe('refundLimit')
    expect(limited('free', refundUnitsMax + 1)).toBe('refundLimit')
    expect(limited('money', Number.MAX_SAFE_INTEGER)).toBe('refundLimit')
    const { backAll, units, free } = sceneOf()
    const two = backAll(units('money', 600, 1), units('money', 600, 2))
    expect(two.services).toMatchObject([{ reason: 'granted' }, { reason: 'refundLimit' }])
    expect(free()).toBe(700)
  })

  it('is denied if the usage is free or there is no bucket to credit', () => {
    expect(sceneOf().back('free', 5).reason).toBe('nothingToRefund')
    expect(sceneOf().back('money', 0).reason).toBe('nothingToRefund')
    expect(sceneOf().back('unknown', 5).reason).toBe('noRate')
    const poor = sceneOf({ buckets: {} })
    expect(poor.back('money', 5).reason).toBe('noCredit')
    expect(poor.scene.sessions.size).toBe(0)
  })

  it('is accepted for barred subscribers', () => {
    const { back, free } = sceneOf({ profile: { barred: true } })
    expect(back('sms', 2).reason).toBe('granted')
    expect(free()).toBe(106)
  })

  it('without units refers to an event that does not exist', () => {
    expect(sceneOf().back('sms', -1).reason).toBe('unknownSession')
    expect(sceneOf().backAll().reason).toBe('unknownSession')
  })
})
