/**
 * The document of a bucket or counter that the recorder stores, and the pure mapping from its
 * owner.
 */
import { flipCreditSign } from '../../../domain/balance-sign.ts'
import {
  type Bucket,
  type BucketKind,
  debtOf,
  freeAt,
  hasEnded,
  type OwnerState,
} from '../../../domain/bucket.ts'
import { OWN_DEBT } from '../../../domain/charge-outcome.ts'
import { parseGroupCounter, parseUsageTotal } from '../../../domain/counters.ts'
import { FOREVER_MS } from '../../../domain/time.ts'
import { moneyOf, type Total, totalOf } from './money-value.ts'

/** Usage of the included units or money of a period, counted from 0. */
export type GroupAmounts = ({ usagev: number } | { cost: number }) & { left: Total; total: Total }

/** Amounts of a usage type: prepaid credit, or one total of usage of a cycle. */
export type UsageAmounts =
  | { usagev: number }
  | { cost: number }
  | { over_group: { usagev: number } }
  | { out_group: { usagev: number } }

/** The amounts of a balance: prepaid credit is negative, counted usage positive. */
export interface BalanceAmounts {
  cost?: number
  totals?: Record<string, UsageAmounts>
  groups?: Record<string, GroupAmounts>
}

/**
 * Projection of one bucket, or of the debt of an owner (bucket 0). `v` is the version of the owner;
 * the highest version is current.
 */
export interface BalanceDocument {
  aid: number
  sid: number
  bucket_id: number
  v: number
  connection_type: 'prepaid' | 'postpaid'
  /** Name of the counter (domain/counters.ts); empty for prepaid credit. */
  counter: string
  /** Only for group counters: the group, and the plan or service that includes it. */
  group_name?: string
  holder?: string
  /** Only if the service is subscribed with a service id. */
  service_name?: string
  service_id?: number
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
  /** Exact, credit positive, in units or micros: credited = spent + reserved + free. */
  credited: number
  spent: number
  reserved: number
  free: number
  limit: number
  /** Debt of the owner, repeated in each of its balances. */
  debt: number
  /** The other state of the owner at version `v`, to rebuild a lost ledger. */
  owner: { next_bucket_id: number; owed_micros: number; repaid_micros: number }
}

export const CHARGING_OF_KIND: Readonly<Record<BucketKind, BalanceDocument['charging_by']>> = {
  units: 'usagev',
  cost: 'cost',
  totalCost: 'total_cost',
}

export const TOTAL_COST = 'total_cost'

/** `name`: of the prepaid include in the catalogue; empty if it is not found there. */
export function balanceDocument(owner: OwnerState, bucket: Bucket, name: string): BalanceDocument {
  const chargingBy = CHARGING_OF_KIND[bucket.kind]
  return {
    aid: owner.aid,
    sid: owner.sid,
    bucket_id: bucket.id,
    v: owner.version,
    connection_type: bucket.counter === '' ? 'prepaid' : 'postpaid',
    counter: bucket.counter,
    ...groupFields(bucket),
    pp_includes_external_id: bucket.prepaidIncludeId,
    pp_includes_name: name,
    charging_by: chargingBy,
    charging_by_usaget: chargingBy === TOTAL_COST ? TOTAL_COST : bucket.usaget,
    priority: bucket.priority,
    from: new Date(bucket.fromMs),
    to: new Date(bucket.toMs),
    shared: owner.sid === 0,
    unlimited: bucket.toMs >= FOREVER_MS,
    balance: bucket.counter === '' ? creditOf(bucket) : countOf(bucket),
    credited: bucket.credited,
    spent: bucket.spent,
    reserved: bucket.reserved,
    free: bucket.free,
    limit: bucket.limit,
    debt: moneyOf(debtOf(owner)),
    owner: {
      next_bucket_id: owner.nextBucketId,
      owed_micros: owner.owed,
      repaid_micros: owner.repaid,
    },
  }
}

/** A balance at an instant. */
export interface BalanceView extends BalanceDocument {
  /** Unused credit of an expired balance, in units or micros; it is no longer available. */
  lapsed?: number
}

/** The balance at an instant: an expired one has neither credit nor available units. */
export function balanceViewAt(
  owner: OwnerState,
  bucket: Bucket,
  name: string,
  nowMs: number,
): BalanceView {
  const document = balanceDocument(owner, bucket, name)
  if (!hasEnded(bucket, nowMs)) return document
  const free = freeAt(bucket, nowMs)
  return { ...document, balance: creditOf({ ...bucket, free }), free, lapsed: bucket.free }
}

/** Bucket id of the balance that represents the debt of an owner. */
export const DEBT_BUCKET_ID = 0

/** The debt of an owner, as a counter from 0. */
export function debtBucket(owner: OwnerState): Bucket {
  const debt = debtOf(owner)
  return {
    id: DEBT_BUCKET_ID,
    prepaidIncludeId: 0,
    kind: 'totalCost',
    usaget: '',
    priority: 0,
    fromMs: 0,
    toMs: FOREVER_MS,
    credited: 0,
    spent: debt,
    reserved: 0,
    free: 0 - debt,
    limit: 0,
    counter: OWN_DEBT,
  }
}

/** The buckets of an owner to record: its own, and its debt if it ever had any. */
export function projectedBuckets(owner: OwnerState): Bucket[] {
  return owner.owed === 0 ? owner.buckets : [...owner.buckets, debtBucket(owner)]
}

function groupFields({ counter }: Bucket): Partial<BalanceDocument> {
  const group = parseGroupCounter(counter)
  if (group === null) return {}
  const { holder, serviceId, name } = group
  const service = serviceId > 0 ? { service_name: holder, service_id: serviceId } : {}
  return { group_name: name, holder, ...service }
}

/** Reserved credit is excluded: nothing else can spend it. */
function creditOf({ kind, usaget, free }: Bucket): BalanceAmounts {
  if (kind === 'units') return { totals: { [usaget]: { usagev: flipCreditSign(free) } } }
  const cost = flipCreditSign(moneyOf(free))
  return kind === 'cost' ? { totals: { [usaget]: { cost } } } : { cost }
}

/** Reserved units are not counted as used. */
function countOf(bucket: Bucket): BalanceAmounts {
  const { kind, spent, counter } = bucket
  const group = parseGroupCounter(counter)
  if (group === null) {
    const total = parseUsageTotal(counter)
    return total === null ? { cost: moneyOf(spent) } : usageOf(total, spent)
  }
  const total = Math.max(0, bucket.limit)
  const convert = (amount: number) => (kind === 'units' ? amount : moneyOf(amount))
  const used = kind === 'units' ? { usagev: spent } : { cost: moneyOf(spent) }
  const left = totalOf(Math.max(0, total - spent), total, convert)
  return { groups: { [group.name]: { ...used, left, total: totalOf(total, total, convert) } } }
}

/** As rules of events name it (domain/events/paths.ts). */
function usageOf(
  { usaget, measure }: { usaget: string; measure: string },
  spent: number,
): BalanceAmounts {
  const amounts =
    measure === 'cost'
      ? { cost: moneyOf(spent) }
      : measure === 'usagev'
        ? { usagev: spent }
        : ({ [measure]: { usagev: spent } } as UsageAmounts)
  return { totals: { [usaget]: amounts } }
}
