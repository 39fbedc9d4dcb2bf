/** Prices of the same usage before and after a change of the catalogue. Pure. */

import { type EventResult, sumOf } from './event-result.ts'
import type { CaseError } from './quote-case.ts'

/** Money and units of a case, as exact decimals. */
export interface Priced {
  readonly aprice: number
  readonly final_charge: number
  readonly granted: number
  /** 1, or the reason of the first denial. */
  readonly returnCode: number
  readonly desc: string
}

export type Money = Pick<Priced, 'aprice' | 'final_charge'>

export interface Compared {
  readonly name: string
  /** The line as it was charged. */
  readonly line?: object
  readonly before: Priced
  readonly after: Priced
}

export type Comparison = Compared & { readonly difference: Money; readonly changed: boolean }

export interface FailedCase {
  readonly name: string
  readonly line?: object
  readonly changed: false
  readonly error: CaseError
}

/** The sum of the events. */
export function pricedOf(results: readonly EventResult[]): Priced {
  const sum = (name: 'aprice' | 'final_charge' | 'granted') =>
    sumOf(results.map((result) => result[name]))
  const denied = results.find(({ returnCode }) => returnCode !== 1)
  const { returnCode, desc } = denied ?? results[0] ?? { returnCode: 1, desc: 'Success' }
  const money = { aprice: sum('aprice'), final_charge: sum('final_charge') }
  return { ...money, granted: sum('granted'), returnCode, desc }
}

export function compared(prices: Compared): Comparison {
  const { before, after } = prices
  const changed =
    before.aprice !== after.aprice ||
    before.final_charge !== after.final_charge ||
    before.granted !== after.granted ||
    before.returnCode !== after.returnCode
  return { ...prices, difference: minus(after, before), changed }
}

/** Changed cases first, the largest difference before the others; the rest in the given order. */
export function comparisonReport(all: readonly (Comparison | FailedCase)[]) {
  const priced = all.filter((one): one is Comparison => !('error' in one))
  const before = total(priced.map((one) => one.before))
  const after = total(priced.map((one) => one.after))
  const changed = priced.filter((one) => one.changed)
  const largestFirst = changed.toSorted(
    (a, b) => sizeOf(b.difference) - sizeOf(a.difference) || partsOf(b) - partsOf(a),
  )
  return {
    cases: [...largestFirst, ...all.filter((one) => !one.changed)],
    totals: {
      cases: all.length,
      changed: changed.length,
      failed: all.length - priced.length,
      before,
      after,
      difference: minus(after, before),
    },
  }
}

function sizeOf({ final_charge }: Money): number {
  return Math.abs(final_charge)
}

function partsOf({ difference }: Comparison): number {
  return Math.abs(difference.aprice)
}

function total(all: readonly Money[]): Money {
  return {
    aprice: sumOf(all.map(({ aprice }) => aprice)),
    final_charge: sumOf(all.map(({ final_charge }) => final_charge)),
  }
}

function minus(a: Money, b: Money): Money {
  return {
    aprice: sumOf([a.aprice, -b.aprice]),
    final_charge: sumOf([a.final_charge, -b.final_charge]),
  }
}
