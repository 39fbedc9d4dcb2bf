/**
 * Balances as rules see them: a bucket of prepaid credit, or the counters of one period of an owner
 * (the credit of a cycle with its groups; a service with an id of its own has a balance of its
 * own).
 *
 * Reservations change nothing here: a value moves when usage is settled.
 */
import { type Bucket, isValidAt, type OwnerSlot, type OwnerState } from '../bucket.ts'
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
  let balances = NONE
  const { buckets } = after
  for (let index = 0; index < buckets.length; index += 1) {
    const bucket = buckets[index] as Bucket
    const former = formerOf(bucket, index, before)
    if (former === bucket) continue
    if (amountOf(bucket) === (former === undefined ? 0 : amountOf(former))) continue
    balances = withChange(balances, slot, bucket, former, before, after)
  }
  return balances
}

/**
 * The balances of an owner in force at an instant, as if a request had left them as they are.
 * `begunMs`: by when credit must have begun.
 */
export function currentBalances(
  slot: OwnerSlot,
  owner: OwnerState | null,
  atMs: number,
  begunMs: number,
): ChangedBalance[] {
  if (owner === null) return NONE
  const balances: ChangedBalance[] = []
  for (const bucket of owner.buckets) {
    if (!isValidAt(bucket, atMs, bucket.counter === '' ? begunMs : atMs)) continue
    const key = keyOf(bucket)
    if (balances.some((balance) => balance.key === key)) continue
    balances.push(balanceOf(slot, key, bucket, bucket, owner, owner))
  }
  return balances
}

const NONE: ChangedBalance[] = []

function withChange(
  balances: ChangedBalance[],
  slot: OwnerSlot,
  bucket: Bucket,
  former: Bucket | undefined,
  before: OwnerState | null,
  after: OwnerState,
): ChangedBalance[] {
  const key = keyOf(bucket)
  const known = balances.find((balance) => balance.key === key)
  if (known !== undefined) {
    known.changed.push(bucket)
    return balances
  }
  const balance = balanceOf(slot, key, bucket, former, before, after)
  if (balances === NONE) return [balance]
  balances.push(balance)
  return balances
}

function formerOf(bucket: Bucket, index: number, before: OwnerState | null): Bucket | undefined {
  const same = before?.buckets[index]
  return same?.id === bucket.id ? same : before?.buckets.find(({ id }) => id === bucket.id)
}

function balanceOf(
  slot: OwnerSlot,
  key: string,
  bucket: Bucket,
  former: Bucket | undefined,
  before: OwnerState | null,
  { aid, sid, buckets }: OwnerState,
): ChangedBalance {
  const isPrepaid = bucket.counter === ''
  const changed = [bucket]
  if (isPrepaid) {
    const all = former === undefined ? [] : [former]
    return { slot, aid, sid, key, isPrepaid, bucket, changed, before: all, after: changed }
  }
  const isMember = (one: Bucket) => one.counter !== '' && keyOf(one) === key
  return {
    slot,
    aid,
    sid,
    key,
    isPrepaid,
    bucket,
    changed,
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
