/**
 * Charges and discounts of the previous run for the cycle, from its stored lines. Lines that were
 * imported from another system lack some fields. Pure.
 */
import type { Decimal } from 'decimal.js'
import type { AdjustmentKind } from '../../catalog/compile/discount.ts'
import {
  dateAt,
  decimalOf,
  FieldError,
  type Fields,
  isObject,
  isUnset,
} from '../../domain/fields.ts'
import { Exact } from '../../rating/line-tax.ts'
import type { ChargeKind, CycleSpan, Span } from './lines.ts'
import { instanceId } from './timeline.ts'

/** A line of the previous run that was paid ahead. */
export interface WrittenLine {
  /** Identity of the charged instance, as of a wanted line. */
  readonly key: string
  readonly stamp: string
  readonly sid: number
  readonly span: Span
  /** Begin of the price tier; null if it is not known. */
  readonly tier: number | null
  /** Before tax. */
  readonly amount: Decimal
}

export interface WrittenCharge extends WrittenLine {
  readonly kind: ChargeKind
  readonly name: string
  readonly serviceId?: string
  readonly plan: string
  readonly fullPrice: Decimal
  readonly quantity: number
}

export interface WrittenAdjustment extends WrittenLine {
  readonly kind: AdjustmentKind
  /** Key of the discount or charge. */
  readonly name: string
  readonly description: string
  readonly type: 'percentage' | 'monetary'
  /** Key of the charge that it applied to; empty if it is not known. */
  readonly eligible: string
}

export interface WrittenLines {
  /** Keys of charges of longer periods that were paid ahead. */
  readonly longer: ReadonlySet<string>
  readonly charges: readonly WrittenCharge[]
  readonly adjustments: readonly WrittenAdjustment[]
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
export function writtenFor(lines: readonly Fields[], cycle: CycleSpan): WrittenLines {
  const longer = new Set<string>()
  const charges = lines.flatMap((line, index) => {
    const { type } = line
    const isCharge = type === 'flat' || type === 'service'
    if (!isCharge || line['is_upfront'] !== true || line['charge_op'] === 'refund') return []
    const found = read(index, () => chargeOf(line, type, cycle))
    if (isOf(line, found.span, cycle)) return [found]
    longer.add(found.key)
    return []
  })
  const byStamp = new Map(charges.map((charge) => [charge.stamp, charge]))
  const adjustments = lines.flatMap((line, index) => {
    const { type, usaget } = line
    if (type !== 'credit' || (usaget !== 'discount' && usaget !== 'conditional_charge')) return []
    const eligible = byStamp.get(String(line['eligible_line'] ?? ''))
    if (line['charge_op'] === 'refund') return []
    if (line['is_upfront'] !== true && eligible === undefined) return []
    const found = read(index, () => adjustmentOf(line, usaget, eligible, cycle))
    return isOf(line, found.span, cycle) ? [found] : []
  })
  return { charges, adjustments, longer }
}

function read<T>(index: number, of: () => T): T {
  try {
    return of()
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    throw new FieldError(`line ${index} of the previous run: ${error.path}`, error.reason)
  }
}

/** Whether a line is of this cycle alone; a longer period is not reconciled. */
function isOf(line: Fields, { startMs, endMs }: Span, cycle: CycleSpan): boolean {
  const key = line['charged_billrun']
  if (!isUnset(key)) return key === cycle.key
  return startMs >= cycle.startMs && endMs <= cycle.endMs
}

function chargeOf(line: Fields, kind: ChargeKind, cycle: CycleSpan): WrittenCharge {
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
    fullPrice: isUnset(price) ? amount : exactAt(price, 'full_price'),
    quantity: Number(line['usagev'] ?? 1),
  }
}

function adjustmentOf(
  line: Fields,
  kind: AdjustmentKind,
  charge: WrittenCharge | undefined,
  cycle: CycleSpan,
): WrittenAdjustment {
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
  }
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
    throw new FieldError(path, value === undefined ? 'is missing' : 'must be a number')
  }
  if (!/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(text)) throw new FieldError(path, 'must be a number')
  return new Exact(text)
}
