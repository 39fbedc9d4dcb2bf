/** Prices of tariff categories other than retail, which are added to the customer's price. */
import { describe, expect, it } from 'vitest'
import type { PlanRevision, RateRevision, TimeBand } from '../../src/domain/catalogue.ts'
import { bucketOf, moneyOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { groupOf } from '../support/rating/offers.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const HOUR = 3_600_000
const ALL = { filters: [{ type: 'match', rate_key: 'usaget', line_key: 'usaget' }] }

/** Calls at 10 micros a unit, plus the `wholesale` price. */
function sceneOf(
  wholesale: RateRevision,
  plan: Partial<PlanRevision>,
  credit: number | ConstructorParameters<typeof RatingFixture>[0],
): RatingFixture {
  const money = (micros: number) => moneyOf(micros, { toMs: FAR.toMs })
  const scene = new RatingFixture(
    typeof credit === 'number' ? { MONEY: { slot: 0, bucket: money(credit) } } : credit,
  )
  const rates = [rateOf('CALL', 'call', '10/1', FAR), wholesale]
  scene.catalogue = catalogueOf(rates, [planOf('PREPAID', { ...FAR, ...plan })])
  scene.calculators = { wholesale: { call: { priorities: [ALL] } } }
  scene.profile = profileOf(FAR)
  return scene
}

function wholesaleOf(price: string, bands: TimeBand[] = []): RateRevision {
  const usage = { base: { tariff: tariffFrom(price), bands }, plans: new Map() }
  const usages = new Map([['call', usage]])
  return rateOf('W', 'call', null, { ...FAR, category: 'wholesale', usages })
}

/**
 * A session that requests units and reports usage at an instant; returns the charges of its lines.
 */
function chargedFor(
  scene: RatingFixture,
  requested: number,
  used: number,
  atMs = START_MS,
): number[] {
  const one = serviceRequest({ usaget: 'call', requested })
  scene.send({ kind: 'start', requestNumber: 0, services: [one] })
  scene.nowMs = atMs
  const report = serviceRequest({ usaget: 'call', used })
  scene.send({ kind: 'release', requestNumber: 1, services: [report] })
  return scene.lines.map(({ counts: { charged } }) => charged)
}

describe('an added category', () => {
  it('has bands of its own, at which usage is split', () => {
    const late: TimeBand = {
      name: 'late',
      days: new Set(),
      dates: new Set(),
      fromSecond: 3600,
      toSecond: 86_400,
      tariff: tariffFrom('5/1'),
    }
    const scene = sceneOf(wholesaleOf('1/1', [late]), {}, 100_000)
    expect(chargedFor(scene, 100, 100, START_MS + 2 * HOUR)).toEqual([50 * 11, 50 * 15])
  })

  it('does not reduce the units covered by groups if nobody can pay for over-use', () => {
    const scene = sceneOf(wholesaleOf('1/1'), { groups: [groupOf('G', 100)] }, 1)
    expect(chargedFor(scene, 1, 100)).toEqual([100])
    expect(scene.lines[0]).toMatchObject({
      counts: { includedUnits: 100, chargedUnits: 0, debt: 99 },
    })
  })

  it('has its access price once, also if groups cover the first units', () => {
    const scene = sceneOf(wholesaleOf('1/1+7'), { groups: [groupOf('G', 62)] }, 100_000)
    const end = START_MS + 62 * 24 * HOUR
    expect(chargedFor(scene, 62, 62, end)).toEqual([31 + 7, 31])
  })

  it('ends with the money that pays for it, although units remain', () => {
    const unit = bucketOf({ id: 2, usaget: 'call', credited: 100, priority: 9, toMs: FAR.toMs })
    const money = { slot: 0, bucket: moneyOf(10, { toMs: FAR.toMs }) } as const
    const scene = sceneOf(wholesaleOf('1/1'), {}, { MONEY: money, PACK: { slot: 0, bucket: unit } })
    const last = [9, 10].map((requested) => {
      const services = [serviceRequest({ usaget: 'call', requested })]
      const { outcome } = scene.decide({ kind: 'start', services })
      return outcome.services.map(({ granted, finalUnit }) => [granted, finalUnit])
    })
    expect(last).toEqual([[[9, false]], [[10, true]]])
  })
})
