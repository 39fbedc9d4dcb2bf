/**
 * The document of a session segment that the recorder stores, and the pure mapping from its line.
 */
import { parseGroupCounter } from '../../../domain/counters.ts'
import { explain, type RatingStep } from '../../../domain/explain.ts'
import type { Line } from '../../../domain/line.ts'
import { groupUnits } from '../../../domain/lines.ts'
import type { Payment } from '../../../domain/segment-parts.ts'
import { identifierValue } from '../../../domain/session-services.ts'
import type { FinalCharge } from '../../../domain/tax.ts'
import { finalCharge } from '../../../rating/line-tax.ts'
import { moneyOf, type Total, totalOf } from './money-value.ts'

/** The share of a line that one bucket or counter paid. */
export interface PaymentDocument {
  /** `account`: a shared bucket, stored under `sid` 0. */
  owner: 'subscriber' | 'account'
  bucket_id: number
  pp_includes_external_id: number
  /** Name of the counter (domain/counters.ts), if it is one. */
  counter?: string
  /** One of these: units, or money with its exact value. */
  usagev?: number
  cost?: number
  cost_micros?: number
  /**
   * The amount is negative and was credited to the bucket: a refund without reference to an event.
   */
  credited?: true
  /** Or the amount counted against a limit of the account; another payment of the line pays it. */
  limit?: number
  limit_micros?: number
}

/** Usage included in a group. */
export interface GroupUse {
  name: string
  /** One of these: units, or money. */
  usagev?: number
  cost?: number
  /** After this line. */
  left: Total
  total: Total
  balance_ref: { sid: number; bucket_id: number }
}

export interface RateUse {
  tariff_category: string
  key: string
  add_to_retail: boolean
  pricing: { charge: number }
}

/** The price of a usage and its explanation. */
export interface PricingFields extends FinalCharge {
  usagev: number
  /** Parts of `usagev`: included in groups; exceeding them; not subject to a group. */
  in_group: number
  over_group: number
  out_group: number
  /** The part of `usagev` that was charged with money. */
  priced_usagev: number
  arategroups: GroupUse[]
  rates: RateUse[]
  /** Source of the price: `BASE`, `plan NAME`, `service NAME` or `rate NAME`. */
  price_of: string
  /** Time band of the price; empty for the default price. */
  band: string
  /** The exact price before tax, which balances pay. */
  aprice_micros: number
  /** Paid from included money, which is not a part of the price. */
  group_cost: number
  group_cost_micros: number
  /** How the price was computed, and who paid (domain/explain.ts). */
  rating: RatingStep[]
}

/** The rated record of one session segment. `v` increases; the highest version is current. */
export interface RealtimeLineDocument extends PricingFields {
  stamp: string
  v: number
  type: 'realtime'
  source: 'realtime'
  state: Line['state']
  /** Usage was reported after the session had expired. */
  late: boolean
  aid: number
  sid: number
  origin: string
  session_id: string
  /** Null if the network element sent none. */
  rating_group: number | null
  /**
   * Distinguishes services of one rating group; a list if there are several, null if the network
   * element sent none.
   */
  service_identifier: number | number[] | null
  usaget: string
  called_number: string
  arate_key: string
  plan: string
  /** Cycle key, YYYYMM. */
  billrun: string
  /** The part of the price that no bucket could pay. */
  debt: number
  debt_micros: number
  /** The part of that debt that the account owes. */
  account_debt_micros: number
  /** Returned to buckets that had already expired. */
  lapsed_usagev: number
  lapsed_micros: number
  payments: PaymentDocument[]
  /** Time of the first event, which determined tariff and cycle. */
  urt: Date
  last_urt: Date
}

export function lineDocument(line: Line): RealtimeLineDocument {
  const { pricing, counts } = line
  return {
    stamp: line.stamp,
    v: line.version,
    type: 'realtime',
    source: 'realtime',
    state: line.state,
    late: counts.late,
    aid: line.aid,
    sid: line.sid,
    origin: line.origin,
    session_id: line.sessionId,
    rating_group: line.ratingGroup < 0 ? null : line.ratingGroup,
    service_identifier: identifierValue(line.serviceIdentifier),
    usaget: line.usaget,
    called_number: line.calledNumber,
    arate_key: pricing.rateKey,
    plan: pricing.plan,
    billrun: pricing.cycle,
    ...pricingFields(line, 0),
    debt: moneyOf(counts.debt),
    debt_micros: counts.debt,
    account_debt_micros: counts.accountDebt,
    lapsed_usagev: counts.forfeitedUnits,
    lapsed_micros: counts.forfeitedMicros,
    payments: counts.payments.map(paymentDocument),
    urt: new Date(counts.firstMs),
    last_urt: new Date(counts.lastMs),
  }
}

/** `unitDigits`: units of the line are 10^-unitDigits of a base unit, as in quotes. */
export function pricingFields(line: Line, unitDigits: number): PricingFields {
  const { pricing, counts } = line
  const units = (count: number) => count / 10 ** unitDigits
  const { inGroup, overGroup, outGroup } = groupUnits(counts)
  const rating = explain(line, unitDigits)
  return {
    usagev: units(counts.used),
    in_group: units(inGroup),
    over_group: units(overGroup),
    out_group: units(outGroup),
    priced_usagev: units(counts.chargedUnits),
    arategroups: counts.payments.flatMap((payment) => groupUses(line, payment, units)),
    rates: rating.flatMap(rateUses),
    price_of: pricing.priceOf,
    band: pricing.band,
    ...finalCharge(counts.charged, pricing.taxes, pricing.rounding),
    aprice_micros: counts.charged,
    group_cost: moneyOf(counts.includedMicros),
    group_cost_micros: counts.includedMicros,
    rating,
  }
}

function groupUses(
  { sid }: Line,
  { owner, bucketId, kind, amount, counter, left, total }: Payment,
  units: (count: number) => number,
): GroupUse[] {
  const group = parseGroupCounter(counter)
  if (group === null) return []
  const isUnits = kind === 'units'
  const convert = isUnits ? units : moneyOf
  return [
    {
      name: group.name,
      ...(isUnits ? { usagev: convert(amount) } : { cost: convert(amount) }),
      left: totalOf(left, total, convert),
      total: totalOf(total, total, convert),
      balance_ref: { sid: owner === 0 ? sid : 0, bucket_id: bucketId },
    },
  ]
}

function rateUses(step: RatingStep): RateUse[] {
  if (step.step !== 'price' || step.part === 'included') return []
  return [
    {
      tariff_category: step.category,
      key: step.rate,
      add_to_retail: step.part === 'charge',
      pricing: { charge: Number(step.amount) },
    },
  ]
}

export function paymentDocument(payment: Payment): PaymentDocument {
  const { owner, bucketId, prepaidIncludeId, counter } = payment
  return {
    owner: owner === 0 ? 'subscriber' : 'account',
    bucket_id: bucketId,
    pp_includes_external_id: prepaidIncludeId,
    ...(counter === '' ? {} : { counter }),
    ...amountPaid(payment),
  }
}

function amountPaid({ kind, amount }: Payment): Partial<PaymentDocument> {
  if (kind === 'units') return { usagev: amount }
  if (kind === 'limit') return { limit: moneyOf(amount), limit_micros: amount }
  if (kind === 'creditedUnits') return { usagev: amount, credited: true }
  const cost = { cost: moneyOf(amount), cost_micros: amount }
  return kind === 'creditedMoney' ? { ...cost, credited: true } : cost
}

/** The amount that a payment spent from its bucket, or credited to it; units or micros. */
export function amountsOfPayment(payment: PaymentDocument): { spent: number; credited: number } {
  const { usagev, cost_micros, limit_micros, credited } = payment
  const amount = usagev ?? cost_micros ?? limit_micros ?? 0
  return credited === true ? { spent: 0, credited: -amount } : { spent: amount, credited: 0 }
}

/** Debt of each owner from a line, in micros. Older lines have no debt of the account. */
export function debtsOfLine({
  debt_micros: debt,
  account_debt_micros: account = 0,
}: Pick<RealtimeLineDocument, 'debt_micros'> & Partial<RealtimeLineDocument>): {
  subscriber: number
  account: number
} {
  return { subscriber: debt - account, account }
}
