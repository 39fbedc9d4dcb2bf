/** Holds the ratios of several runs against a baseline. */
import { median } from '../measure/load.ts'
import type { Results } from './results.ts'

/** Median of a ratio, by `scenario.ratio`. */
export type Ratios = Readonly<Record<string, number>>

/** A ratio that falls by more than this share of its baseline has got worse. */
export const FALL_MAX = 0.3

export interface Compared {
  name: string
  baseline: number
  /** Undefined: no run has measured it. */
  now: number | undefined
  /** Share by which it has fallen; below 0: risen. */
  fall: number
  isWorse: boolean
}

/** Medians over the runs, of each ratio those that have it. */
export function mediansOf(runs: readonly Results[]): Ratios {
  const all = new Map<string, number[]>()
  for (const { scenarios } of runs) {
    for (const [scenario, { ratios }] of Object.entries(scenarios)) {
      for (const [ratio, value] of Object.entries(ratios)) {
        const name = `${scenario}.${ratio}`
        all.set(name, [...(all.get(name) ?? []), value])
      }
    }
  }
  return Object.fromEntries([...all].map(([name, values]) => [name, median(values)]))
}

/** Every ratio of the baseline; those that were not measured are not worse. */
export function compare(baseline: Ratios, now: Ratios): Compared[] {
  return Object.entries(baseline).map(([name, before]) => {
    const value = now[name]
    const fall = value === undefined ? 0 : 1 - value / before
    // What is exactly as much lower as it may be is not worse, whatever fractions do.
    return { name, baseline: before, now: value, fall, isWorse: fall > FALL_MAX + 1e-9 }
  })
}
