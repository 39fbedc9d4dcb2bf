/** Compares the ratios of several runs with a baseline. */
import { readFileSync } from 'node:fs'
import { median } from '../measure/load.ts'
import type { Machine, Results } from './results.ts'

/** Median of a ratio, by `scenario.ratio`. */
export type Ratios = Readonly<Record<string, number>>

/** A ratio that falls by more than this share of its baseline is worse. */
export const FALL_MAX = 0.3

/** The command cannot do what is requested; the message says why, and what to do. */
export class CompareError extends Error {
  override name = 'CompareError'
}

/** The result of `--write`, by scenario: each may have been written separately. */
export interface Baseline {
  [scenario: string]: Standard
}

export interface Standard {
  /** ISO 8601, UTC: start of the last of its runs. */
  at: string
  machine: Machine
  short: boolean
  ratios: Ratios
}

export interface Compared {
  name: string
  baseline: number
  /** Undefined if fewer than half of the runs have measured it. */
  now: number | undefined
  /** Share by which it has fallen; negative if it has risen. */
  fall: number
  /** True if it is too low or was not measured. */
  isWorse: boolean
}

/** Throws `CompareError` unless it is an integer above 0. */
export function runsOf(text: string): number {
  const runs = Number(text)
  if (Number.isInteger(runs) && runs > 0) return runs
  throw new CompareError(`--runs must be a whole number above 0, not ${text}`)
}

/** Throws `CompareError` if the file does not exist or is not a baseline. */
export function readBaseline(file: string): Baseline {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    throw new CompareError(
      `there is no baseline ${file}. Write one, on a machine that does nothing else, with ` +
        'npm run bench:compare -- --write (five runs), or name another with --baseline FILE',
    )
  }
  const baseline = JSON.parse(text) as Baseline
  const isOne = Object.values(baseline).every((one) => typeof one?.ratios === 'object')
  if (!isOne) throw new CompareError(`${file} is no baseline: --write makes it anew`)
  return baseline
}

/** Scenarios of the runs, including skipped ones. */
export function scenariosOf(runs: readonly Results[]): string[] {
  const names = runs.flatMap((run) => [...Object.keys(run.scenarios), ...Object.keys(run.skipped)])
  return [...new Set(names)]
}

/**
 * Medians over the runs of each ratio that more than half of them have; other medians would only
 * describe the runs that happened to be valid.
 */
export function mediansOf(runs: readonly Results[]): Ratios {
  const all = new Map<string, number[]>()
  for (const { scenarios } of runs) {
    for (const [scenario, { ratios }] of Object.entries(scenarios)) {
      for (const [ratio, value] of Object.entries(ratios)) {
        const name = `${scenario}.${ratio}`
        if (Number.isFinite(value)) all.set(name, [...(all.get(name) ?? []), value])
      }
    }
  }
  const enough = [...all].filter(([, values]) => values.length > runs.length / 2)
  return Object.fromEntries(enough.map(([name, values]) => [name, median(values)]))
}

/** Every ratio of the baseline; an unmeasured ratio has not passed. */
export function compare(baseline: Ratios, now: Ratios): Compared[] {
  return Object.entries(baseline).map(([name, before]) => {
    const value = now[name]
    const fall = value === undefined ? 0 : 1 - value / before
    // A fall by exactly the maximum is not worse, despite rounding errors.
    const isWorse = value === undefined || fall > FALL_MAX + 1e-9
    return { name, baseline: before, now: value, fall, isWorse }
  })
}

/** Ratios of some scenarios by `scenario.ratio`. Throws `CompareError` if one has no ratios. */
export function ratiosOf(baseline: Baseline, scenarios: readonly string[]): Ratios {
  const all = scenarios.flatMap((scenario) => {
    const standard = baseline[scenario]
    if (standard === undefined) {
      throw new CompareError(
        `no ${scenario} in the baseline: add it with --write --only ${scenario}`,
      )
    }
    return Object.entries(standard.ratios).map(([ratio, value]) => [`${scenario}.${ratio}`, value])
  })
  return Object.fromEntries(all)
}

/**
 * Reasons to doubt the comparison, such as another machine. Throws `CompareError` if it would be
 * wrong: short and long forms have different windows and populations.
 */
export function warningsOf(
  baseline: Baseline,
  scenarios: readonly string[],
  runs: readonly Results[],
): string[] {
  const here = new Set(runs.map(({ machine }) => machineText(machine)))
  const warnings = new Set<string>()
  for (const scenario of scenarios) {
    const { short, machine } = baseline[scenario] ?? {}
    if (runs.some((run) => run.short !== short)) {
      const form = short === true ? 'short' : 'long'
      throw new CompareError(`the baseline of ${scenario} is of the ${form} form, the runs are not`)
    }
    const there = machine === undefined ? '' : machineText(machine)
    if ([...here].some((one) => one !== there)) {
      warnings.add(`the baseline is of another machine: ${there}; here: ${[...here].join(' and ')}`)
    }
  }
  return [...warnings]
}

/**
 * The baseline with these scenarios replaced by those of the runs; the others are kept. Throws
 * `CompareError` if a ratio of the baseline was not measured, or if nothing was measured.
 */
export function merged(
  before: Baseline,
  runs: readonly Results[],
  scenarios: readonly string[] = scenariosOf(runs),
): Baseline {
  const medians = mediansOf(runs)
  const last = runs.at(-1)
  if (last === undefined || Object.keys(medians).length === 0) {
    throw new CompareError('the runs have no ratio to write')
  }
  if (runs.some(({ short }) => short !== last.short)) {
    throw new CompareError('some of the runs are of the short form, and some are not')
  }
  const { at, machine, short } = last
  const result: Baseline = { ...before }
  for (const scenario of scenarios) {
    const own = Object.entries(medians).filter(([name]) => name.startsWith(`${scenario}.`))
    const ratios = Object.fromEntries(
      own.map(([name, value]) => [name.slice(scenario.length + 1), Number(value.toFixed(4))]),
    )
    const lost = Object.keys(before[scenario]?.ratios ?? {}).filter((name) => !(name in ratios))
    if (lost.length > 0) {
      throw new CompareError(`${scenario} was not measured: ${lost.join(', ')}; nothing is written`)
    }
    if (own.length > 0) result[scenario] = { at, machine, short, ratios }
  }
  return result
}

export function machineText({ processor, cores, node }: Machine): string {
  return `${cores} cores, ${processor}, Node ${node}`
}
