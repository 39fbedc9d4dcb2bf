/** Rules of usage patterns: sums of the lines of a subscriber within a sliding window. */
import { FieldError } from '../fields.ts'
import { parseDecimal } from '../money.ts'
import { type EventRule, eventRuleOf, type Receiver } from './rule-documents.ts'

/** Fields of lines that a rule may select by, and their names in stored lines. */
export const LINE_FIELDS = {
  usaget: 'usaget',
  type: 'type',
  'subscriber.plan': 'plan',
  arate_key: 'arate_key',
} as const

/** Fields of lines that are added up. */
export const SUM_FIELDS = [
  'usagev',
  'aprice',
  'final_charge',
  'in_group',
  'over_group',
  'out_group',
] as const

export type SumField = (typeof SUM_FIELDS)[number]

export const THRESHOLD_OPS = ['in', 'nin', 'gt', 'gte', 'lt', 'lte'] as const

type ListValue = string | number | readonly (string | number)[]

export interface LineConditionDocument {
  field: keyof typeof LINE_FIELDS
  op: 'in' | 'nin'
  value: ListValue
}

export interface ThresholdDocument {
  field: SumField
  op: (typeof THRESHOLD_OPS)[number]
  value: ListValue
  unit?: string
  usaget?: string | readonly string[]
}

interface DurationDocument {
  type: 'minutely' | 'hourly' | 'daily'
  value: number
}

/** As stored in the configuration, after validation of its form. */
export interface FraudRuleDocument extends Receiver {
  active?: boolean
  event_code: string
  event_description?: string
  recurrence: DurationDocument
  date_range: DurationDocument
  lines_overlap?: boolean
  conditions?: readonly (readonly LineConditionDocument[])[]
  threshold_conditions: readonly (readonly ThresholdDocument[])[]
}

export interface LineCondition {
  /** Name in stored lines. */
  readonly field: string
  readonly op: 'in' | 'nin'
  readonly values: readonly string[]
}

export interface SumThreshold {
  readonly field: SumField
  /** Only lines of these usage types are added up; null: all that the conditions select. */
  readonly usagets: readonly string[] | null
  readonly op: (typeof THRESHOLD_OPS)[number]
  /** Exact decimal texts; one unless `op` is `in` or `nin`. */
  readonly values: readonly string[]
}

/** One of the outer lists has to hold, with all of its members. */
type AnyOfAll<T> = readonly (readonly T[])[]

export interface FraudRule extends EventRule {
  readonly recurrenceMs: number
  readonly rangeMs: number
  /** Lines count in each window that contains them; otherwise not again once reported. */
  readonly linesOverlap: boolean
  /** Without any, all lines count. */
  readonly conditions: AnyOfAll<LineCondition>
  readonly thresholds: AnyOfAll<SumThreshold>
  /** As stored, for the event. */
  readonly stored: readonly (readonly ThresholdDocument[])[]
  /** Equal for rules with the same code that count the same. */
  readonly identity: string
}

/** A window: lines with `fromMs` <= `urt` < `toMs`. */
export interface FraudWindow {
  readonly fromMs: number
  readonly toMs: number
}

const MINUTE_MS = 60_000
const DURATIONS_MS: Readonly<Record<DurationDocument['type'], number>> = {
  minutely: MINUTE_MS,
  hourly: 60 * MINUTE_MS,
  daily: 24 * 60 * MINUTE_MS,
}

/** Longer numbers cannot be compared exactly with sums. */
const DIGITS_MAX = 30

/** After the end of a window, for lines that are still being recorded. */
export const RECORDING_MS = MINUTE_MS

/** Windows that ended earlier are not evaluated any more. */
const LATE_MS_MAX = 2 * DURATIONS_MS.daily

/** Null if the rule is not active. Throws `FieldError`; `at` is the path of the rule. */
export function compileFraudRule(document: FraudRuleDocument, at: string): FraudRule | null {
  if (document.active === false) return null
  const { recurrence, date_range: range, lines_overlap: linesOverlap = true } = document
  const recurrenceMs = durationMs(recurrence)
  const rangeMs = durationMs(range)
  if (rangeMs < recurrenceMs) {
    throw new FieldError(
      `${at}.date_range`,
      'must not be shorter than recurrence: lines between two windows would not be counted',
    )
  }
  const conditions = (document.conditions ?? []).map((all, outer) =>
    all.map((one, inner) => lineCondition(one, `${at}.conditions.${outer}.${inner}`)),
  )
  const { threshold_conditions: stored } = document
  const thresholds = stored.map((all, outer) => {
    const path = `${at}.threshold_conditions.${outer}`
    if (all.length === 0) throw new FieldError(path, 'must have at least 1 members')
    return all.map((one, inner) => threshold(one, `${path}.${inner}`))
  })
  const counted = { recurrenceMs, rangeMs, linesOverlap, conditions, thresholds }
  return {
    ...eventRuleOf(document),
    ...counted,
    // A list without members holds for each line.
    conditions: conditions.some((all) => all.length === 0) ? [] : conditions,
    stored,
    identity: JSON.stringify([document.event_code, counted]),
  }
}

function durationMs({ type, value }: DurationDocument): number {
  return DURATIONS_MS[type] * value
}

function lineCondition({ field, op, value }: LineConditionDocument, at: string): LineCondition {
  return { field: LINE_FIELDS[field], op, values: listOf(value, `${at}.value`) }
}

function threshold({ field, op, value, usaget }: ThresholdDocument, at: string): SumThreshold {
  const path = `${at}.value`
  const texts = listOf(value, path)
  const isList = op === 'in' || op === 'nin'
  const values = texts.map((text) => decimalText(text, path))
  if (!isList && values.length > 1) throw new FieldError(path, 'must be a number')
  const usagets = usaget === undefined ? null : listOf(usaget, `${at}.usaget`)
  return { field, usagets, op, values }
}

/** A list, or a text with commas between its members. */
function listOf(value: ListValue, path: string): string[] {
  const members = typeof value === 'string' ? value.split(',') : [value].flat()
  const texts = members.map((member) => String(member).trim())
  if (texts.length === 0) throw new FieldError(path, 'must have at least 1 members')
  if (texts.includes('')) throw new FieldError(path, 'must not have an empty member')
  return texts
}

function decimalText(text: string, path: string): string {
  const decimal = parseDecimal(text)
  if (decimal === null) throw new FieldError(path, 'must be a number, or several')
  if (String(decimal.digits).length > DIGITS_MAX) {
    throw new FieldError(path, `must not have more than ${DIGITS_MAX} digits`)
  }
  return `${decimal.digits}e-${decimal.scale}`
}

/**
 * The windows of a rule that are over and not evaluated, the earliest first: ends are multiples of
 * the recurrence since 1970. `lastMs`: the end of the last evaluated one; null: only the latest.
 */
export function windowsDue(
  { recurrenceMs, rangeMs }: Pick<FraudRule, 'recurrenceMs' | 'rangeMs'>,
  lastMs: number | null,
  nowMs: number,
): FraudWindow[] {
  const latestMs = floorTo(nowMs - RECORDING_MS, recurrenceMs)
  const nextMs = lastMs === null ? latestMs : lastMs + recurrenceMs
  const earliestMs = floorTo(latestMs - LATE_MS_MAX, recurrenceMs) + recurrenceMs
  const windows: FraudWindow[] = []
  // A recurrence may be longer than that.
  let toMs = Math.max(nextMs, Math.min(earliestMs, latestMs))
  for (; toMs <= latestMs; toMs += recurrenceMs) windows.push({ fromMs: toMs - rangeMs, toMs })
  return windows
}

/** When the next window is due, epoch ms. */
export function nextWindowMs(
  { recurrenceMs }: Pick<FraudRule, 'recurrenceMs'>,
  lastMs: number,
): number {
  return lastMs + recurrenceMs + RECORDING_MS
}

function floorTo(atMs: number, stepMs: number): number {
  return Math.floor(atMs / stepMs) * stepMs
}
