/** Cases of a file for the simulator, and its result as CSV. */
import type { DetailsOf } from '../../api/call-types.ts'

export type Comparison = Extract<DetailsOf<'api/quote'>, { readonly totals: unknown }>
export type ComparedCase = Comparison['cases'][number]

/** As many as the API prices in one call. */
export const CASES_MAX = 100

export interface CaseFile {
  readonly cases: readonly object[]
  /** Lines that are no cases, from 1. */
  readonly errors: readonly { readonly line: number; readonly why: string }[]
}

/** A case for each line that is not empty. */
export function parseCases(text: string): CaseFile {
  const cases: object[] = []
  const errors: { line: number; why: string }[] = []
  for (const [index, written] of text.split('\n').entries()) {
    if (written.trim() === '') continue
    const line = index + 1
    try {
      const value: unknown = JSON.parse(written)
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      if (isObject) cases.push({ name: `${line}`, ...value })
      else errors.push({ line, why: '' })
    } catch (error) {
      errors.push({ line, why: (error as Error).message })
    }
  }
  return { cases, errors }
}

const SIDES = ['before', 'after', 'difference'] as const
const MONEY = ['aprice', 'final_charge'] as const
const HEAD = [
  ...['case', 'sid', 'urt', 'usaget', 'usagev', 'rate', 'charged_aprice', 'charged_final_charge'],
  ...SIDES.flatMap((side) => MONEY.map((name) => `${side}_${name}`)),
  ...['before_granted', 'after_granted', 'before_desc', 'after_desc', 'changed', 'error'],
]

/** Figures as the API wrote them. */
export function csvOf(cases: readonly ComparedCase[]): string {
  const rows = cases.map((each) => {
    const { name, line, before, after, changed, error } = each
    return [
      ...[name, line?.sid, line?.urt, line?.usaget, line?.usagev, line?.arate_key],
      ...[line?.aprice, line?.final_charge],
      ...SIDES.flatMap((side) => MONEY.map((one) => each[side]?.[one])),
      ...[before?.granted, after?.granted, before?.desc, after?.desc, changed],
      error && `${error.field} ${error.why}`.trim(),
    ]
  })
  return `${[HEAD, ...rows].map((row) => row.map(csvCell).join(',')).join('\r\n')}\r\n`
}

/** A text that a spreadsheet would take for a formula begins with an apostrophe. */
function csvCell(value: unknown): string {
  const text = String(value ?? '')
  const isNumber = /^-?\d+(?:\.\d+)?$/.test(text)
  const safe = !isNumber && /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text
  return /^\s|[",;\t\r\n]|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
