/**
 * Days that were not paid ahead are a new supply. A due charge for such days and for days already
 * written is split there if their taxes differ, with the discounts on it. Pure.
 */
import { Exact } from '../../catalog/records/money/exact-amount.ts'
import { dateText, dayOf } from './days.ts'
import type { AccountCycle } from './input.ts'
import { type AdjustmentLine, type ChargeLine, LINE_DIGITS, type Span } from './lines.ts'
import { sameRates, taxationAt, taxesInForce } from './tax.ts'
import { chargeKey, type PriorCharge } from './written.ts'

type Input = Pick<AccountCycle, 'catalogue' | 'cycle'>

/** By id of the charges that are cut. */
export type SupplyParts = ReadonlyMap<string, readonly ChargeLine[]>

/** `due`: with the taxes of the prior charges. */
export function supplyParts(
  input: Input,
  due: readonly ChargeLine[],
  prior: readonly PriorCharge[],
): SupplyParts {
  const all = due.map((line) => [line.id, partsOf(input, line, prior)] as const)
  return new Map(all.filter(([, parts]) => parts.some(({ taxes }) => taxes !== undefined)))
}

function partsOf(
  input: Input,
  line: ChargeLine,
  prior: readonly PriorCharge[],
): readonly ChargeLine[] {
  const { taxes } = line
  if (taxes === undefined || line.isApart !== undefined) return []
  const pieces = piecesOf(line, prior)
  const parts = amountsOf(line, pieces).map((amount, index) => {
    const { span, charge } = pieces[index] as Piece
    if (charge === null) return extensionOf(input, line, span, amount)
    const { taxes: own, rounding } = charge
    const kept = partOf(line, span, amount)
    return { ...kept, taxes: own ?? taxes, ...(rounding !== undefined && { rounding }) }
  })
  return parts.every((part) => part.taxes !== undefined && sameRates(part.taxes, taxes))
    ? []
    : parts
}

/** Advance payments have the taxes at the payment. */
function extensionOf(
  { catalogue, cycle }: Input,
  line: ChargeLine,
  span: Span,
  amount: Exact,
): ChargeLine {
  const { taxes: _, rounding: __, ...own } = partOf(line, span, amount)
  const taxation = taxationAt(catalogue.taxation, Math.min(span.endMs, cycle.endMs))
  const taxes = taxesInForce(line, taxation)
  return { ...own, isApart: 'extension', ...(taxes !== null && { taxes }) }
}

function partOf(line: ChargeLine, span: Span, amount: Exact): ChargeLine {
  const { zone } = line.cycle
  const [from, to] = [span.startMs, span.endMs].map((atMs) => dateText(dayOf(zone, atMs))) as [
    string,
    string,
  ]
  const { factor: _, ...explain } = line.explain
  return { ...line, id: `${line.id}/${from}`, span, amount, explain: { ...explain, from, to } }
}

interface Piece {
  readonly span: Span
  /** The written charge of these days; null of further days. */
  readonly charge: PriorCharge | null
}

function piecesOf({ span, ...line }: ChargeLine, prior: readonly PriorCharge[]): Piece[] {
  const key = chargeKey(line)
  const charges = prior
    .filter((one) => one.key === key && one.span.endMs > span.startMs)
    .sort((one, other) => one.span.startMs - other.span.startMs)
  const pieces: Piece[] = []
  let startMs = span.startMs
  const add = (toMs: number, charge: PriorCharge | null) => {
    const endMs = Math.min(toMs, span.endMs)
    if (endMs <= startMs) return
    pieces.push({ span: { startMs, endMs }, charge })
    startMs = endMs
  }
  for (const charge of charges) {
    add(charge.span.startMs, null)
    add(charge.span.endMs, charge)
  }
  add(span.endMs, null)
  return pieces
}

/** Written days at the same price keep their amount; days share the rest. */
function amountsOf(line: ChargeLine, pieces: readonly Piece[]): Exact[] {
  const kept = pieces.map(({ span, charge }) => {
    const isKept =
      charge?.fullPrice.equals(line.fullPrice) === true &&
      charge.quantity === line.quantity &&
      daysIn(charge.span, line) === daysIn(span, line)
    return isKept ? new Exact(charge.amount) : null
  })
  const isAllKept = !kept.includes(null)
  const rest = kept.reduce<Exact>((left, one) => left.minus(one ?? 0), new Exact(line.amount))
  const weights = pieces.map(
    ({ span }, index) => new Exact(isAllKept || kept[index] === null ? daysIn(span, line) : 0),
  )
  const shares = shared(rest, weights)
  return shares.map((share, index) => share.plus(kept[index] ?? 0))
}

function daysIn({ startMs, endMs }: Span, { cycle: { zone } }: Pick<ChargeLine, 'cycle'>): number {
  return dayOf(zone, endMs) - dayOf(zone, startMs)
}

/** Parts of an amount in proportion; the last one that has a weight takes the remainder. */
function shared(amount: Exact, weights: readonly Exact[]): Exact[] {
  const last = weights.findLastIndex((weight) => !weight.isZero())
  const total = weights.reduce((sum, weight) => sum.plus(weight), new Exact(0))
  let left = amount
  return weights.map((weight, index) => {
    const part = amount.times(weight).div(total).toDecimalPlaces(LINE_DIGITS)
    const share = index === last ? left : part
    left = left.minus(share)
    return share
  })
}

/** The discounts and conditional charges on the parts, by amount and common days. */
export function adjustmentParts(
  parts: SupplyParts,
  adjustments: readonly AdjustmentLine[],
): AdjustmentLine[] {
  return adjustments.flatMap((line) => {
    const charges = parts.get(line.eligibleLine ?? '')
    if (charges === undefined) return [line]
    const common = charges.map(({ span }) => ({
      startMs: Math.max(span.startMs, line.span.startMs),
      endMs: Math.min(span.endMs, line.span.endMs),
    }))
    const weights = charges.map((charge, index) => {
      const days = Math.max(0, daysIn(common[index] as Span, charge))
      return charge.amount.times(days).div(daysIn(charge.span, charge))
    })
    if (weights.every((weight) => weight.isZero())) return [line]
    return shared(line.amount, weights).flatMap((amount, index) => {
      const { id, explain } = charges[index] as ChargeLine
      const { from, to } = explain
      const span = common[index] as Span
      if (amount.isZero()) return []
      return [
        {
          ...line,
          id: `${line.id}/${from}`,
          eligibleLine: id,
          span,
          amount,
          explain: { ...line.explain, from, to },
        },
      ]
    })
  })
}
