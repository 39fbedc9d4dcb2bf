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
import {
  choice,
  closed,
  date,
  flag,
  integer,
  mapOf,
  number,
  part,
  ref,
  type StoredOf,
  searchable,
  text,
  type ValueOf,
} from '../../entities/json-schema.ts'
import { moneyOf, totalField, totalOf } from './money-value.ts'

export const UNIT_COUNT = closed('Units.', { usagev: number('Their number.') })
const unitCount = (description: string) => ref<ValueOf<typeof UNIT_COUNT>>('unitCount', description)

export const BALANCE_COUNT = part(
  'Units or money of one usage type or group.',
  {
    usagev: number('Units.'),
    cost: number('Money.'),
    left: totalField('Remaining amount of a group'),
    total: totalField('Included amount of a group'),
    over_group: unitCount('Of a total of usage: units that exceed a group.'),
    out_group: unitCount('Of a total of usage: units to which no group applies.'),
  },
  ['usagev', 'cost', 'left', 'total', 'over_group', 'out_group'],
)
const balanceCounts = (description: string) =>
  mapOf(ref<ValueOf<typeof BALANCE_COUNT>>('balanceCount'), description)

export const BALANCE_AMOUNTS = part(
  'Prepaid credit is negative; counted amounts are positive.',
  {
    cost: number('Money for all usage types.'),
    totals: balanceCounts('Units or money by usage type.'),
    groups: balanceCounts('Counted included units and money, by group.'),
  },
  ['cost', 'totals', 'groups'],
)
type BalanceAmounts = ValueOf<typeof BALANCE_AMOUNTS>

/** Amounts are exact: credited = spent + reserved + free. */
export const BALANCE = {
  aid: searchable(integer('Number of the account.')),
  sid: searchable(integer('Number of the subscriber; 0: shared by the account.')),
  bucket_id: integer('Number of the bucket, unique per owner; 0 for the debt.'),
  v: integer('Version of the state of its owner.'),
  connection_type: searchable(
    choice(['prepaid', 'postpaid'], '`prepaid`: credit; `postpaid`: a counter.'),
  ),
  counter: text('Name of the counter; empty for prepaid credit.'),
  group_name: text('For a counter of included units: name of the group.'),
  holder: text('For a counter of included units: the plan or service.'),
  service_name: searchable(text('Service with its own number.')),
  service_id: integer('The number.'),
  pp_includes_external_id: searchable(integer('Number of the prepaid include; 0 for a counter.')),
  pp_includes_name: searchable(text('Name of the prepaid include.')),
  charging_by: choice(['usagev', 'cost', 'total_cost'], 'Units, money for one usage type or all.'),
  charging_by_usaget: text('The usage type, or `total_cost`.'),
  priority: searchable(integer('Higher priorities are used first.')),
  from: searchable(date('Start of validity.')),
  to: searchable(date('End of validity.')),
  shared: flag('Whether it belongs to the account.'),
  unlimited: flag('Whether it has no end.'),
  balance: ref<BalanceAmounts>('balanceAmounts', 'Remaining or counted amounts.'),
  credited: integer('Total credits: units, or millionths of money; positive.'),
  spent: integer('Used amount.'),
  reserved: integer('Amount reserved by open sessions.'),
  free: integer('Available amount.'),
  limit: integer('For a counter: its limit.'),
  debt: number('Debt of the owner; the same in each balance of the owner.'),
  lapsed: integer('For an expired balance: the forfeited amount.'),
} as const

type OfSome = 'group_name' | 'holder' | 'service_name' | 'service_id' | 'lapsed'

/**
 * Projection of one bucket, or of the debt of an owner (bucket 0). `v` is the version of the owner;
 * the highest version is current. Only answers have `lapsed`.
 */
export interface BalanceDocument extends StoredOf<typeof BALANCE, OfSome> {
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

/** The balance at an instant: an expired one has neither credit nor available units. */
export function balanceViewAt(
  owner: OwnerState,
  bucket: Bucket,
  name: string,
  nowMs: number,
): BalanceDocument {
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
        : { [measure]: { usagev: spent } }
  return { totals: { [usaget]: amounts } }
}
