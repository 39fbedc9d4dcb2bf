/**
 * A model of the events in MongoDB, from the balances in the ledger alone. Rules report every
 * change of a value: these are steps of one way from 0 to the value in the ledger, so that no step
 * can be missing or repeated. The events of other rules follow from the steps and their constants.
 */
import type { Bucket, OwnerState } from '../../../src/domain/bucket.ts'

export interface StoredEvent {
  stamp: string
  event_code: string
  matched_path: string
  based_on: 'usage' | 'monetary'
  before: number
  after: number
  reached_constant?: number
  extra_params: { aid: number; sid: number }
  balance_ref: { sid: number; bucket_id?: number }
}

/** Codes of rules: each change, multiples of a constant, the constants of a list. */
export const CHANGED = 'CHANGED'
export const MULTIPLE = 'MULTIPLE'
export const LEVEL = 'LEVEL'

interface Observed {
  path: string
  multiple: number
  levels: readonly number[]
  /** A further condition of the rules. */
  only?: object
}

const fieldIs = (path: string, value: string) => ({ type: 'is', value, paths: [{ path }] })

/** Paths, with constants in the unit of the path. */
export const OBSERVED: readonly Observed[] = [
  {
    path: 'spent',
    multiple: 1_000_003,
    levels: [50_000, 7_000_000, 90_000_000],
    only: fieldIs('charging_by', 'usagev'),
  },
  {
    path: 'spent',
    multiple: 1.37,
    levels: [0.5, 2, 5.01],
    only: fieldIs('charging_by', 'total_cost'),
  },
  // Prepaid money has no way from 0: top-ups change it.
  {
    path: 'balance.cost',
    multiple: 0.37,
    levels: [0.05, 1, 2.5],
    only: fieldIs('connection_type', 'postpaid'),
  },
  { path: 'balance.groups.MINUTES.usagev', multiple: 211, levels: [100, 1_500] },
  { path: 'balance.groups.DATA.usagev', multiple: 3_000_000, levels: [1, 20_000_000] },
  { path: 'balance.groups.MONEY.cost', multiple: 0.05, levels: [0.001, 0.4] },
  { path: 'balance.totals.call.usagev', multiple: 97, levels: [60, 400, 1_000] },
  { path: 'balance.totals.call.cost', multiple: 0.11, levels: [0.3] },
]

/** The value of setting `events`. */
export function observingRules() {
  const balance = OBSERVED.flatMap(({ path, multiple, levels, only }) => {
    const paths = [{ path }]
    const rule = (event_code: string, condition: object) => ({
      event_code,
      conditions: [{ ...condition, paths }, ...(only === undefined ? [] : [only])],
    })
    return [
      rule(CHANGED, { type: 'has_changed' }),
      rule(MULTIPLE, { type: 'reached_constant_recurring', value: multiple }),
      rule(LEVEL, { type: 'reached_constant', value: levels.join(',') }),
    ]
  })
  return { balance }
}

/** Differences between the events and the ledger; empty if there are none. */
export function differencesOf(
  events: readonly StoredEvent[],
  owners: readonly OwnerState[],
): string[] {
  const found: string[] = []
  const stamps = new Set(events.map(({ stamp }) => stamp))
  if (stamps.size !== events.length) found.push('a stamp occurs twice')
  const steps = new Map<string, StoredEvent[]>()
  for (const event of events) {
    if (event.event_code === CHANGED) {
      steps.set(nameOf(event), [...(steps.get(nameOf(event)) ?? []), event])
    }
  }
  const values = valuesOf(owners)
  for (const name of new Set([...values.keys(), ...steps.keys()])) {
    found.push(...wayDifferences(name, steps.get(name) ?? [], values.get(name) ?? 0))
  }
  return [...found, ...reachedDifferences(events)]
}

function nameOf({ extra_params: { aid }, balance_ref, matched_path }: StoredEvent): string {
  const { sid, bucket_id: bucket } = balance_ref
  return `${aid} ${sid} ${matched_path} ${bucket ?? ''}`.trim()
}

/** Final values by name: integers of the smallest unit. */
function valuesOf(owners: readonly OwnerState[]): Map<string, number> {
  const values = new Map<string, number>()
  const add = (name: string, amount: number) => {
    if (amount > 0) values.set(name, (values.get(name) ?? 0) + amount)
  }
  for (const { aid, sid, buckets } of owners) {
    for (const bucket of buckets) {
      const path = pathOf(bucket)
      if (path === null) continue
      const id = bucket.counter === '' ? ` ${bucket.id}` : ''
      add(`${aid} ${sid} ${path}${id}`, bucket.spent)
    }
  }
  return values
}

/** The observed path that reads the bucket. */
function pathOf({ counter }: Bucket): string | null {
  if (counter === '') return 'spent'
  if (counter === 'credit') return 'balance.cost'
  const parts = counter.split('/')
  const [kind = '', second = '', third = ''] = parts
  if (kind === 'total') return `balance.totals.${second}.${third}`
  const paths = OBSERVED.map(({ path }) => path)
  return paths.find((path) => path.startsWith(`balance.groups.${parts.at(-1)}.`)) ?? null
}

/** The steps lead from 0 to the value, if each is taken once and none is missing. */
function wayDifferences(name: string, steps: readonly StoredEvent[], value: number): string[] {
  const balance = new Map<number, number>()
  const count = (at: number, by: number) => balance.set(at, (balance.get(at) ?? 0) + by)
  for (const step of steps) {
    count(exact(step, step.before), -1)
    count(exact(step, step.after), 1)
  }
  count(0, 1)
  count(value, -1)
  const open = [...balance].filter(([, sum]) => sum !== 0)
  if (open.length === 0) return []
  const texts = open.map(([at, sum]) => `${at} (${sum > 0 ? 'reached' : 'left'} ${Math.abs(sum)})`)
  return [`${name} has ${value} in the ledger; its ${steps.length} events: ${texts.join(', ')}`]
}

function exact({ based_on: basedOn }: StoredEvent, value: number): number {
  return basedOn === 'monetary' ? Math.round(value * 1_000_000) : value
}

/** The events of rules with constants, compared with the steps. */
function reachedDifferences(events: readonly StoredEvent[]): string[] {
  const expected = new Counts()
  const seen = new Counts()
  for (const event of events) {
    const where = `${nameOf(event)} from ${event.before} to ${event.after}`
    if (event.event_code !== CHANGED) {
      const reached = exact(event, event.reached_constant ?? Number.NaN)
      seen.add(`${event.event_code} ${where} reached ${reached}`)
      continue
    }
    const from = exact(event, event.before)
    const to = exact(event, event.after)
    const isMoney = event.based_on === 'monetary'
    const of = OBSERVED.find(
      ({ path, multiple }) =>
        path === event.matched_path && (path !== 'spent' || isMoney === multiple < 10),
    )
    if (of === undefined) return [`${where}: a path that no rule names`]
    const multiple = lastMultiple(from, to, exact(event, of.multiple))
    if (multiple !== null) expected.add(`${MULTIPLE} ${where} reached ${multiple}`)
    const levels = of.levels.map((level) => exact(event, level))
    const level = lastLevel(from, to, levels)
    if (level !== null) expected.add(`${LEVEL} ${where} reached ${level}`)
  }
  return [
    ...expected.without(seen).map((text) => `missing: ${text}`),
    ...seen.without(expected).map((text) => `invented: ${text}`),
  ]
}

function lastMultiple(from: number, to: number, step: number): number | null {
  const multiples: number[] = []
  if (from < to) {
    for (let at = (Math.floor(from / step) + 1) * step; at <= to; at += step) multiples.push(at)
  } else {
    for (let at = Math.floor(from / step) * step; at > to; at -= step) multiples.push(at)
  }
  return multiples.at(-1) ?? null
}

function lastLevel(from: number, to: number, levels: readonly number[]): number | null {
  const met = levels.filter((level) =>
    from < to ? from < level && level <= to : to <= level && level < from,
  )
  if (met.length === 0) return null
  return from < to ? Math.max(...met) : Math.min(...met)
}

class Counts {
  readonly #counts = new Map<string, number>()

  add(text: string): void {
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1)
  }

  /** Texts that occur more often here. */
  without(other: Counts): string[] {
    return [...this.#counts]
      .filter(([text, count]) => count > (other.#counts.get(text) ?? 0))
      .map(([text]) => text)
  }
}
