/** Due dates of invoices, by the rules of the settings. Pure. */
import type { InvoiceDocument } from '../../catalog/records/money/invoice-document.ts'
import type {
  BillrunCondition,
  BillrunDateRule,
  BillrunSettings,
  DateAnchor,
} from '../../catalog/settings/money/billrun-settings.ts'
import { relativeTimeOf } from '../../catalog/settings/money/billrun-settings.ts'
import { isObject } from '../../domain/fields.ts'
import { daysIn, instantOf, localTime } from '../../domain/time.ts'

type Invoice = Pick<InvoiceDocument, 'invoice_date' | 'end_date'>

export interface DueDates {
  readonly dueDate: Date
  /** Earliest date of collection. */
  readonly notBefore: Date
}

/** `confirmed`: time of the confirmation, or of the run before it. */
export function dueDatesOf(
  invoice: Invoice,
  confirmed: Date,
  { due_date: rules, due_date_interval: interval, not_before: notBeforeRules }: BillrunSettings,
  zone: string,
): DueDates {
  const at = (anchor: DateAnchor): Date => (anchor === 'confirm_date' ? confirmed : invoice[anchor])
  const first = (list: readonly BillrunDateRule[]): Date | null => {
    const rule = list.find((each) => isMet(each, invoice))
    return rule === undefined ? null : later(at(rule.anchor_field), rule.relative_time, zone)
  }
  const dueDate = first(rules) ?? later(invoice.invoice_date, interval, zone)
  return { dueDate, notBefore: first(notBeforeRules) ?? dueDate }
}

function isMet({ conditions = [], invoice_type: types }: BillrunDateRule, invoice: Invoice) {
  const type = valueAt(invoice, 'attributes.invoice_type') ?? 'regular'
  if (types !== undefined && !types.includes(String(type))) return false
  return conditions.every((condition) => holds(condition, invoice))
}

function holds({ field, op, value }: BillrunCondition, invoice: Invoice): boolean {
  const found = valueAt(invoice, field)
  switch (op) {
    case 'eq':
      return found === value
    case 'ne':
      return found !== value
    case 'in':
      return Array.isArray(value) && value.includes(found)
    case 'nin':
      return Array.isArray(value) && !value.includes(found)
    case 'exists':
      return (found !== undefined) === (value !== false)
    default:
      return isOrdered(op, found, value)
  }
}

function isOrdered(op: 'gt' | 'gte' | 'lt' | 'lte', found: unknown, value: unknown): boolean {
  const [a, b] = [Number(found), Number(value)]
  if (found === undefined || Number.isNaN(a) || Number.isNaN(b)) return false
  if (op === 'gt') return a > b
  if (op === 'gte') return a >= b
  return op === 'lt' ? a < b : a <= b
}

function valueAt(invoice: Invoice, path: string): unknown {
  let value: unknown = invoice
  for (const step of path.split('.')) value = isObject(value) ? value[step] : undefined
  return value
}

/** By the calendar of the installation; the last day of a shorter month in place of a later one. */
function later(from: Date, text: string, zone: string): Date {
  const { count, unit } = relativeTimeOf(text)
  const local = localTime(zone, from.getTime())
  const ms = from.getTime() % 1000
  if (unit === 'month') {
    const index = local.year * 12 + local.month - 1 + count
    const [year, month] = [Math.floor(index / 12), (index % 12) + 1]
    const day = Math.min(local.day, daysIn(year, month))
    return new Date(instantOf(zone, { ...local, year, month, day }) + ms)
  }
  const days = unit === 'week' ? 7 * count : count
  const date = new Date(Date.UTC(local.year, local.month - 1, local.day + days))
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
  return new Date(instantOf(zone, { ...local, year, month, day }) + ms)
}
