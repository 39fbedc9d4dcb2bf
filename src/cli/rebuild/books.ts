/**
 * What is on record of an account, and how its owners are given back after a loss. Pure. The
 * recorder writes lines first: the projection may be behind them. Lines may be archived: their sums
 * may be less than the projection. Nobody gets more than is known to have been credited.
 */
import type {
  BalanceDocument,
  BalanceLineDocument,
  LineDocument,
  PaymentDocument,
} from '../../catalog/documents.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { OperationLine } from '../../domain/line.ts'
import { BucketBooks, type Loss, type RestoredBucket } from './bucket-books.ts'

export interface RestoredOwner {
  /** Null if there is nothing to give back: no bucket and no debt. */
  state: OwnerState | null
  buckets: RestoredBucket[]
  /** Debt incurred by lines that the projection does not have. */
  debtAhead: number
  losses: Loss[]
}

/**
 * More than the commits that anybody can still have in hand from before the loss: what is recorded
 * of the restored owner is newer than all of it.
 */
export const VERSIONS_SKIPPED = 1_000_000

/** Projections are added first, then lines. */
export class AccountBooks {
  readonly aid: number
  readonly operations: OperationLine[] = []
  lines = 0
  readonly #owners = new Map<number, OwnerBooks>()
  readonly #keptSinceMs: number

  /** `keptSinceMs`: operations from then on are kept, for those who repeat them. */
  constructor(aid: number, keptSinceMs: number) {
    this.aid = aid
    this.#keptSinceMs = keptSinceMs
  }

  addProjection(document: BalanceDocument): void {
    this.#owner(document.sid).addProjection(document)
  }

  addLine(line: LineDocument): void {
    this.lines += 1
    const owner = this.#owner(line.sid)
    if (line.type === 'balance') {
      const operation = owner.addOperation(line)
      if (operation !== null && operation.atMs > this.#keptSinceMs) this.operations.push(operation)
      return
    }
    // Others may write lines too; only charging pays out of buckets.
    if (line.type !== 'realtime') return
    owner.owedByLines += line.debt_micros
    for (const payment of line.payments) {
      const payer = payment.owner === 'account' ? this.#owner(0) : owner
      payer.addPayment(payment)
    }
  }

  restore(): RestoredOwner[] {
    return [...this.#owners.values()]
      .sort((a, b) => a.sid - b.sid)
      .map((owner) => owner.restore(this.aid))
  }

  #owner(sid: number): OwnerBooks {
    const known = this.#owners.get(sid)
    if (known !== undefined) return known
    const owner = new OwnerBooks(sid)
    this.#owners.set(sid, owner)
    return owner
  }
}

class OwnerBooks {
  readonly sid: number
  owedByLines = 0
  readonly #buckets = new Map<number, BucketBooks>()
  #version = 0
  #nextBucketId = 1
  /** As of the newest projection. */
  #projectedVersion = 0
  #owed = 0
  #repaid = 0
  #newerRepaid = 0

  constructor(sid: number) {
    this.sid = sid
  }

  /** Of a damaged document only what can be read counts. */
  addProjection(document: BalanceDocument): void {
    const { bucket_id, v, owner } = document
    this.#bucket(bucket_id).addProjection(document)
    this.#projectedVersion = Math.max(this.#projectedVersion, amountIn(v))
    this.#version = Math.max(this.#version, amountIn(v))
    this.#owed = Math.max(this.#owed, amountIn(owner?.owed_micros))
    this.#repaid = Math.max(this.#repaid, amountIn(owner?.repaid_micros))
    this.#nextBucketId = Math.max(this.#nextBucketId, amountIn(owner?.next_bucket_id))
  }

  addPayment({ bucket_id, usagev, cost_micros }: PaymentDocument): void {
    this.#bucket(bucket_id).addPayment(usagev ?? cost_micros ?? 0, usagev === undefined)
  }

  addOperation(document: BalanceLineDocument): OperationLine | null {
    const line = this.#bucket(document.bucket_id).addOperation(document)
    if (line === null) return null
    this.#version = Math.max(this.#version, line.version)
    if (line.version > this.#projectedVersion) this.#newerRepaid += line.repaid
    return line
  }

  restore(aid: number): RestoredOwner {
    const { sid } = this
    const buckets: RestoredBucket[] = []
    const losses: Loss[] = []
    for (const books of [...this.#buckets.values()].sort((a, b) => a.id - b.id)) {
      const { restored, losses: lost } = books.restore()
      if (restored !== null) buckets.push(restored)
      losses.push(...lost)
    }
    const known = Math.max(this.#owed, this.owedByLines)
    const repaid = this.#repaid + this.#newerRepaid
    if (repaid > known) {
      const what = 'more debt was repaid than is known to have been incurred'
      losses.push({ sid, bucket: null, what, amount: repaid - known, isMoney: true })
    }
    const owed = Math.max(known, repaid)
    const version = this.#version + VERSIONS_SKIPPED
    const nextBucketId = this.#nextBucketId
    const isEmpty = buckets.length === 0 && owed === 0
    const state = { aid, sid, version, nextBucketId, owed, repaid }
    return {
      state: isEmpty ? null : { ...state, buckets: buckets.map(({ bucket }) => bucket) },
      buckets,
      debtAhead: Math.max(0, this.owedByLines - this.#owed),
      losses,
    }
  }

  #bucket(id: number): BucketBooks {
    const known = this.#buckets.get(id)
    if (known !== undefined) return known
    const books = new BucketBooks(this.sid, id)
    this.#buckets.set(id, books)
    this.#nextBucketId = Math.max(this.#nextBucketId, id + 1)
    return books
  }
}

function amountIn(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0
}
