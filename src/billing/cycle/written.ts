/**
 * Charges and discounts of the previous run for the cycle, from its stored lines. Lines that were
 * imported from another system lack some fields. Pure.
 */
import type { Decimal } from 'decimal.js'
import type { AdjustmentKind } from '../../catalog/compile/discount.ts'
import { roundingAt } from '../../catalog/compile/rounding.ts'
import type { RoundingRules } from '../../domain/catalogue.ts'
import {
  dateAt,
  decimalOf,
  FieldError,
  type Fields,
  isObject,
  isUnset,
} from '../../domain/fields.ts'
import type { LineTax, TaxRule } from '../../domain/tax.ts'
import { Exact, rulesOfTaxes } from '../../rating/line-tax.ts'
import { addGrant, type Grants, type GrantsByKey, grantKey } from './discount/limits.ts'
import type { ChargeKind, CycleSpan, Span } from './lines.ts'
import { instanceId } from './timeline.ts'

/** A line of the previous run that was paid ahead. */
export interface PriorLine {
  /** Identity of the charged instance, as of a due line. */
  readonly key: string
  readonly stamp: string
  readonly sid: number
  readonly span: Span
  /** Begin of the price tier; null if it is not known. */
  readonly tier: number | null
  /** Before tax. */
  readonly amount: Decimal
  /** Null if they are not known. */
  readonly taxes: readonly TaxRule[] | null
  /** Null if it was not rounded; absent if the rules are not known. */
  readonly rounding?: RoundingRules | null
}

export interface PriorCharge extends PriorLine {
  readonly kind: ChargeKind
  readonly name: string
  readonly serviceId?: string
  readonly plan: string
  readonly fullPrice: Decimal
  readonly quantity: number
}

export interface PriorAdjustment extends PriorLine {
  readonly kind: AdjustmentKind
  /** Key of the discount or charge. */
  readonly name: string
  readonly description: string
  readonly type: 'percentage' | 'monetary'
  /** Key of the charge that it applied to; empty if it is not known. */
  readonly eligible: string
}

export interface PriorLines {
  readonly charges: readonly PriorCharge[]
  readonly adjustments: readonly PriorAdjustment[]
}

export interface PriorCycle extends PriorLines {
  /** Other discounts and conditional charges that the run granted. */
  readonly otherGrants: GrantsByKey
}

export function chargeKey(of: {
  sid: number
  kind: ChargeKind
  name: string
  serviceId?: string | undefined
}): string {
  return `${of.sid}/${instanceId(of)}`
}

/** `eligible`: key of the charge. */
export function adjustmentKey(
  of: { sid: number; kind: AdjustmentKind; name: string },
  eligible: string,
): string {
  return `${of.sid}/${of.kind}/${of.name}/${eligible}`
}

/** The lines of the previous run that were paid ahead for the cycle. Throws `FieldError`. */
export function priorLinesFor(lines: readonly Fields[], cycle: CycleSpan): PriorCycle {
  const charges = lines.flatMap((line, index) => {
    const { type } = line
    if (!isCharge(type) || line['is_upfront'] !== true || isCorrection(line)) return []
    const found = read(index, () => chargeOf(line, type, cycle))
    return isOf(line, found.span, cycle) ? [found] : []
  })
  const byStamp = new Map(charges.map((charge) => [charge.stamp, charge]))
  const otherGrants = new Map<string, Grants>()
  const adjustments = lines.flatMap((line, index) => {
    const { type, usaget } = line
    if (type !== 'credit' || !isAdjustment(usaget)) return []
    const eligible = byStamp.get(String(line['eligible_line'] ?? ''))
    const found = read(index, () => adjustmentOf(line, usaget, eligible, cycle))
    const isAhead = line['is_upfront'] === true || eligible !== undefined
    if (isAhead && !isCorrection(line) && isOf(line, found.span, cycle)) return [found]
    const granted = grantedBy(found)
    if (granted.greaterThan(0)) addGrant(otherGrants, grantKey(usaget, found.name), granted)
    return []
  })
  return { charges, adjustments, otherGrants }
}

function isCharge(type: unknown): type is ChargeKind {
  return type === 'flat' || type === 'service'
}

function isAdjustment(usaget: unknown): usaget is AdjustmentKind {
  return usaget === 'discount' || usaget === 'conditional_charge'
}

function isCorrection(line: Fields): boolean {
  return line['charge_op'] === 'refund'
}

/** Below 0 if it was taken back. */
export function grantedBy({ kind, amount }: PriorAdjustment): Decimal {
  return kind === 'discount' ? amount.negated() : amount
}

function read<T>(index: number, of: () => T): T {
  try {
    return of()
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    throw new FieldError(
      `line ${index} of the previous run: ${error.path}`,
      error.reason,
      error.code,
    )
  }
}

/** Whether a line is of this cycle alone. */
function isOf(line: Fields, { startMs, endMs }: Span, cycle: CycleSpan): boolean {
  const key = line['charged_billrun']
  if (!isUnset(key)) return key === cycle.key
  return startMs >= cycle.startMs && endMs <= cycle.endMs
}

function chargeOf(line: Fields, kind: ChargeKind, cycle: CycleSpan): PriorCharge {
  const { service_id: id, plan } = line
  const name = String(line['name'] ?? plan ?? '')
  const sid = Number(line['sid'] ?? 0)
  const serviceId = isUnset(id) ? undefined : String(id)
  const amount = amountOf(line)
  const price = line['full_price']
  return {
    key: chargeKey({ sid, kind, name, serviceId }),
    stamp: String(line['stamp'] ?? ''),
    sid,
    kind,
    name,
    ...(serviceId !== undefined && { serviceId }),
    plan: String(plan ?? ''),
    span: spanOf(line, 'start', 'end', cycle),
    tier: tierOf(line['cycle']),
    amount,
    ...taxationOf(line),
    fullPrice: isUnset(price) ? amount : exactAt(price, 'full_price'),
    quantity: Number(line['usagev'] ?? 1),
  }
}

function adjustmentOf(
  line: Fields,
  kind: AdjustmentKind,
  charge: PriorCharge | undefined,
  cycle: CycleSpan,
): PriorAdjustment {
  const sid = Number(line['sid'] ?? 0)
  const name = String(line['key'] ?? line['arate_key'] ?? line['name'] ?? '')
  const eligible = charge?.key ?? ''
  return {
    key: adjustmentKey({ sid, kind, name }, eligible),
    stamp: String(line['stamp'] ?? ''),
    sid,
    kind,
    name,
    description: String(line['description'] ?? line['name'] ?? name),
    type: line['discount_type'] === 'monetary' ? 'monetary' : 'percentage',
    eligible,
    span: spanOf(line, 'discount_start', 'discount_end', cycle),
    tier: null,
    amount: amountOf(line),
    ...taxationOf(line),
  }
}

function taxationOf(line: Fields): Pick<PriorLine, 'taxes' | 'rounding'> {
  const { tax_data: data, rounding_rules: rules, before_rounding: unrounded } = line
  const list = isObject(data) ? data['taxes'] : undefined
  const taxes = Array.isArray(list) ? rulesOfTaxes(list as LineTax[]) : null
  // Lines of other systems, and older ones, have no rules.
  const isKnown = !isUnset(rules) || (line['imported'] !== true && isUnset(unrounded))
  return { taxes, ...(isKnown && { rounding: roundingAt(rules, 'rounding_rules') }) }
}

/** A missing side is the one of the cycle. */
function spanOf(line: Fields, start: string, end: string, cycle: CycleSpan): Span {
  return {
    startMs: dateAt(line[start], start) ?? cycle.startMs,
    endMs: dateAt(line[end], end) ?? cycle.endMs,
  }
}

/** In the lines of other systems `cycle` is the begin of the tier itself. */
function tierOf(value: unknown): number | null {
  const from = isObject(value) ? value['from'] : value
  return isUnset(from) ? null : Number(from)
}

function amountOf(line: Fields): Decimal {
  const { exact, aprice, charge_amount: charge } = line
  if (!isUnset(charge)) return exactAt(charge, 'charge_amount')
  const text = isObject(exact) ? exact['aprice'] : undefined
  return isUnset(text) ? exactAt(aprice, 'aprice') : exactAt(text, 'exact.aprice')
}

function exactAt(value: unknown, path: string): Decimal {
  const text = String(value)
  if (typeof value !== 'string' && decimalOf(value) === null) {
    if (value === undefined) throw new FieldError(path, 'is missing', 'missing')
    throw new FieldError(path, 'must be a number')
  }
  if (!/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text)) throw new FieldError(path, 'must be a number')
  return new Exact(text)
}

interface PeriodLine<Line> {
  readonly line: Line
  /** Key of the period; null if it is not known. */
  readonly key: string | null
  /** Stamp of the line that it corrects; null of a charge, empty if it is not known. */
  readonly corrects: string | null
}

/** Lines that earlier runs wrote for periods that are longer than a cycle. */
export class PriorPeriods {
  readonly #charges: readonly PeriodLine<PriorCharge>[]
  readonly #adjustments: readonly PeriodLine<PriorAdjustment>[]

  /** Throws `FieldError`. */
  constructor(lines: readonly Fields[], cycle: CycleSpan) {
    this.#charges = lines.flatMap((line, index) => {
      const { type } = line
      if (!isCharge(type)) return []
      return [
        periodLine(
          line,
          read(index, () => chargeOf(line, type, cycle)),
        ),
      ]
    })
    const byStamp = new Map(this.#charges.map(({ line }) => [line.stamp, line]))
    this.#adjustments = lines.flatMap((line, index) => {
      const { type, usaget } = line
      if (type !== 'credit' || !isAdjustment(usaget)) return []
      const eligible = byStamp.get(String(line['eligible_line'] ?? ''))
      return [
        periodLine(
          line,
          read(index, () => adjustmentOf(line, usaget, eligible, cycle)),
        ),
      ]
    })
  }

  /** Lines of a plan or service instance in a period, with their later corrections. */
  of(key: string, period: CycleSpan): PriorLines {
    const isOfPeriod = ({ key: own, line: { span } }: PeriodLine<PriorLine>) =>
      own === null
        ? span.startMs >= period.startMs && span.endMs <= period.endMs
        : own === period.key
    const ofKey = this.#charges.filter((one) => one.line.key === key && isOfPeriod(one))
    const adjustments = this.#adjustments.filter((one) => one.line.eligible === key)
    return { charges: asCorrected(ofKey), adjustments: asCorrected(adjustments.filter(isOfPeriod)) }
  }

  /** One charge of each plan or service instance and period. */
  all(): { readonly charge: PriorCharge; readonly key: string }[] {
    const found = this.#charges.flatMap(({ line, key, corrects }) =>
      key === null || corrects !== null ? [] : [{ charge: line, key }],
    )
    return [...new Map(found.map((one) => [`${one.charge.key}/${one.key}`, one])).values()]
  }
}

function periodLine<Line>(line: Fields, read: Line): PeriodLine<Line> {
  const { charged_billrun: key, corrects } = line
  return {
    line: read,
    key: isUnset(key) ? null : String(key),
    corrects: isCorrection(line) ? String(corrects ?? '') : null,
  }
}

/** Leaves out corrections, which change the lines that they correct. */
function asCorrected<Line extends PriorLine>(lines: readonly PeriodLine<Line>[]): Line[] {
  const charged = lines.filter(({ corrects }) => corrects === null).map(({ line }) => line)
  for (const { line, corrects } of lines) {
    if (corrects === null) continue
    const index = charged.findIndex(({ key, stamp }) => key === line.key && stamp === corrects)
    const at = index < 0 ? charged.findIndex(({ key }) => key === line.key) : index
    const old = charged[at]
    if (old === undefined) charged.push(line)
    else charged[at] = { ...old, ...corrected(old, line) }
  }
  // A line that was replaced and has no amount left is dropped.
  return charged.filter(
    ({ amount, key }) =>
      !amount.isZero() || charged.every((other) => other.key !== key || other.amount.isZero()),
  )
}

function corrected({ span, amount }: PriorLine, by: PriorLine): Pick<PriorLine, 'span' | 'amount'> {
  const isTakenBack = by.amount.isNegative() !== amount.isNegative()
  return {
    span: isTakenBack ? withoutSpan(span, by.span) : withSpan(span, by.span),
    amount: amount.plus(by.amount),
  }
}

/** The whole span if nothing would be left. */
function withoutSpan({ startMs, endMs }: Span, { startMs: fromMs, endMs: toMs }: Span): Span {
  if (fromMs > startMs && toMs >= endMs) return { startMs, endMs: Math.min(endMs, fromMs) }
  if (fromMs <= startMs && toMs < endMs) return { startMs: Math.max(startMs, toMs), endMs }
  return { startMs, endMs }
}

function withSpan(one: Span, other: Span): Span {
  return {
    startMs: Math.min(one.startMs, other.startMs),
    endMs: Math.max(one.endMs, other.endMs),
  }
}
