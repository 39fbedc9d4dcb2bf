/** Refunds of an event and prices that fall, after refunds without an event. */
import { describe, expect, it } from 'vitest'
import { lineDocument } from '../../src/catalog/records/usage/line-document.ts'
import { addLine, emptySums } from '../../src/catalog/records/usage/line-sums.ts'
import { checkLines } from '../../src/cli/audit/recorded-check.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { FALLING } from '../support/domain/tariffs.ts'
import { groupOf } from '../support/rating/offers.ts'
import type { RatingFixture } from '../support/rating/rating-fixture.ts'
import { dataRate, explained, sceneOf } from '../support/rating/refund-scene.ts'

const LIMITED = { accountCreditLimit: 1000 }

/** As the audit finds them between the balances and the lines. */
function differencesOf({ lines, subscriber, account }: RatingFixture) {
  const [own, shared] = [emptySums(), emptySums()]
  const newest = new Map(lines.map((line) => [line.stamp, line])).values()
  for (const line of newest) addLine(lineDocument(line), own, shared)
  return [...checkLines(subscriber, own), ...checkLines(account, shared)]
}

describe('a refund of an event, after one without an event has reduced the counter', () => {
  it.each([
    { counts: [-1], paid: [[-95]] },
    { counts: [98, 2], paid: [[-95], []] },
  ])('empties the counter of a group: $counts', ({ counts, paid }) => {
    const { scene, take, back, backAlone, units } = sceneOf({
      buckets: {},
      plan: { groups: [groupOf('MIN', 140)] },
    })
    take('sms', 100)
    const services = [units('sms', 40)]
    scene.send({ kind: 'start', requestNumber: 0, sessionId: 'open', services })
    backAlone('sms', 5)
    expect(scene.subscriber.buckets).toMatchObject([{ spent: 95, reserved: 40 }])
    for (const count of counts) expect(back('sms', count).reason).toBe('granted')
    expect(scene.subscriber.buckets).toMatchObject([{ spent: 0, reserved: 40, free: -40 }])
    const lines = scene.lines.slice(2)
    expect(lines.map((line) => line.counts.payments.map(({ amount }) => amount))).toEqual(paid)
    const sum = (of: 'used' | 'includedUnits') =>
      lines.reduce((all, one) => all + one.counts[of], 0)
    expect([sum('used'), sum('includedUnits')]).toEqual([-100, -100])
    expect(differencesOf(scene)).toEqual([])
  })

  it.each([
    ['sms', [-1]],
    ['sms', [8, 2]],
    ['money', [30]],
  ])('empties postpaid credit and its limit, at the full price: %s %j', (usaget, counts) => {
    const plan = { connectionType: 'postpaid' as const }
    const { scene, take, back, backAlone } = sceneOf({ buckets: {}, plan, profile: LIMITED })
    take('sms', 10)
    backAlone('money', 12)
    const spent = () => [scene.subscriber, scene.account].map(({ buckets }) => buckets[0]?.spent)
    expect(spent()).toEqual([18, 18])
    for (const count of counts) expect(back(usaget, count).reason).toBe('granted')
    expect(spent()).toEqual([0, 0])
    const charged = scene.lines.slice(2).map((line) => line.counts.charged)
    expect(charged.reduce((sum, micros) => sum + micros, 0)).toBe(-30)
    for (const line of scene.lines) expect(explained(line)).toBe(line.counts.charged)
    expect(differencesOf(scene)).toEqual([])
  })
})

describe('a price that falls, after a refund without an event has reduced the counter', () => {
  it.each([
    ['included money', { groups: [groupOf('MIN', 500, { kind: 'totalCost' })] }, [0]],
    ['postpaid credit and its limit', { connectionType: 'postpaid' as const }, [0, 0]],
  ])('empties %s, and the price is that of the volume', (_, plan, empty) => {
    const rates = [dataRate(FALLING)]
    const { scene, backAlone } = sceneOf({ buckets: {}, plan, profile: LIMITED, rates })
    const spent = () =>
      [scene.subscriber, scene.account].flatMap(({ buckets }) => buckets.map((one) => one.spent))
    const paid = () => scene.lines.at(-1)!.counts.payments.map(({ amount }) => amount)
    const use = (requestNumber: number, used: number) => {
      const services = [serviceRequest({ used, requested: 0 })]
      const kind = requestNumber === 0 ? 'start' : 'update'
      scene.send({ kind, requestNumber, sessionId: 'open', services })
      expect(differencesOf(scene)).toEqual([])
    }
    use(0, 0)
    use(1, 9)
    expect(spent()).toEqual(empty.map(() => 90))
    backAlone('data', 8)
    use(2, 4)
    expect(spent()).toEqual(empty)
    expect(paid()).toEqual(empty.map(() => 80))
    use(3, 2)
    expect([spent(), paid()]).toEqual([empty.map(() => 2), empty.map(() => 82)])
    const { charged, includedMicros } = scene.lines.at(-1)!.counts
    expect(charged + includedMicros).toBe(15)
  })
})
