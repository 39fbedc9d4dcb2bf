/** What the recorder stores of a segment of a session, and the pure mapping from its line. */
import { parseGroupCounter } from '../../domain/counters.ts'
import { explain, type RatingStep } from '../../domain/explain.ts'
import type { Line } from '../../domain/line.ts'
import { groupUnits } from '../../domain/lines.ts'
import type { Payment } from '../../domain/segment-parts.ts'
import { identifierValue } from '../../domain/session-services.ts'
import type { FinalCharge } from '../../domain/tax.ts'
import { finalCharge } from '../../rating/line-tax.ts'
import { moneyOf, type Total, totalOf } from './money-value.ts'

/** What one bucket or counter paid for a line. */
export interface PaymentDocument {
  /** `account`: a shared bucket, kept under `sid` 0. */
  owner: 'subscriber' | 'account'
  bucket_id: number
  pp_includes_external_id: number
  /** Counter that it is (domain/counters.ts), if it is one. */
  counter?: string
  /** One of them: units, or money with its exact value. */
  usagev?: number
  cost?: number
  cost_micros?: number
  /** The amount is below 0, and was credited to the bucket: it is of a refund of no event. */
  credited?: true
  /** Or what counts against a limit of the account: it is paid by another payment of the line. */
  limit?: number
  limit_micros?: number
}

/** What a group covered (spec/entity-api.md 4.11). */
export interface GroupUse {
  name: string
  /** One of them: units, or money. */
  usagev?: number
  cost?: number
  /** As of this line. */
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

/** What a usage costs and why. */
export interface PricingFields extends FinalCharge {
  usagev: number
  /** Of `usagev`: covered by groups; beyond them; where no group is meant for such usage. */
  in_group: number
  over_group: number
  out_group: number
  /** Of `usagev`, the units that were priced with money. */
  priced_usagev: number
  arategroups: GroupUse[]
  rates: RateUse[]
  /** Where the price comes from: `BASE`, `plan NAME`, `service NAME` or `rate NAME`. */
  price_of: string
  /** Time band of the price; empty for the plain one. */
  band: string
  /** The price that balances pay: before tax, and exact. */
  aprice_micros: number
  /** Paid by groups of money, and no part of the price. */
  group_cost: number
  group_cost_micros: number
  /** How the price came about, and who paid (domain/explain.ts). */
  rating: RatingStep[]
}

/** The priced record of one segment of a session. `v` grows; the highest is the truth. */
export interface RealtimeLineDocument extends PricingFields {
  stamp: string
  v: number
  type: 'realtime'
  source: 'realtime'
  state: Line['state']
  /** Usage of it was reported after the session had expired. */
  late: boolean
  aid: number
  sid: number
  origin: string
  session_id: string
  /** Null if the network element named none. */
  rating_group: number | null
  /** What tells services of one rating group apart: several of them as a list; null for none. */
  service_identifier: number | number[] | null
  usaget: string
  called_number: string
  arate_key: string
  plan: string
  /** Cycle key, YYYYMM. */
  billrun: string
  /** Of the price, what no bucket could pay. */
  debt: number
  debt_micros: number
  /** Of that debt, what the account owes. */
  account_debt_micros: number
  /** Given back to buckets that had expired by then. */
  lapsed_usagev: number
  lapsed_micros: number
  payments: PaymentDocument[]
  /** Time of the first event, which chose tariff and cycle. */
  urt: Date
  last_urt: Date
}

export function lineDocument(line: Line): RealtimeLineDocument {
  return {
    stamp: line.stamp,
    v: line.version,
    type: 'realtime',
    source: 'realtime',
    state: line.state,
    late: line.late,
    aid: line.aid,
    sid: line.sid,
    origin: line.origin,
    session_id: line.sessionId,
    rating_group: line.ratingGroup < 0 ? null : line.ratingGroup,
    service_identifier: identifierValue(line.serviceIdentifier),
    usaget: line.usaget,
    called_number: line.calledNumber,
    arate_key: line.rateKey,
    plan: line.plan,
    billrun: line.cycle,
    ...pricingFields(line, 0),
    debt: moneyOf(line.debt),
    debt_micros: line.debt,
    account_debt_micros: line.accountDebt,
    lapsed_usagev: line.lapsedUnits,
    lapsed_micros: line.lapsedMicros,
    payments: line.payments.map(paymentDocument),
    urt: new Date(line.firstMs),
    last_urt: new Date(line.lastMs),
  }
}

/** `unitDigits`: units of the line are 10^-unitDigits of a base unit, as in quotes. */
export function pricingFields(line: Line, unitDigits: number): PricingFields {
  const units = (count: number) => count / 10 ** unitDigits
  const { inGroup, overGroup, outGroup } = groupUnits(line)
  const rating = explain(line, unitDigits)
  return {
    usagev: units(line.used),
    in_group: units(inGroup),
    over_group: units(overGroup),
    out_group: units(outGroup),
    priced_usagev: units(line.priced),
    arategroups: line.payments.flatMap((payment) => groupUses(line, payment, units)),
    rates: rating.flatMap(rateUses),
    price_of: line.priceOf,
    band: line.band,
    ...finalCharge(line.charged, line.taxes, line.rounding),
    aprice_micros: line.charged,
    group_cost: moneyOf(line.coveredMicros),
    group_cost_micros: line.coveredMicros,
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
  const shown = isUnits ? units : moneyOf
  return [
    {
      name: group.name,
      ...(isUnits ? { usagev: shown(amount) } : { cost: shown(amount) }),
      left: totalOf(left, total, shown),
      total: totalOf(total, total, shown),
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

/** What a payment has spent of its bucket, or credited to it; units or micros. */
export function amountsOfPayment(payment: PaymentDocument): { spent: number; credited: number } {
  const { usagev, cost_micros, limit_micros, credited } = payment
  const amount = usagev ?? cost_micros ?? limit_micros ?? 0
  return credited === true ? { spent: 0, credited: -amount } : { spent: amount, credited: 0 }
}

/** Debt that a line says each owner has incurred, micros. Older lines know of no account's. */
export function debtsOfLine({
  debt_micros: debt,
  account_debt_micros: account = 0,
}: Pick<RealtimeLineDocument, 'debt_micros'> & Partial<RealtimeLineDocument>): {
  subscriber: number
  account: number
} {
  return { subscriber: debt - account, account }
}
