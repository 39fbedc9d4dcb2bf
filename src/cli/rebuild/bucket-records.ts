/** Restores one bucket from MongoDB after a loss. Pure. */
import type { BalanceDocument } from '../../catalog/records/usage/balance-document.ts'
import type { BalanceLineDocument } from '../../catalog/records/usage/documents.ts'
import { amountsOfPayment } from '../../catalog/records/usage/line-document.ts'
import type { PaymentDocument } from '../../catalog/records/usage/line-schemas.ts'
import type { CarriedBucket } from '../../catalog/records/usage/line-sums.ts'
import { bucketOf, operationLineOf } from '../../catalog/records/usage/recorded-values.ts'
import type { Bucket } from '../../domain/bucket.ts'
import { isClosed } from '../../domain/counters.ts'
import type { OperationLine } from '../../domain/line.ts'

/** An amount that cannot be restored, or on which records disagree. */
export interface Loss {
  sid: number
  /** Null if the loss concerns the owner and not a single bucket. */
  bucket: number | null
  what: string
  /** Units or micros. */
  amount: number
  isMoney: boolean
}

export interface RestoredBucket {
  bucket: Bucket
  /** Amount reserved by sessions in the projection; it becomes available. */
  voided: number
  /** By how much lines exceeded the projection. */
  ahead: { credited: number; spent: number }
  /** True if only lines have the bucket. */
  isNew: boolean
}

export class BucketRecords {
  readonly id: number
  readonly sid: number
  #document: BalanceDocument | null = null
  #projected: Bucket | null = null
  /** Spent on usage, or on debt repaid by a top-up, by all lines. */
  #paid = 0
  /** Credited by refunds, and by all lines; the projection may include it or not. */
  #refunded = 0
  #creditedByLines = 0
  /** By operations newer than the projection; also counted in the sums above. */
  #newerCredited = 0
  #newerSpent = 0
  #newest: OperationLine | null = null
  #unreadable = 0
  #isMoney = false
  #isCounter = false
  #lastPaidMs = 0

  constructor(sid: number, id: number) {
    this.sid = sid
    this.id = id
  }

  addProjection(document: BalanceDocument): void {
    this.#document = document
    this.#projected = bucketOf(document)
  }

  /** Adds the sums of removed lines; all are older than the projection. */
  addCarried({ spent, credited, isCounter }: CarriedBucket): void {
    this.#paid += spent
    this.#creditedByLines += credited
    this.#isCounter ||= isCounter
  }

  /** `at`: time of the usage. */
  addPayment(payment: PaymentDocument, at: unknown): void {
    const { spent, credited } = amountsOfPayment(payment)
    this.#paid += spent
    this.#refunded += credited
    this.#creditedByLines += credited
    this.#isMoney = payment.usagev === undefined
    this.#isCounter ||= payment.counter !== undefined
    this.#lastPaidMs = Math.max(this.#lastPaidMs, at instanceof Date ? at.getTime() : 0)
  }

  /** Returns the operation as the ledger had it; null if the line is incomplete. */
  addOperation(document: BalanceLineDocument): OperationLine | null {
    this.#isMoney = document.aprice_micros !== undefined
    const line = operationLineOf(document)
    if (line === null) {
      this.#unreadable += 1
      return null
    }
    const { credited, spent } = line.mended ?? {
      credited: line.amount,
      spent: line.repaid + (line.counted ?? 0),
    }
    this.#paid += spent
    this.#creditedByLines += credited
    this.#isCounter ||= line.counter !== undefined
    // The projection of a version includes all operations up to it.
    if (this.#projected !== null && line.version <= (this.#document?.v ?? 0)) return line
    this.#newerCredited += credited
    this.#newerSpent += spent
    if (this.#newest === null || line.version > this.#newest.version) this.#newest = line
    return line
  }

  /**
   * Returns the restored bucket and its losses. `countersSinceMs`: counters that ended earlier are
   * no longer needed.
   */
  restore(countersSinceMs: number): { restored: RestoredBucket | null; losses: Loss[] } {
    const losses: Loss[] = []
    const lose = (what: string, amount: number) => {
      const { sid, id: bucket } = this
      losses.push({ sid, bucket, what, amount, isMoney: this.#isMoney })
    }
    if (this.#document !== null && this.#projected === null) lose('its projection is damaged', 0)
    const base = this.#projected ?? (this.#newest === null ? null : newBucket(this.#newest))
    if (this.#isPast(base, countersSinceMs)) return { restored: null, losses: [] }
    if (base === null) {
      lose(`${this.#whyUnknown()}; spent`, this.#paid)
      return { restored: null, losses }
    }
    if (this.#projected === null && this.#unreadable > 0) lose('top-ups cannot be read', 0)
    this.#isMoney = base.kind !== 'units'
    const { credited: known, spent: knownSpent, reserved: voided, limit } = base
    const proven = this.#provenCredit(known)
    if (proven < 0) lose('more was taken away than is known to have been credited', -proven)
    const credited = Math.max(0, proven)
    // Archived lines are only in the projection; the newest lines may not be in it yet.
    let spent = Math.max(knownSpent + this.#newerSpent, this.#paid)
    if (limit === 0 && spent > credited) {
      lose('more was spent than is known to have been credited', spent - credited)
      spent = credited
    }
    // The newest operation may have ended the bucket earlier than the projection says.
    const ends = this.#newest?.toMs ?? base.toMs
    const bucket = { ...base, toMs: ends, credited, spent, reserved: 0, free: credited - spent }
    const ahead = { credited: credited - known, spent: spent - knownSpent }
    return { restored: { bucket, voided, ahead, isNew: this.#projected === null }, losses }
  }

  /**
   * Lines of refunds do not carry the owner's version: credit of lines beyond the projection is
   * attributed to refunds, as far as there were any.
   */
  #provenCredit(known: number): number {
    const operated = known + this.#newerCredited
    return Math.max(operated, Math.min(this.#creditedByLines, operated + this.#refunded))
  }

  #isPast(bucket: Bucket | null, countersSinceMs: number): boolean {
    if (bucket !== null) return isClosed(bucket, countersSinceMs)
    return this.#isCounter && this.#lastPaidMs <= countersSinceMs
  }

  #whyUnknown(): string {
    if (this.#isCounter) return 'a counter whose period is not recorded starts from zero'
    return this.#unreadable > 0 ? 'its top-ups cannot be read' : 'no top-up is on record'
  }
}

/** The bucket as its newest operation left it, without amounts. */
function newBucket(line: OperationLine): Bucket {
  const { bucketId: id, prepaidIncludeId, kind, usaget, priority, fromMs, toMs } = line
  const { counter = '', limit = 0 } = line
  return {
    id,
    prepaidIncludeId,
    usaget,
    priority,
    fromMs,
    toMs,
    kind: kind === 'units' ? 'units' : usaget === '' ? 'totalCost' : 'cost',
    credited: 0,
    spent: 0,
    reserved: 0,
    free: 0,
    limit,
    counter,
  }
}
