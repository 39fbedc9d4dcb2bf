/**
 * The document of a session segment that the recorder stores, and the pure mapping from its line.
 */
import { parseGroupCounter } from '../../../domain/counters.ts'
import { explain, type RatingStep } from '../../../domain/explain.ts'
import type { ServiceIdentity } from '../../../domain/identity.ts'
import type { Line } from '../../../domain/line.ts'
import { groupUnits } from '../../../domain/lines.ts'
import { type Payment, RECORD_PRICE } from '../../../domain/segment-parts.ts'
import { identifierValue } from '../../../domain/session-services.ts'
import { finalCharge } from '../../../rating/line-tax.ts'
import type { StoredOf } from '../../entities/json-schema.ts'
import type {
  ANY_LINE,
  CHARGED_LINE,
  GroupUse,
  PaymentDocument,
  RATED_LINE,
  RateUse,
  SEGMENT_LINE,
  SHARED_FIELDS,
  USAGE_LINE,
} from './line-schemas.ts'
import { moneyOf, totalOf } from './money-value.ts'

/** The price of a usage and its explanation. Balances pay `aprice_micros`, but no `group_cost`. */
export interface PricingFields
  extends StoredOf<typeof CHARGED_LINE, 'before_rounding'>,
    StoredOf<typeof RATED_LINE, 'prepriced'>,
    StoredOf<typeof USAGE_LINE>,
    Pick<StoredOf<typeof ANY_LINE>, 'usagev'> {}

/**
 * The rated record of one session segment. `v` increases; the highest version is current. The first
 * event determined tariff and cycle.
 */
export interface RealtimeLineDocument
  extends PricingFields,
    StoredOf<typeof ANY_LINE>,
    StoredOf<typeof SEGMENT_LINE>,
    Pick<StoredOf<typeof SHARED_FIELDS>, 'arate_key' | 'plan' | 'billrun'> {
  type: 'realtime'
  source: 'realtime'
  state: Line['state']
}

export function lineDocument(line: Line): RealtimeLineDocument {
  const { session, service, pricing, counts } = line
  return {
    stamp: line.stamp,
    v: line.version,
    type: 'realtime',
    source: 'realtime',
    state: line.state,
    late: counts.late,
    aid: session.aid,
    sid: session.sid,
    origin: session.origin,
    session_id: session.sessionId,
    rating_group: service.ratingGroup < 0 ? null : service.ratingGroup,
    service_identifier: identifierValue(service.serviceIdentifier),
    usaget: service.usaget,
    called_number: service.calledNumber,
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

/** The names of the service of a line. */
export function serviceOfDocument(document: RealtimeLineDocument): ServiceIdentity {
  const { rating_group, service_identifier, usaget, called_number } = document
  return {
    ratingGroup: rating_group ?? -1,
    serviceIdentifier: service_identifier === null ? '' : String(service_identifier),
    usaget,
    calledNumber: called_number,
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
    ...(pricing.priceOf === RECORD_PRICE && { prepriced: true }),
    band: pricing.band,
    ...finalCharge(counts.charged, pricing.taxes, pricing.rounding),
    aprice_micros: counts.charged,
    group_cost: moneyOf(counts.includedMicros),
    group_cost_micros: counts.includedMicros,
    rating,
  }
}

function groupUses(
  { session: { sid } }: Line,
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
