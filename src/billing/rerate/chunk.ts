/** Lines with new prices as one commit, which any owner states can be corrected with. Pure. */
import { amountsOfPayment } from '../../catalog/records/usage/line-document.ts'
import type {
  FreedAmount,
  PlannedCounter,
  TotalsChange,
} from '../../catalog/records/usage/rerate-documents.ts'
import { present } from '../../domain/assert.ts'
import { type Bucket, copyBucket, copyOwner, type OwnerState } from '../../domain/bucket.ts'
import { parseUsageTotal } from '../../domain/counters.ts'
import { type Line, type OperationLine, RERATE } from '../../domain/line.ts'
import type { OwnerMend } from '../../ledger/mend.ts'
import { operationStamp } from '../../ledger/operations.ts'
import type { AccountPrices } from './account-prices.ts'
import type { RepricedLine } from './rerate-cycle.ts'

export interface ChunkLines {
  /** The bucket of a payment is the position of its counter in `counters`, from 1. */
  readonly lines: readonly Line[]
  readonly counters: readonly PlannedCounter[]
  readonly freed: readonly FreedAmount[]
  readonly totals: readonly TotalsChange[]
  readonly cycleMs: number
}

/** `changes`: some of those of the account. */
export function chunkOf(
  { owners, cycleMs }: Pick<AccountPrices, 'owners' | 'cycleMs'>,
  changes: readonly RepricedLine[],
): ChunkLines {
  const counters = new Map<string, PlannedCounter & { readonly id: number }>()
  const freed = new Map<string, FreedAmount>()
  const totals = new Map<string, TotalsChange>()
  const lines = changes.map(({ before, after, line: next }) => {
    const line = present(next, 'the next version of a line')
    const { sid, usaget } = before
    for (const payment of before.payments) {
      const owner = payment.owner === 'account' ? 0 : sid
      const { bucket_id: bucket } = payment
      const { spent } = amountsOfPayment(payment)
      const key = `${owner}/${bucket}`
      freed.set(key, { sid: owner, bucket, amount: (freed.get(key)?.amount ?? 0) + spent })
    }
    const payments = line.counts.payments.map((payment) => {
      const owner = payment.owner === 1 ? 0 : sid
      const bucket = owners.get(owner)?.buckets.find(({ id }) => id === payment.bucketId)
      const { counter, kind, fromMs, toMs, limit } = present(bucket, 'the counter of a payment')
      const key = `${owner}/${counter}/${fromMs}`
      const { id, amount } = counters.get(key) ?? { id: counters.size + 1, amount: 0 }
      const terms = { sid: owner, counter, kind, fromMs, toMs, limit }
      counters.set(key, { id, ...terms, amount: amount + payment.amount })
      return { ...payment, bucketId: id }
    })
    const key = `${sid}/${usaget}`
    const former = totals.get(key)
    totals.set(key, {
      ...{ sid, usaget },
      cost: (former?.cost ?? 0) + after.aprice_micros - before.aprice_micros,
      over_group: (former?.over_group ?? 0) + after.over_group - before.over_group,
      out_group: (former?.out_group ?? 0) + after.out_group - before.out_group,
    })
    return { ...line, counts: { ...line.counts, payments } }
  })
  return {
    lines,
    counters: [...counters.values()].map(({ id: _, ...counter }) => counter),
    freed: [...freed.values()],
    totals: [...totals.values()],
    cycleMs,
  }
}

/** The owners that a chunk may change. */
export function sidsOf({ lines, counters, freed }: ChunkLines): number[] {
  const sids = [...lines.map(({ session }) => session), ...counters, ...freed].map(({ sid }) => sid)
  return [...new Set(sids)].sort((a, b) => a - b)
}

/** The ledger has less than the recorded lines say: `tollgate audit` shows it. */
export class LedgerDiffersError extends Error {
  override name = 'LedgerDiffersError'
}

export interface ChunkCommit {
  readonly owners: readonly OwnerMend[]
  readonly operations: readonly OperationLine[]
  readonly lines: readonly Line[]
}

export interface ChunkOperation {
  readonly aid: number
  readonly operationId: string
  readonly atMs: number
}

/**
 * Counters move by differences, whatever was used meanwhile. Throws `LedgerDiffersError` if one
 * would have less than nothing.
 */
export function commitOf(
  before: readonly OwnerState[],
  chunk: ChunkLines,
  operation: ChunkOperation,
): ChunkCommit {
  const owners = new Map(before.map((state) => [state.sid, copyOwner(state)]))
  const ownerOf = (sid: number) => present(owners.get(sid), 'an owner of the lines')
  for (const { sid, bucket: id, amount } of chunk.freed) {
    // A counter of a closed cycle is gone, and its lines are its only record.
    const bucket = ownerOf(sid).buckets.find((each) => each.id === id)
    if (bucket !== undefined) spend(bucket, -amount)
  }
  const ids = chunk.counters.map((counter) => {
    const bucket = counterIn(ownerOf(counter.sid), counter)
    spend(bucket, counter.amount)
    return bucket.id
  })
  for (const change of chunk.totals) addToTotals(ownerOf(change.sid), change, chunk.cycleMs)
  const lines = chunk.lines.map((line) => {
    const payments = line.counts.payments.map((payment) => {
      return { ...payment, bucketId: present(ids[payment.bucketId - 1], 'a planned counter') }
    })
    return { ...line, counts: { ...line.counts, payments } }
  })
  return { ...written(before, owners, operation), lines }
}

function spend(bucket: Bucket, amount: number): void {
  bucket.spent += amount
  bucket.free -= amount
}

/** Opens it if no usage has. */
function counterIn(owner: OwnerState, planned: PlannedCounter): Bucket {
  const { counter, kind, fromMs, toMs, limit } = planned
  const known = owner.buckets.find((each) => each.counter === counter && each.fromMs === fromMs)
  if (known !== undefined) return known
  const terms = { prepaidIncludeId: 0, kind, usaget: '', priority: 0, fromMs, toMs, limit, counter }
  const bucket: Bucket = copyBucket({
    ...{ id: owner.nextBucketId, credited: 0, spent: 0, reserved: 0, free: 0 },
    ...terms,
  })
  owner.nextBucketId += 1
  owner.buckets.push(bucket)
  return bucket
}

/** Those of which a total is kept, which may have begun after some of the lines. */
function addToTotals(owner: OwnerState, change: TotalsChange, cycleMs: number): void {
  for (const bucket of owner.buckets) {
    const total = parseUsageTotal(bucket.counter)
    if (total?.usaget !== change.usaget || bucket.fromMs !== cycleMs) continue
    const { measure } = total
    if (measure !== 'cost' && measure !== 'over_group' && measure !== 'out_group') continue
    spend(bucket, Math.max(-bucket.spent, change[measure]))
  }
}

function written(
  before: readonly OwnerState[],
  owners: ReadonlyMap<number, OwnerState>,
  operation: ChunkOperation,
): Pick<ChunkCommit, 'owners' | 'operations'> {
  const changed = before.flatMap((state) => {
    const after = present(owners.get(state.sid), 'an owner')
    const buckets = after.buckets.filter((bucket) => {
      if (bucket.spent < 0) {
        const text = `bucket ${bucket.id} of ${state.sid} has less than its lines say`
        throw new LedgerDiffersError(`${text}: see tollgate audit`)
      }
      return state.buckets.find(({ id }) => id === bucket.id)?.spent !== bucket.spent
    })
    return buckets.length === 0 ? [] : [{ state, after, buckets }]
  })
  // Lines whose payments stay the same, such as those of another tax, need an owner as well.
  const [first] = before
  const all =
    changed.length > 0 || first === undefined
      ? changed
      : [{ state: first, after: present(owners.get(first.sid), 'an owner'), buckets: [] }]
  for (const { after } of all) after.version += 1
  return {
    owners: all.map(({ state, after }) => {
      return { before: state.version, state: after, sessions: [] }
    }),
    operations: all.flatMap(({ state, after, buckets }, index) => [
      ...(index === 0 ? [headOf(operation, after)] : []),
      ...buckets.map((bucket) => operationOf(operation, state, after, bucket)),
    ]),
  }
}

const NO_MONEY = { prepaidIncludeId: 0, kind: 'money', usaget: '', priority: 0 } as const
/** The payments of the lines have the amounts. */
const IN_LINES = { credited: 0, spent: 0, owed: 0, repaid: 0 } as const

/** It has the id of the operation, so that a ledger that is rebuilt knows it. */
function headOf({ aid, operationId, atMs }: ChunkOperation, owner: OwnerState): OperationLine {
  return {
    ...{ stamp: operationStamp(aid, operationId), aid, sid: owner.sid, operationId },
    ...{ operation: RERATE, bucketId: 0, ...NO_MONEY, amount: 0, mended: IN_LINES },
    ...{ before: 0, after: 0, repaid: 0, atMs, version: owner.version, fromMs: atMs, toMs: atMs },
  }
}

function operationOf(
  { aid, operationId, atMs }: ChunkOperation,
  former: OwnerState,
  { sid, version }: OwnerState,
  bucket: Bucket,
): OperationLine {
  const { id: bucketId, kind, fromMs, toMs, counter, limit, free: after } = bucket
  const id = `${operationId}/${sid}/${bucketId}`
  const before = former.buckets.find((each) => each.id === bucketId)?.free ?? 0
  return {
    ...NO_MONEY,
    ...{ stamp: operationStamp(aid, id), aid, sid, operationId: id, operation: RERATE, bucketId },
    ...{ kind: kind === 'units' ? 'units' : 'money', amount: after - before, before, after },
    ...{ repaid: 0, atMs, version, fromMs, toMs, counter, limit, counted: 0, mended: IN_LINES },
  }
}
