/** Prices across cycle ends and band edges, against an exact model, for any split into reports. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PriceSet } from '../../src/domain/catalogue.ts'
import type { Line } from '../../src/domain/line.ts'
import { PRICING_METHODS, type PricingMethod } from '../../src/domain/pricing/models.ts'
import type { Tariff } from '../../src/domain/tariff.ts'
import { PLAIN_TERMS, withTerms } from '../../src/domain/tariff-terms.ts'
import { modelTariff, SMALL, tariffOf, tariffWithTerms } from '../support/domain/arbitraries.ts'
import { priceOf } from '../support/domain/model-price.ts'
import { moneyOf } from '../support/domain/owners.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { pricesOfParts } from '../support/rating/boundary-model.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const MINUTE = 60_000
const DAY = 1440 * MINUTE

/** The other tariff applies in the last ten minutes of each hour. */
function bandsOf(tariff: Tariff, other: Tariff): PriceSet {
  const always = { days: new Set<number>(), dates: new Set<string>() }
  const bands = Array.from({ length: 24 }, (_, hour) => ({
    ...always,
    name: `late${hour}`,
    tariff: other,
    fromSecond: hour * 3600 + 3000,
    toSecond: (hour + 1) * 3600,
  }))
  return { tariff, bands }
}

function withMethod(tariff: Tariff, method: PricingMethod): Tariff {
  return withTerms(tariff, { ...PLAIN_TERMS, method })
}

function sceneOf(price: PriceSet, money: number, atMs: number): RatingFixture {
  const scene = new RatingFixture({
    MONEY: { slot: 0, bucket: moneyOf(money, { toMs: FAR.toMs }) },
  })
  const usages = new Map([['call', { base: price, plans: new Map() }]])
  scene.catalogue = catalogueOf(
    [{ ...rateOf('CALL', 'call', null, FAR), usages }],
    [planOf('PREPAID', FAR)],
  )
  scene.profile = profileOf(FAR)
  scene.nowMs = atMs
  return scene
}

interface Report {
  minutes: number
  used: number
  /** Units used before a boundary, as reported by the network element; -1 if not reported. */
  before: number
  asks: boolean
}

const report: fc.Arbitrary<Report> = fc.record({
  minutes: fc.integer({ min: 1, max: 40 }),
  used: fc.integer({ min: 0, max: 60 }),
  before: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 60 })),
  asks: fc.boolean(),
})

function play(scene: RatingFixture, reports: readonly Report[]): Line[] {
  const call = (more: object) => [serviceRequest({ usaget: 'call', ...more })]
  scene.send({ kind: 'start', requestNumber: 0, services: call({ requested: 50 }) })
  for (const [index, { minutes, used, before, asks }] of reports.entries()) {
    scene.nowMs += minutes * MINUTE
    const services = call({ used, usedBefore: before, requested: asks ? 50 : -1 })
    scene.send({ kind: 'update', requestNumber: index + 1, services })
  }
  scene.send({ kind: 'release', requestNumber: reports.length + 1, services: [] })
  const newest = new Map(scene.lines.map((line) => [line.stamp, line]))
  return [...newest.values()].sort((one, other) => numberOf(one) - numberOf(other))
}

function numberOf({ stamp }: Line): number {
  return Number(stamp.split('-').at(-1))
}

/** Joins all reports, minutes and units alike, into a single one. */
function rejoined(reports: readonly Report[]): Report[] {
  const [minutes, used] = (['minutes', 'used'] as const).map((name) =>
    reports.reduce((sum, one) => sum + one[name], 0),
  ) as [number, number]
  return [{ minutes, used, before: -1, asks: false }]
}

const plain = fc.oneof(
  tariffOf(SMALL),
  tariffOf(SMALL).map((tariff) => withMethod(tariff, 'package')),
)
const any = fc.oneof(plain, tariffWithTerms(SMALL))
const beforeEndOfCycle = START_MS + 31 * DAY - 30 * MINUTE

describe('a session that continues past the end of a cycle', () => {
  it('costs the same as within one cycle and in one report', () => {
    fc.assert(
      fc.property(any, fc.array(report, { minLength: 1, maxLength: 6 }), (tariff, reports) => {
        const price = { tariff, bands: [] }
        const lines = play(sceneOf(price, 2 ** 40, beforeEndOfCycle), reports)
        const whole = play(sceneOf(price, 2 ** 40, beforeEndOfCycle), rejoined(reports))
        const used = reports.reduce((sum, one) => sum + one.used, 0)
        const cost = (of: Line[]) => of.reduce((sum, { counts: { charged } }) => sum + charged, 0)
        expect(lines.reduce((sum, line) => sum + line.counts.used, 0)).toBe(used)
        expect(cost(lines)).toBe(Number(priceOf(modelTariff(tariff), BigInt(used), true)))
        expect(cost(whole)).toBe(cost(lines))
        expect(new Set(lines.map(({ pricing: { cycle } }) => cycle)).size).toBe(lines.length)
      }),
      propertyRuns(400),
    )
  })

  it('has the same lines when bands of equal price divide it', () => {
    fc.assert(
      fc.property(any, fc.array(report, { minLength: 1, maxLength: 6 }), (tariff, reports) => {
        const summaryOf = (price: PriceSet) =>
          play(sceneOf(price, 2 ** 40, beforeEndOfCycle), reports).map(
            ({ pricing: { cycle }, counts: { used, chargedUnits, charged } }) => [
              cycle,
              used,
              chargedUnits,
              charged,
            ],
          )
        expect(summaryOf(bandsOf(tariff, { ...tariff }))).toEqual(summaryOf({ tariff, bands: [] }))
      }),
      propertyRuns(200),
    )
  })
})

describe('a session that continues across band edges', () => {
  it('charges each interval at the price at which it began', () => {
    fc.assert(
      fc.property(
        fc.tuple(plain, plain),
        fc.array(report, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        ([tariff, other], reports, isMonthEnd) => {
          const atMs = isMonthEnd ? beforeEndOfCycle : START_MS + 15 * MINUTE
          const lines = play(sceneOf(bandsOf(tariff, other), 2 ** 40, atMs), reports)
          const models = new Map([tariff, other].map((one) => [one, modelTariff(one)]))
          const parts = lines.map((line, index) => {
            const same =
              JSON.stringify(line.pricing.tariff) === JSON.stringify(tariff) ? tariff : other
            const isApart = index > 0 && numberOf(line) - numberOf(lines[index - 1] as Line) > 1
            return { tariff: models.get(same)!, units: line.counts.chargedUnits, isApart }
          })
          expect(lines.map(({ counts: { charged } }) => charged)).toEqual(
            pricesOfParts(parts).map(Number),
          )
          const used = reports.reduce((sum, one) => sum + one.used, 0)
          expect(lines.reduce((sum, line) => sum + line.counts.used, 0)).toBe(used)
        },
      ),
      propertyRuns(600),
    )
  })
})

describe('a session at fixed prices across band edges', () => {
  const fixed = tariffOf(SMALL).map((tariff) => {
    return withMethod({ ...tariff, extraDigits: 0, access: 0 }, 'graduated_flat')
  })

  it('counts what was paid before against the price of the tier that is reached', () => {
    fc.assert(
      fc.property(
        fc.tuple(fixed, fixed),
        fc.array(report, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        ([tariff, other], reports, isMonthEnd) => {
          const atMs = isMonthEnd ? beforeEndOfCycle : START_MS + 15 * MINUTE
          const lines = play(sceneOf(bandsOf(tariff, other), 2 ** 40, atMs), reports)
          let [position, credit, total] = [0n, 0, 0]
          for (const [index, line] of lines.entries()) {
            const last = lines[index - 1]
            const continues =
              last !== undefined &&
              numberOf(line) - numberOf(last) === 1 &&
              JSON.stringify(last.pricing.tariff) === JSON.stringify(line.pricing.tariff)
            if (!continues) credit = total
            position += BigInt(line.counts.chargedUnits)
            const price = Number(priceOf(modelTariff(line.pricing.tariff), position, false))
            const next = line.counts.chargedUnits === 0 ? total : Math.max(credit, price)
            expect(line.counts.charged).toBe(next - total)
            total = next
          }
        },
      ),
      propertyRuns(400),
    )
  })
})

describe('a grant near a boundary', () => {
  const asked = fc.record({
    minutes: fc.integer({ min: 0, max: 9 }),
    after: fc.integer({ min: 0, max: 9 }),
    requested: fc.integer({ min: 1, max: 80 }),
    usedPart: fc.constantFrom(1, 1, 0.5, 0.1),
    beforePart: fc.constantFrom(0, 0.1, 0.5, 0.9, 1),
  })
  const whole = fc
    .tuple(tariffOf(SMALL), fc.constantFrom(...PRICING_METHODS))
    .map(([tariff, method]) => withMethod({ ...tariff, extraDigits: 0 }, method))

  it('never costs more than was reserved for it', () => {
    fc.assert(
      fc.property(
        fc.tuple(whole, whole),
        fc.integer({ min: 0, max: 600 }),
        fc.array(asked, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        ([tariff, other], money, grants, isMonthEnd) => {
          // Each grant is made within ten minutes before an edge, and reported within ten after it.
          const start = (isMonthEnd ? beforeEndOfCycle : START_MS) + 40 * MINUTE
          const scene = sceneOf(bandsOf(tariff, other), money, start)
          const call = (more: object) => [serviceRequest({ usaget: 'call', ...more })]
          for (const [index, drawn] of grants.entries()) {
            const { minutes, after, requested, usedPart, beforePart } = drawn
            scene.nowMs = start + index * 60 * MINUTE + minutes * MINUTE
            const sessionId = `s${index}`
            const before = scene.bucket('MONEY').free
            const asks = { kind: 'start' as const, requestNumber: 0, sessionId }
            const outcome = scene.send({ ...asks, services: call({ requested }) })
            const granted = outcome.services[0]?.granted ?? 0
            const { reserved } = scene.bucket('MONEY')
            const used = Math.floor(granted * usedPart)
            const usedBefore = Math.floor(used * beforePart)
            scene.nowMs = start + index * 60 * MINUTE + (10 + after) * MINUTE
            const ends = { kind: 'release' as const, requestNumber: 1, sessionId }
            scene.send({ ...ends, services: call({ used, usedBefore }) })
            const spent = before - scene.bucket('MONEY').free
            expect(spent).toBeLessThanOrEqual(reserved)
            expect(scene.subscriber.owed).toBe(0)
          }
        },
      ),
      propertyRuns(800),
    )
  })
})
