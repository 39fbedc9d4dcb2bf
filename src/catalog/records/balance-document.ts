/** What the recorder stores of a bucket or counter, and the pure mapping from its owner. */
import { flipCreditSign } from '../../domain/balance-sign.ts'
import {
  type Bucket,
  type BucketKind,
  debtOf,
  freeAt,
  hasEnded,
  type OwnerState,
} from '../../domain/bucket.ts'
import { OWN_DEBT } from '../../domain/charge-outcome.ts'
import { parseGroupCounter } from '../../domain/counters.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { moneyOf, type Total, totalOf } from './money-value.ts'

/** Used of what a period includes, from 0 upwards: units, or money. */
export type GroupAmounts = ({ usagev: number } | { cost: number }) & { left: Total; total: Total }

/**
 * The amounts of a balance: prepaid credit negative, what counters have counted positive
 * (spec/realtime.md 6.2, spec/entity-api.md 4.6).
 */
export interface BalanceAmounts {
  cost?: number
  totals?: Record<string, { usagev: number } | { cost: number }>
  groups?: Record<string, GroupAmounts>
}

/**
 * Projection of one bucket, or of the debt of an owner (bucket 0). `v` is the version of its owner;
 * the highest is the truth.
 */
export interface BalanceDocument {
  aid: number
  sid: number
  bucket_id: number
  v: number
  connection_type: 'prepaid' | 'postpaid'
  /** Counter that it is (domain/counters.ts); empty for prepaid credit. */
  counter: string
  /** Of the counter of a group: its name, and the plan or service that has it. */
  group_name?: string
  holder?: string
  /** Where the service was held by an id of its own. */
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
  /** Exact, credit positive, units or micros: credited = spent + reserved + free. */
  credited: number
  spent: number
  reserved: number
  free: number
  limit: number
  /** What the owner owes: the same on each of its balances. */
  debt: number
  /** The rest of the owner's state as of `v`: with it a lost ledger can be rebuilt. */
  owner: { next_bucket_id: number; owed_micros: number; repaid_micros: number }
}

export const CHARGING_OF_KIND: Readonly<Record<BucketKind, BalanceDocument['charging_by']>> = {
  units: 'usagev',
  cost: 'cost',
  totalCost: 'total_cost',
}

export const TOTAL_COST = 'total_cost'

/** `name`: of the prepaid include, from the catalogue; empty if it is not known there. */
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

/** A balance at a moment. */
export interface BalanceView extends BalanceDocument {
  /** Of one that has ended: what was left of it, units or micros, and is not free any more. */
  lapsed?: number
}

/** The balance at a moment: nothing of what has ended is shown as credit, or as free. */
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

/** Of the balance that shows the debt of an owner, beside its buckets. */
export const DEBT_BUCKET_ID = 0

/** The debt of an owner, as a counter that began at 0. */
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

/** What is recorded of an owner: its buckets, and its debt if there ever was any. */
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

/** What is reserved is not shown as credit: it cannot be spent by anything else. */
function creditOf({ kind, usaget, free }: Bucket): BalanceAmounts {
  if (kind === 'units') return { totals: { [usaget]: { usagev: flipCreditSign(free) } } }
  const cost = flipCreditSign(moneyOf(free))
  return kind === 'cost' ? { totals: { [usaget]: { cost } } } : { cost }
}

/** What is reserved is not used yet. */
function countOf(bucket: Bucket): BalanceAmounts {
  const { kind, spent, counter } = bucket
  const group = parseGroupCounter(counter)
  if (group === null) return { cost: moneyOf(spent) }
  const total = Math.max(0, bucket.limit)
  const shown = (amount: number) => (kind === 'units' ? amount : moneyOf(amount))
  const used = kind === 'units' ? { usagev: spent } : { cost: moneyOf(spent) }
  const left = totalOf(Math.max(0, total - spent), total, shown)
  return { groups: { [group.name]: { ...used, left, total: totalOf(total, total, shown) } } }
}
