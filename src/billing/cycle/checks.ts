/** Conditions that hold before an invoice is stored. Pure; throws `CycleError`. */
import type { Decimal } from 'decimal.js'
import { Exact } from '../../rating/line-tax.ts'
import type { MoneyFormat } from '../currency.ts'
import { dateText, dayOf } from './days.ts'
import { CycleError } from './input.ts'
import type { ChargeLine } from './lines.ts'
import { entityText } from './offer.ts'
import { chargeKey } from './written.ts'

/** Fractions of calendar months may exceed a cycle: 10 January to 9 February is 22/31 + 9/28. */
const MONTH_FRACTIONS_MAX = new Exact('1.1')
const ROUNDING = new Exact('0.000001')

/**
 * No two charges of one subscriber, kind, name and service id overlap, and none is above its full
 * price and quantity.
 */
export function checkCharges(
  aid: number,
  lines: readonly ChargeLine[],
  calendarMonthFractions: boolean,
  money: MoneyFormat,
): void {
  const byKey = new Map<string, ChargeLine[]>()
  const factor = calendarMonthFractions ? MONTH_FRACTIONS_MAX : new Exact(1)
  for (const line of lines) {
    const most = line.fullPrice.abs().times(line.quantity).times(factor).plus(ROUNDING)
    if (line.amount.abs().greaterThan(most)) {
      const full = `the full price ${money(line.fullPrice)} × ${line.quantity}`
      const reason = `the amount ${money(line.amount)} is above ${full}`
      throw new CycleError(aid, textOf(line), reason)
    }
    if (line.op === 'charge') {
      const key = chargeKey(line)
      byKey.set(key, [...(byKey.get(key) ?? []), line])
    }
  }
  for (const same of byKey.values()) checkOverlaps(aid, same)
}

function checkOverlaps(aid: number, lines: readonly ChargeLine[]): void {
  const ordered = [...lines].sort((one, other) => one.span.startMs - other.span.startMs)
  for (const [index, line] of ordered.entries()) {
    const next = ordered[index + 1]
    if (next === undefined || next.span.startMs >= line.span.endMs) continue
    const day = dateText(dayOf(line.cycle.zone, next.span.startMs))
    throw new CycleError(aid, textOf(line), `two charges contain ${day}`)
  }
}

function textOf(line: ChargeLine): string {
  return `subscriber ${line.sid}, ${entityText(line)}`
}

/** A total below zero needs a reason: a correction, a discount, or a refund. */
export function checkNegative(
  aid: number,
  total: Decimal,
  hasReason: boolean,
  money: MoneyFormat,
): void {
  if (!total.isNegative() || total.isZero() || hasReason) return
  throw new CycleError(
    aid,
    'invoice',
    `the total ${money(total)} is negative without a correction, discount or refund`,
  )
}
