/**
 * Due lines minus prior ones: the corrections of what a run paid ahead, and the changes that a
 * re-run or a preview would make. Pure.
 */
import type { Decimal } from 'decimal.js'
import type { CycleLineDocument, LineExplanation } from '../../catalog/records/money/cycle-line.ts'
import { Exact } from '../../rating/line-tax.ts'
import type { MoneyFormat } from '../currency.ts'
import { dateText, dayOf } from './days.ts'
import type { AdjustmentLine, ChargeLine, CycleSpan, Span } from './lines.ts'
import {
  adjustmentKey,
  chargeKey,
  type PriorAdjustment,
  type PriorCharge,
  type PriorLine,
} from './written.ts'

/** Below it an amount of money is no difference. */
const SMALLEST = new Exact('0.000001')

/** A line for comparison: what is charged, for when, in which tier, and how much. */
export type Comparable = Pick<PriorLine, 'key' | 'span' | 'tier' | 'amount'>

/** At least one of the two. */
export interface LineDifference<Due, Prior> {
  readonly due: Due | null
  readonly prior: Prior | null
  /** Due minus prior. */
  readonly amount: Decimal
}

/**
 * Pairs lines of one key: those of the same period and tier, then of the same tier, then any. Equal
 * pairs are left out unless `keepsEqual`.
 */
export function differences<Due extends Comparable, Prior extends Comparable>(
  due: readonly Due[],
  prior: readonly Prior[],
  keepsEqual = false,
): LineDifference<Due, Prior>[] {
  const partners = partnersOf(due, prior)
  const paired = new Set(partners.values())
  const left = prior.filter((line) => !paired.has(line))
  const pairs: LineDifference<Due, Prior>[] = [
    ...due.map((line) => pairOf(line, partners.get(line) ?? null)),
    ...left.map((line) => pairOf<Due, Prior>(null, line)),
  ]
  return pairs.filter(({ due: one, prior: other, amount }) => {
    const isEqual = amount.abs().lessThan(SMALLEST)
    return !isEqual || (keepsEqual && one !== null && other !== null)
  })
}

function partnersOf<Due extends Comparable, Prior extends Comparable>(
  due: readonly Due[],
  prior: readonly Prior[],
): Map<Due, Prior> {
  const left = new Set(prior)
  const partners = new Map<Due, Prior>()
  for (const isMatch of [isSamePeriod, isSameTier, isSameKey]) {
    for (const line of due) {
      if (partners.has(line)) continue
      const partner = [...left].find((other) => isMatch(line, other))
      if (partner === undefined) continue
      partners.set(line, partner)
      left.delete(partner)
    }
  }
  return partners
}

function pairOf<Due extends Comparable, Prior extends Comparable>(
  due: Due | null,
  prior: Prior | null,
): LineDifference<Due, Prior> {
  const amount = (due?.amount ?? new Exact(0)).minus(prior?.amount ?? 0)
  return { due, prior, amount }
}

function isSameKey(one: Comparable, other: Comparable): boolean {
  return one.key === other.key
}

function isSameTier(one: Comparable, other: Comparable): boolean {
  return isSameKey(one, other) && one.tier !== null && one.tier === other.tier
}

function isSamePeriod(one: Comparable, other: Comparable): boolean {
  const isSame = one.span.startMs === other.span.startMs && one.span.endMs === other.span.endMs
  return isSame && isSameTier(one, other)
}

/**
 * The changes that another run of a cycle would make: its lines against those that are stored for
 * the same key, as documents.
 */
export function changedLines(
  due: readonly CycleLineDocument[],
  stored: readonly CycleLineDocument[],
): LineDifference<Comparable, Comparable>[] {
  return differences(due.map(comparableOf), stored.map(comparableOf))
}

function comparableOf(line: CycleLineDocument): Comparable {
  const isCharge = line.type === 'flat' || line.type === 'service'
  const [start, end] =
    line.type === 'credit' ? [line.discount_start, line.discount_end] : [line.start, line.end]
  const name = nameOf(line)
  const { sid, usaget, charged_billrun: key, charge_op: op } = line
  return {
    key: [sid, usaget, name, key, op].join('/'),
    span: { startMs: start.getTime(), endMs: end.getTime() },
    tier: isCharge ? (line.cycle?.from ?? null) : null,
    amount: new Exact(line.charge_amount),
  }
}

function nameOf(line: CycleLineDocument): string {
  if (line.type === 'credit') return line.key
  const id = line.type === 'usage' ? line.late_of : line.service_id
  return `${line.name}/${id ?? ''}`
}

interface ComparableCharge extends Comparable {
  readonly line: ChargeLine
}

function comparableCharge(line: ChargeLine): ComparableCharge {
  const { span, tier, amount } = line
  return { key: pairKey(line), span, tier: tier?.from ?? null, amount, line }
}

function pairKey(line: ChargeLine): string {
  return line.isApart === undefined ? chargeKey(line) : `${chargeKey(line)}/${line.isApart}`
}

/** The prior charges that due ones are compared with. */
export function priorPartners(
  due: readonly ChargeLine[],
  prior: readonly PriorCharge[],
): Map<ChargeLine, PriorCharge> {
  const partners = partnersOf(due.map(comparableCharge), prior)
  return new Map([...partners].map(([{ line }, charge]) => [line, charge]))
}

export interface ChargeCorrections {
  readonly aid: number
  /** The cycle that was paid ahead. */
  readonly cycle: CycleSpan
  readonly keepsZero: boolean
  readonly money: MoneyFormat
  /** The fields of a written charge's plan or service that its taxes come from. */
  entityOf(prior: PriorCharge): Readonly<Record<string, unknown>>
}

/** The charges that correct a cycle that was paid ahead. */
export function correctedCharges(
  due: readonly ChargeLine[],
  prior: readonly PriorCharge[],
  corrections: ChargeCorrections,
): ChargeLine[] {
  const lines = due.map(comparableCharge)
  return differences(lines, prior, corrections.keepsZero).map((difference) => {
    const { due: own, prior: old, amount } = difference
    // One that was never charged is an ordinary charge, only late.
    if (old === null && own !== null) return missedOf(own.line)
    const { cycle, money } = corrections
    const { stamp } = old as PriorCharge
    const base = own?.line ?? creditedCharge(old as PriorCharge, corrections)
    const span = correctedSpan(own?.span ?? null, (old as PriorCharge).span)
    return {
      ...base,
      id: `difference/${base.id}`,
      op: 'refund' as const,
      isUpfront: false,
      span,
      amount,
      ...(stamp !== '' && { corrects: stamp }),
      explain: correctionOf(base.explain, difference, span, { cycle, money }),
    }
  })
}

function missedOf(line: ChargeLine): ChargeLine {
  const note =
    line.isApart === 'charged again'
      ? 'charged again with the taxes at the end of the supply'
      : 'the previous run did not charge it'
  const notes = [...(line.explain.notes ?? []), note]
  return { ...line, explain: { ...line.explain, notes } }
}

/** A charge that the previous run wrote, as a line. */
export function creditedCharge(
  prior: PriorCharge,
  { aid, cycle, entityOf }: ChargeCorrections,
): ChargeLine {
  const { key, sid, kind, name, serviceId, plan, span, amount, fullPrice, quantity } = prior
  const { taxes, rounding } = prior
  return {
    id: `written/${key}/${prior.tier ?? ''}/${span.startMs}`,
    aid,
    sid,
    kind,
    name,
    ...(serviceId !== undefined && { serviceId }),
    plan,
    op: 'charge',
    isUpfront: true,
    span,
    cycle,
    quantity,
    fullPrice,
    amount,
    ...(taxes !== null && { taxes }),
    ...(rounding !== undefined && { rounding }),
    isProratedStart: true,
    isProratedEnd: true,
    entity: entityOf(prior),
    explain: {
      rule: 'charge of the previous run',
      entity: { kind: kind === 'flat' ? 'plan' : 'service', key: name },
      ...datesOf(span, cycle),
    },
  }
}

export interface AdjustmentCorrections {
  readonly aid: number
  readonly cycle: CycleSpan
  readonly keepsZero: boolean
  readonly money: MoneyFormat
  /** Charges that adjustments apply to, by id: due ones, and prior ones as lines. */
  readonly charges: ReadonlyMap<string, ChargeLine>
}

/** The discounts and conditional charges that correct those of a cycle that was paid ahead. */
export function correctedAdjustments(
  due: readonly AdjustmentLine[],
  prior: readonly PriorAdjustment[],
  { aid, cycle, keepsZero, money, charges }: AdjustmentCorrections,
): AdjustmentLine[] {
  const lines = due.map((line) => {
    const charge = line.eligibleLine === null ? undefined : charges.get(line.eligibleLine)
    const eligible = charge === undefined ? '' : pairKey(charge)
    const key = adjustmentKey({ sid: line.sid, kind: line.kind, name: line.key }, eligible)
    return { key, span: line.span, tier: null, amount: line.amount, line }
  })
  return differences(lines, prior, keepsZero).map((difference) => {
    const { due: own, prior: old, amount } = difference
    if (old === null && own !== null) return own.line
    const { stamp, taxes, rounding } = old as PriorAdjustment
    const base = own?.line ?? creditedAdjustment(aid, old as PriorAdjustment, charges, cycle)
    const span = correctedSpan(own?.span ?? null, (old as PriorAdjustment).span)
    return {
      ...base,
      id: `difference/${base.id}`,
      isUpfront: false,
      span,
      amount,
      ...(stamp !== '' && { corrects: stamp }),
      ...(taxes !== null && { taxes }),
      ...(rounding !== undefined && { rounding }),
      explain: correctionOf(base.explain, difference, span, { cycle, money }),
    }
  })
}

function creditedAdjustment(
  aid: number,
  { key, sid, kind, name, description, type, eligible, span, amount }: PriorAdjustment,
  charges: ReadonlyMap<string, ChargeLine>,
  cycle: CycleSpan,
): AdjustmentLine {
  const charge = [...charges.values()].find((line) => pairKey(line) === eligible)
  return {
    id: `written/${key}`,
    aid,
    sid,
    kind,
    key: name,
    description,
    eligibleLine: charge?.id ?? null,
    type,
    span,
    cycle,
    isUpfront: true,
    amount,
    entity: { key: name, description },
    explain: {
      rule: 'discount of the previous run',
      entity: { kind, key: name },
      ...datesOf(span, cycle),
    },
  }
}

function correctionOf(
  base: LineExplanation,
  { due, prior, amount }: LineDifference<Comparable, Comparable>,
  span: Span,
  { cycle, money }: Pick<ChargeCorrections, 'cycle' | 'money'>,
): LineExplanation {
  const { entity, fullPrice } = base
  const rule = due === null ? 'credit of the previous run' : 'difference to the previous run'
  const notes = [
    ...(due === null ? [] : [`wanted ${textOf(due, cycle, money)}`]),
    ...(prior === null ? [] : [`the previous run charged ${textOf(prior, cycle, money)}`]),
    `difference ${money(amount.toDecimalPlaces(12))}`,
  ]
  return {
    rule,
    entity,
    ...datesOf(span, cycle),
    ...(fullPrice !== undefined && { fullPrice }),
    notes,
  }
}

function textOf({ amount, span }: Comparable, cycle: CycleSpan, money: MoneyFormat): string {
  const { from, to } = datesOf(span, cycle)
  return `${money(amount.toDecimalPlaces(12))} for ${from} to ${to}`
}

function datesOf({ startMs, endMs }: Span, { zone }: CycleSpan) {
  return { from: dateText(dayOf(zone, startMs)), to: dateText(dayOf(zone, endMs)) }
}

/** The days that were charged too much, otherwise too little; equal periods as a whole. */
function correctedSpan(due: Span | null, prior: Span): Span {
  if (due === null) return prior
  return outside(prior, due) ?? outside(due, prior) ?? due
}

/** The first part of a period that is not in another one. */
function outside({ startMs, endMs }: Span, other: Span): Span | null {
  if (startMs < other.startMs) return { startMs, endMs: Math.min(endMs, other.startMs) }
  if (endMs > other.endMs) return { startMs: Math.max(startMs, other.endMs), endMs }
  return null
}
