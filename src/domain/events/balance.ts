/**
 * Balances as rules see them: a bucket of prepaid credit, or the counters of one period of an owner
 * (the credit of a cycle with its groups; a service with an id of its own has a balance of its
 * own).
 *
 * Reservations change nothing here: a value moves when usage is settled.
 */
import type { Bucket, OwnerSlot, OwnerState } from '../bucket.ts'
import { type GroupCounter, parseGroupCounter } from '../counters.ts'

/** One balance of one owner, before and after a settled request. */
export interface ChangedBalance {
  slot: OwnerSlot
  aid: number
  /** 0 for a balance of the account. */
  sid: number
  /** Identifies the balance among those of its owner. */
  key: string
  isPrepaid: boolean
  /** A bucket of the balance, after the request. */
  bucket: Bucket
  /** Its buckets that the request changed, after it. */
  changed: Bucket[]
  /** All its buckets. */
  before: readonly Bucket[]
  after: readonly Bucket[]
}

/** The amount of a bucket that usage raises: prepaid credit is negative until it is used up. */
export function amountOf({ counter, credited, spent }: Bucket): number {
  return counter === '' ? spent - credited : spent
}

/** The balances of an owner that a request changed. Unchanged buckets are the same objects. */
export function changedBalances(
  slot: OwnerSlot,
  before: OwnerState | null,
  after: OwnerState | null,
): ChangedBalance[] {
  if (after === null || before === after) return NONE
  let balances: ChangedBalance[] | null = null
  for (const [index, bucket] of after.buckets.entries()) {
    const former = formerOf(bucket, index, before)
    if (former === bucket) continue
    if (former === undefined ? amountOf(bucket) === 0 : amountOf(former) === amountOf(bucket)) {
      continue
    }
    const key = keyOf(bucket)
    balances ??= []
    const known = balances.find((balance) => balance.key === key)
    if (known === undefined) balances.push(balanceOf(slot, key, bucket, before, after))
    else known.changed.push(bucket)
  }
  return balances ?? NONE
}

const NONE: ChangedBalance[] = []

function formerOf(bucket: Bucket, index: number, before: OwnerState | null): Bucket | undefined {
  const same = before?.buckets[index]
  return same?.id === bucket.id ? same : before?.buckets.find(({ id }) => id === bucket.id)
}

function balanceOf(
  slot: OwnerSlot,
  key: string,
  bucket: Bucket,
  before: OwnerState | null,
  { aid, sid, buckets }: OwnerState,
): ChangedBalance {
  const isMember = (one: Bucket) => keyOf(one) === key
  return {
    slot,
    aid,
    sid,
    key,
    isPrepaid: bucket.counter === '',
    bucket,
    changed: [bucket],
    before: before?.buckets.filter(isMember) ?? [],
    after: buckets.filter(isMember),
  }
}

function keyOf({ id, counter, fromMs, toMs }: Bucket): string {
  if (counter === '') return String(id)
  const group = groupOf(counter)
  const service =
    group !== null && group.serviceId !== 0 ? ` ${group.holder} ${group.serviceId}` : ''
  return `${fromMs}-${toMs}${service}`
}

/** Parsed names of counters; there are few, unless services have many ids. */
const groups = new Map<string, GroupCounter | null>()
const GROUPS_MAX = 10_000

/** The group of a counter; null if it is not one of a group. */
export function groupOf(counter: string): GroupCounter | null {
  const known = groups.get(counter)
  if (known !== undefined) return known
  const group = parseGroupCounter(counter)
  if (groups.size >= GROUPS_MAX) groups.clear()
  groups.set(counter, group)
  return group
}
