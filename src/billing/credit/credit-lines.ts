/** The lines of a credit: its amount, its installments, its taxes and cycles. Pure. */
import { Decimal } from 'decimal.js'
import type { CreditLineDocument, CreditPricing } from '../../catalog/records/usage/credit-line.ts'
import { pricingFields } from '../../catalog/records/usage/line-document.ts'
import type { RateRevision } from '../../domain/catalogue.ts'
import type { Line } from '../../domain/line.ts'
import { MICROS_PER_UNIT } from '../../domain/money.ts'
import type { TaxRule } from '../../domain/tax.ts'
import { Exact, finalChargeOf } from '../../rating/line-tax.ts'
import { chooseTaxes, type TaxContext } from '../../rating/price.ts'
import {
  type BillingCalendar,
  isInvoiceKey,
  keyAfter,
  keyAt,
  keyStartMs,
  lineKey,
} from '../cycle/cycle-key.ts'
import { adjustedTaxes, type TaxedLines } from './adjusted-taxes.ts'
import { CreditProcessError, CreditRefusal, type CreditRequest } from './credit-request.ts'

const SECOND_MS = 1000

/**
 * Parts of an amount in whole units of the currency with `digits` decimals, equal except for the
 * last, which has the remainder. Their sum is the amount.
 */
export function splitAmount(total: Decimal, parts: number, digits: number): Decimal[] {
  const part = total.div(parts).toDecimalPlaces(digits, Decimal.ROUND_DOWN)
  const last = total.minus(part.times(parts - 1))
  return [...Array.from({ length: parts - 1 }, () => part), last]
}

/** The time of an installment, and the cycle that was requested for it. */
interface InstallmentTime {
  readonly atMs: number
  readonly key: string | null
}

/**
 * The first installment has the time of the credit, each later one is a second after the start of
 * the next cycle. `firstKey`: the requested cycle of the first one; null for the cycle of its time.
 */
export function installmentTimes(
  creditMs: number,
  parts: number,
  firstKey: string | null,
  calendar: BillingCalendar,
): InstallmentTime[] {
  const first = firstKey ?? keyAt(creditMs, calendar)
  return Array.from({ length: parts }, (_, index) => {
    const key = keyAfter(first, index)
    return {
      atMs: index === 0 ? creditMs : keyStartMs(key, calendar) + SECOND_MS,
      key: firstKey === null ? null : key,
    }
  })
}

/** A usage in 10^-unitDigits of the unit of its rate. */
export interface PricedUsage {
  readonly line: Line
  readonly unitDigits: number
}

export interface CreditTerms {
  readonly rate: RateRevision
  /** Usage type of the rate. */
  readonly usaget: string
  /** The priced usage of a credit by usage; null of a credit by price. */
  readonly usage: PricedUsage | null
  readonly taxation: TaxContext
  /** Taxes of the invoices that a credit note adjusts; empty of other credits. */
  readonly adjusted: readonly TaxedLines[]
  readonly calendar: BillingCalendar
  readonly active: string
  /** Decimals of the smallest unit of the currency. */
  readonly currencyDigits: number
  readonly nowMs: number
  newStamp(): string
}

/** Throws `CreditProcessError`, and `CreditRefusal` if a line would belong to no cycle. */
export function creditLines(request: CreditRequest, terms: CreditTerms): CreditLineDocument[] {
  const { installments, atMs, billrunKey } = request
  const { calendar, currencyDigits } = terms
  const total = amountOf(request, terms)
  if (installments === null) {
    return [creditLine(request, terms, { atMs, key: billrunKey }, total)]
  }
  const amounts = splitAmount(total, installments, currencyDigits)
  const times = installmentTimes(atMs, installments, billrunKey, calendar)
  const lines = times.map((time, index) =>
    creditLine(request, terms, time, amounts[index] ?? new Exact(0)),
  )
  const [first] = lines
  return lines.map((line, index) => ({
    ...line,
    installments,
    installment_no: index + 1,
    first_installment: first?.stamp ?? '',
    invoice_label: request.label ?? '',
  }))
}

function amountOf({ aprice, usagev, isPerUnit }: CreditRequest, { usage }: CreditTerms) {
  if (aprice === null) return new Exact(usage?.line.counts.charged ?? 0).div(MICROS_PER_UNIT)
  return isPerUnit ? new Exact(aprice).times(usagev) : new Exact(aprice)
}

function creditLine(
  request: CreditRequest,
  terms: CreditTerms,
  { atMs, key }: InstallmentTime,
  amount: Decimal,
): CreditLineDocument {
  const { aid, sid, aprice, usagev, kind, label, uf, reason } = request
  const { rate, usaget, active, calendar, nowMs } = terms
  const billrun = key ?? lineKey(atMs, active, calendar)
  if (!isInvoiceKey(billrun))
    throw new CreditRefusal(`${billrun} is not a billing cycle`, { path: 'credit_time' })
  const chosen = aprice === null ? kind : aprice.isNegative() ? 'refund' : 'charge'
  return {
    stamp: terms.newStamp(),
    v: 1,
    type: 'credit',
    source: 'credit',
    usaget: chosen,
    aid,
    sid,
    ...(sid === 0 && { account_level: true as const }),
    rate: rate.key,
    arate_key: rate.key,
    usagev: aprice === null ? 1 : usagev.toNumber(),
    prepriced: aprice !== null,
    credit: {
      usagev: usagev.toNumber(),
      credit_by: 'rate',
      rate: rate.key,
      usaget,
      ...(aprice !== null && { aprice: unitPrice(request, amount).toNumber() }),
    },
    ...finalChargeOf(amount, taxesAt(terms, atMs), roundingOf(rate)),
    ...pricingOf(terms),
    ...(label !== null && { label }),
    ...(uf !== null && { uf }),
    ...(reason !== null && { reason }),
    urt: new Date(atMs),
    credit_time: Math.floor(atMs / 1000),
    process_time: new Date(nowMs),
    billrun,
    skip_calc: ['unify'],
  }
}

/** The given price; for an installment its part. */
function unitPrice({ aprice, installments }: CreditRequest, amount: Decimal): Decimal {
  return installments === null ? (aprice ?? amount) : amount
}

function taxesAt(
  { taxation, adjusted, rate, usage }: CreditTerms,
  atMs: number,
): readonly TaxRule[] {
  const taxes = usage === null ? chooseTaxes(taxation, rate, atMs) : usage.line.pricing.taxes
  if (adjusted.length > 0) return adjustedTaxes(adjusted, rate.key, taxes)
  if (taxes !== null) return taxes
  const at = new Date(atMs).toISOString()
  throw new CreditProcessError(`rate ${rate.key}: no tax is in force at ${at}`, { path: 'rate' })
}

/** The rounding of the final charge. */
export function roundingOf({ rounding }: Pick<RateRevision, 'rounding'>) {
  return rounding?.stage === 'after_tax' ? rounding : null
}

function pricingOf({ usage }: CreditTerms): Partial<CreditPricing> {
  if (usage === null) return {}
  const { price_of, band, rates, rating } = pricingFields(usage.line, usage.unitDigits)
  return { price_of, band, rates, rating }
}
