/** What the recorder stores, and the pure mappings from the ledger's records to it. */
import { flipCreditSign } from '../domain/balance-sign.ts'
import type { Bucket, BucketKind, OwnerState } from '../domain/bucket.ts'
import type { Line, OperationLine } from '../domain/line.ts'
import { MICROS_PER_UNIT } from '../domain/money.ts'
import type { Payment } from '../domain/session.ts'
import { FOREVER_MS } from '../domain/time.ts'

/** What one bucket paid for a line. */
export interface PaymentDocument {
  /** `account`: a shared bucket, kept under `sid` 0. */
  owner: 'subscriber' | 'account'
  bucket_id: number
  pp_includes_external_id: number
  /** One of them: units, or money with its exact value. */
  usagev?: number
  cost?: number
  cost_micros?: number
}

/** The priced record of one segment of a session. `v` grows; the highest is the truth. */
export interface RealtimeLineDocument {
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
  usaget: string
  called_number: string
  arate_key: string
  plan: string
  /** Cycle key, YYYYMM. */
  billrun: string
  usagev: number
  /** Of `usagev`, the units that were priced with money. */
  priced_usagev: number
  /** Money for them: as a number for clients, and exact. */
  aprice: number
  aprice_micros: number
  /** Of it, what no bucket could pay. */
  debt: number
  debt_micros: number
  /** Given back to buckets that had expired by then. */
  lapsed_usagev: number
  lapsed_micros: number
  payments: PaymentDocument[]
  /** Time of the first event, which chose tariff and cycle. */
  urt: Date
  last_urt: Date
}

/** The record of a top-up or adjustment (spec/realtime.md 6.5). Amounts have the balances' sign. */
export interface BalanceLineDocument {
  stamp: string
  v: number
  type: 'balance'
  source: 'realtime'
  usaget: 'balance'
  aid: number
  sid: number
  operation: string
  operation_id: string
  charging_type: 'prepaidinclude'
  charging_usaget: string
  pp_includes_external_id: number
  pp_includes_name: string
  bucket_id: number
  balance_before: number
  balance_after: number
  balance_normalized: number
  /** One of them: after − before. */
  usagev?: number
  aprice?: number
  aprice_micros?: number
  /** Part of the amount that repaid debt. */
  repaid_micros: number
  /** Version of the owner and terms of the bucket after it: for rebuilding a lost ledger. */
  owner_v: number
  priority: number
  from: Date
  to: Date
  urt: Date
}

export type LineDocument = RealtimeLineDocument | BalanceLineDocument

/** The amounts of a balance, prepaid credit negative (spec/realtime.md 6.2). */
export interface BalanceAmounts {
  cost?: number
  totals?: Record<string, { usagev: number } | { cost: number }>
}

/** Projection of one bucket. `v` is the version of its owner; the highest is the truth. */
export interface BalanceDocument {
  aid: number
  sid: number
  bucket_id: number
  v: number
  connection_type: 'prepaid' | 'postpaid'
  pp_includes_external_id: number
  pp_includes_name: string
  charging_by: 'usagev' | 'cost' | 'total_cost'
  charging_by_usaget: string
  priority: number
  from: Date
  to: Date
  shared: boolean
  unlimited: boolean
  balance: BalanceAmounts
  /** Exact, credit positive, units or micros: credited = spent + reserved + free. */
  credited: number
  spent: number
  reserved: number
  free: number
  limit: number
  /** The rest of the owner's state as of `v`: with it a lost ledger can be rebuilt. */
  owner: { next_bucket_id: number; owed_micros: number; repaid_micros: number }
}

export const CHARGING_OF_KIND: Readonly<Record<BucketKind, BalanceDocument['charging_by']>> = {
  units: 'usagev',
  cost: 'cost',
  totalCost: 'total_cost',
}

export const TOTAL_COST = 'total_cost'

/** The nearest number; its shortest text has at most 6 decimals. Exact values stand beside it. */
function moneyOf(micros: number): number {
  return micros / MICROS_PER_UNIT
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
    usaget: line.usaget,
    called_number: line.calledNumber,
    arate_key: line.rateKey,
    plan: line.plan,
    billrun: line.cycle,
    usagev: line.used,
    priced_usagev: line.priced,
    aprice: moneyOf(line.charged),
    aprice_micros: line.charged,
    debt: moneyOf(line.debt),
    debt_micros: line.debt,
    lapsed_usagev: line.lapsedUnits,
    lapsed_micros: line.lapsedMicros,
    payments: line.payments.map(paymentDocument),
    urt: new Date(line.firstMs),
    last_urt: new Date(line.lastMs),
  }
}

function paymentDocument(payment: Payment): PaymentDocument {
  const { owner, bucketId, prepaidIncludeId, kind, amount } = payment
  return {
    owner: owner === 0 ? 'subscriber' : 'account',
    bucket_id: bucketId,
    pp_includes_external_id: prepaidIncludeId,
    ...(kind === 'units' ? { usagev: amount } : { cost: moneyOf(amount), cost_micros: amount }),
  }
}

/** `name`: of the prepaid include, from the catalogue; empty if it is not known there. */
export function balanceLineDocument(line: OperationLine, name: string): BalanceLineDocument {
  const isUnits = line.kind === 'units'
  const shown = (amount: number) => flipCreditSign(isUnits ? amount : moneyOf(amount))
  const change = line.after - line.before
  return {
    stamp: line.stamp,
    v: 1,
    type: 'balance',
    source: 'realtime',
    usaget: 'balance',
    aid: line.aid,
    sid: line.sid,
    operation: line.operation,
    operation_id: line.operationId,
    charging_type: 'prepaidinclude',
    charging_usaget: line.usaget === '' ? TOTAL_COST : line.usaget,
    pp_includes_external_id: line.prepaidIncludeId,
    pp_includes_name: name,
    bucket_id: line.bucketId,
    balance_before: shown(line.before),
    balance_after: shown(line.after),
    balance_normalized: 0,
    ...(isUnits
      ? { usagev: shown(change) }
      : { aprice: shown(change), aprice_micros: flipCreditSign(change) }),
    repaid_micros: line.repaid,
    owner_v: line.version,
    priority: line.priority,
    from: new Date(line.fromMs),
    to: new Date(line.toMs),
    urt: new Date(line.atMs),
  }
}

/** `name`: of the prepaid include, from the catalogue; empty if it is not known there. */
export function balanceDocument(owner: OwnerState, bucket: Bucket, name: string): BalanceDocument {
  const chargingBy = CHARGING_OF_KIND[bucket.kind]
  return {
    aid: owner.aid,
    sid: owner.sid,
    bucket_id: bucket.id,
    v: owner.version,
    connection_type: bucket.limit > 0 ? 'postpaid' : 'prepaid',
    pp_includes_external_id: bucket.prepaidIncludeId,
    pp_includes_name: name,
    charging_by: chargingBy,
    charging_by_usaget: chargingBy === TOTAL_COST ? TOTAL_COST : bucket.usaget,
    priority: bucket.priority,
    from: new Date(bucket.fromMs),
    to: new Date(bucket.toMs),
    shared: owner.sid === 0,
    unlimited: bucket.toMs >= FOREVER_MS,
    balance: amountsOf(bucket),
    credited: bucket.credited,
    spent: bucket.spent,
    reserved: bucket.reserved,
    free: bucket.free,
    limit: bucket.limit,
    owner: {
      next_bucket_id: owner.nextBucketId,
      owed_micros: owner.owed,
      repaid_micros: owner.repaid,
    },
  }
}

/** What is reserved is not shown as credit: it cannot be spent by anything else. */
function amountsOf({ kind, usaget, free }: Bucket): BalanceAmounts {
  if (kind === 'units') return { totals: { [usaget]: { usagev: flipCreditSign(free) } } }
  const cost = flipCreditSign(moneyOf(free))
  return kind === 'cost' ? { totals: { [usaget]: { cost } } } : { cost }
}
