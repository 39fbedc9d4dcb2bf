/**
 * The document view of an invoice: amounts in whole units of the currency, such that the printed
 * lines add up to the total, and the amount to pay is that of the bill.
 */
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import { sumOf } from '../amount.ts'
import { currencyDigits } from '../currency.ts'
import type {
  InvoiceSettings,
  InvoiceSource,
  SourceLine,
  SourceTax,
  TaxTreatment,
  VatCategory,
} from './source.ts'

export interface InvoiceView {
  readonly source: InvoiceSource
  /** Decimals of lines, bases and taxes. */
  readonly digits: number
  /** In the order of the source. Amounts of a credit note have the opposite sign of the source. */
  readonly lines: readonly ViewLine[]
  readonly groups: readonly TaxGroup[]
  readonly totals: ViewTotals
}

export interface ViewLine {
  readonly source: SourceLine
  /** In units of the currency, before tax. */
  readonly amount: Exact
  /** As the source has it, with the sign of the document. */
  readonly exact: Exact
  readonly group: TaxGroup
}

/** Lines that are taxed alike. */
export interface TaxGroup {
  readonly id: string
  /** Taxes of the group; empty if its lines are not taxed. */
  readonly taxes: readonly GroupTax[]
  /**
   * Null for lines with several taxes, or another tax than VAT, and for those without tax if the
   * settings state no reason.
   */
  readonly vat: GroupVat | null
  /** Sum of the lines. */
  readonly base: Exact
  /** Sum of the taxes. */
  readonly tax: Exact
}

export interface GroupTax {
  readonly description: string
  readonly rate: Exact
  readonly amount: Exact
}

export interface GroupVat {
  readonly category: VatCategory
  readonly rate: Exact
  readonly reason: string
  readonly reasonCode: string
}

export interface ViewTotals {
  /** Sum of all lines, before tax. */
  readonly beforeTax: Exact
  readonly tax: Exact
  readonly afterTax: Exact
  /** Added to the total so that it is the amount of the bill (EN 16931: BT-114). */
  readonly rounding: Exact
  readonly payable: Exact
}

/** Whether a document asks for payment: one of a negative amount has no due date and no account. */
export function isToPay({ due }: InvoiceSource): boolean {
  return due.isZero() || !due.isNegative()
}

/**
 * `digits`: decimals of the document, if a format permits fewer than the currency has. Each group
 * of equally taxed lines is rounded half away from zero, and its lines by largest remainder.
 */
export function viewOf(source: InvoiceSource, digits?: number): InvoiceView {
  const { settings, kind } = source
  const sign = kind === 'credit_note' ? -1 : 1
  const unit = digits ?? currencyDigits(settings.currencyCode)
  const lines = new Array<ViewLine>(source.lines.length)
  const groups = groupLines(source.lines, settings).map(({ id, vat, taxes, members }) => {
    const exact = members.map(({ line }) => (sign === 1 ? line.amount : line.amount.times(sign)))
    const amounts = spreadRounding(exact, unit)
    const base = sumOf(amounts)
    const rows = taxes.map(({ description, rate }) => {
      return { description, rate, amount: roundedTo(base.times(rate), unit) }
    })
    const tax = sumOf(rows.map(({ amount }) => amount))
    const group: TaxGroup = { id, vat, taxes: rows, base, tax }
    for (const [index, { line, at }] of members.entries()) {
      const pair = { amount: amounts[index] ?? new Exact(0), exact: exact[index] ?? new Exact(0) }
      lines[at] = { source: line, group, ...pair }
    }
    return group
  })
  const payable = source.due.times(sign).plus(0)
  return { source, digits: unit, lines, groups, totals: totalsOf(groups, payable) }
}

function totalsOf(groups: readonly TaxGroup[], payable: Exact): ViewTotals {
  const beforeTax = sumOf(groups.map(({ base }) => base))
  const tax = sumOf(groups.map((group) => group.tax))
  const afterTax = beforeTax.plus(tax)
  return { beforeTax, tax, afterTax, rounding: payable.minus(afterTax), payable }
}

interface GroupedLines {
  readonly id: string
  readonly vat: GroupVat | null
  readonly taxes: readonly SourceTax[]
  readonly members: { readonly line: SourceLine; readonly at: number }[]
}

/** In the order in which they occur. Lines of one category and rate of VAT are one group. */
function groupLines(
  lines: readonly SourceLine[],
  settings: InvoiceSettings,
): readonly GroupedLines[] {
  const groups = new Map<string, GroupedLines>()
  for (const [at, line] of lines.entries()) {
    const { taxes } = line
    const vat = vatOf(taxes, settings)
    const id = vat === null ? taxesText(taxes) : `${vat.category} ${vat.rate.toFixed()}`
    const group = groups.get(id)
    if (group === undefined) groups.set(id, { id, vat, taxes, members: [{ line, at }] })
    else group.members.push({ line, at })
    if (group !== undefined && vat !== null) groups.set(id, withReason(group, vat))
  }
  return [...groups.values()]
}

function taxesText(taxes: readonly SourceTax[]): string {
  return taxes.map(({ key, rate }) => `${key} ${rate.toFixed()}`).join(' + ') || 'untaxed'
}

/** A document has one reason for each category. */
function withReason(group: GroupedLines, { reason, reasonCode }: GroupVat): GroupedLines {
  const { vat } = group
  if (vat === null || reason === '' || vat.reason.split('; ').includes(reason)) return group
  const reasons = vat.reason === '' ? reason : `${vat.reason}; ${reason}`
  const code = vat.reasonCode === reasonCode ? reasonCode : ''
  return { ...group, vat: { ...vat, reason: reasons, reasonCode: code } }
}

function vatOf(taxes: readonly SourceTax[], settings: InvoiceSettings): GroupVat | null {
  const [tax, ...others] = taxes
  if (tax === undefined) return settings.untaxed && groupVat(settings.untaxed)
  if (others.length > 0 || tax.type !== 'vat') return null
  if (!tax.rate.isZero()) return { category: 'S', rate: tax.rate, reason: '', reasonCode: '' }
  return groupVat(settings.taxes.get(tax.key) ?? ZERO_RATED)
}

const ZERO_RATED: TaxTreatment = { category: 'Z', reason: '', reasonCode: '' }

function groupVat({ category, reason, reasonCode }: TaxTreatment): GroupVat {
  return { category, rate: new Exact(0), reason, reasonCode }
}

/** Half away from zero. */
function roundedTo(amount: Exact, digits: number): Exact {
  const result = new Exact(amount).toDecimalPlaces(digits, Exact.ROUND_HALF_UP)
  return result.isZero() ? new Exact(0) : result
}

/**
 * Rounds amounts so that they add up to their rounded sum: each is rounded down, and those with the
 * largest remainders get one unit more, the earlier one if two are equal. None differs from its
 * exact amount by a whole unit.
 */
export function spreadRounding(amounts: readonly Exact[], digits: number): readonly Exact[] {
  const unit = new Exact(10).pow(-digits)
  const total = roundedTo(sumOf(amounts), digits)
  const floors = amounts.map((amount) => {
    if (amount.decimalPlaces() <= digits) return amount
    return amount.toDecimalPlaces(digits, Exact.ROUND_FLOOR)
  })
  const missing = total.minus(sumOf(floors)).div(unit).toNumber()
  const byRemainder = amounts
    .map((amount, index) => ({ index, remainder: amount.minus(floors[index] ?? 0) }))
    .filter(({ remainder }) => !remainder.isZero())
    .sort((a, b) => b.remainder.comparedTo(a.remainder) || a.index - b.index)
  const raised = new Set(byRemainder.slice(0, missing).map(({ index }) => index))
  return floors.map((floor, index) => {
    const amount = raised.has(index) ? floor.plus(unit) : floor
    return amount.isZero() ? new Exact(0) : amount
  })
}
