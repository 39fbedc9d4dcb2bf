/**
 * Restores the owners of an account from MongoDB after a loss. Pure. The recorder writes lines
 * first, so the projection may be behind them; lines may be archived, so their sums may be below
 * the projection. No owner gets more than is known to have been credited.
 */
import {
  type BalanceDocument,
  DEBT_BUCKET_ID,
} from '../../catalog/records/usage/balance-document.ts'
import type { BalanceLineDocument, LineDocument } from '../../catalog/records/usage/documents.ts'
import { debtsOfLine } from '../../catalog/records/usage/line-document.ts'
import type { PaymentDocument } from '../../catalog/records/usage/line-schemas.ts'
import type { CarriedDocument, CarriedSums } from '../../catalog/records/usage/line-sums.ts'
import { operationLineOf } from '../../catalog/records/usage/recorded-values.ts'
import type { OwnerState } from '../../domain/bucket.ts'
import type { OperationLine } from '../../domain/line.ts'
import { BucketRecords, type Loss, type RestoredBucket } from './bucket-records.ts'

export interface RestoredOwner {
  /** Null if there is nothing to restore: no bucket and no debt. */
  state: OwnerState | null
  buckets: RestoredBucket[]
  /** Debt of lines that the projection does not include. */
  debtAhead: number
  losses: Loss[]
}

/**
 * More than the number of commits that can still be in flight from before the loss: records of the
 * restored owner are newer than all of them.
 */
export const VERSIONS_SKIPPED = 1_000_000

/** Records older than these instants are not restored, epoch ms. */
export interface RestoreCutoffs {
  /** Ids of operations, needed for their repetition. */
  operationsMs: number
  /** Counters by the end of their period; older ones are closed. */
  countersMs: number
}

/**
 * Collects the records of an account: projections first, then sums of removed lines, then lines.
 */
export class AccountRecords {
  readonly aid: number
  readonly operations: OperationLine[] = []
  lines = 0
  readonly #owners = new Map<number, OwnerRecords>()
  readonly #since: RestoreCutoffs

  constructor(aid: number, since: RestoreCutoffs) {
    this.aid = aid
    this.#since = since
  }

  addProjection(document: BalanceDocument): void {
    this.#owner(document.sid).addProjection(document)
  }

  /** Adds the sums of lines that retention has removed. */
  addCarried({ sid, own, shared }: CarriedDocument): void {
    this.#owner(sid).addCarried(own)
    const hasShared = shared.buckets.length > 0 || shared.owed !== 0
    if (hasShared) this.#owner(0).addCarried(shared)
  }

  addLine(line: LineDocument): void {
    this.lines += 1
    const owner = this.#owner(line.sid)
    if (line.type === 'balance') {
      const operation = owner.addOperation(line)
      if (operation !== null && operation.atMs > this.#since.operationsMs)
        this.operations.push(operation)
      return
    }
    // Lines may have other sources; only charging pays from buckets.
    if (line.type !== 'realtime') return
    const debts = debtsOfLine(line)
    owner.owedByLines += debts.subscriber
    if (debts.account !== 0) this.#owner(0).owedByLines += debts.account
    for (const payment of line.payments) {
      const payer = payment.owner === 'account' ? this.#owner(0) : owner
      payer.addPayment(payment, line.urt)
    }
  }

  restore(): RestoredOwner[] {
    return [...this.#owners.values()]
      .sort((a, b) => a.sid - b.sid)
      .map((owner) => owner.restore(this.aid, this.#since.countersMs))
  }

  #owner(sid: number): OwnerRecords {
    const known = this.#owners.get(sid)
    if (known !== undefined) return known
    const owner = new OwnerRecords(sid)
    this.#owners.set(sid, owner)
    return owner
  }
}

class OwnerRecords {
  readonly sid: number
  owedByLines = 0
  readonly #buckets = new Map<number, BucketRecords>()
  #version = 0
  #nextBucketId = 1
  /** Version of the newest projection. */
  #projectedVersion = 0
  #owed = 0
  #repaid = 0
  #newerRepaid = 0

  constructor(sid: number) {
    this.sid = sid
  }

  /** Only readable values of a damaged document are used. */
  addProjection(document: BalanceDocument): void {
    const { bucket_id, v, owner } = document
    // A newer projection may have less debt: a dropped counter returns it.
    const isNewest = amountIn(v) >= this.#projectedVersion
    if (bucket_id !== DEBT_BUCKET_ID) this.#bucket(bucket_id).addProjection(document)
    this.#projectedVersion = Math.max(this.#projectedVersion, amountIn(v))
    this.#version = Math.max(this.#version, amountIn(v))
    if (isNewest) {
      this.#owed = amountIn(owner?.owed_micros)
      this.#repaid = amountIn(owner?.repaid_micros)
    }
    this.#nextBucketId = Math.max(this.#nextBucketId, amountIn(owner?.next_bucket_id))
  }

  /** Repayments of removed lines are in the projection, which is far newer. */
  addCarried({ buckets, owed }: CarriedSums): void {
    this.owedByLines += owed
    for (const sums of buckets) this.#bucket(sums.id).addCarried(sums)
  }

  addPayment(payment: PaymentDocument, at: unknown): void {
    this.#bucket(payment.bucket_id).addPayment(payment, at)
  }

  addOperation(document: BalanceLineDocument): OperationLine | null {
    if (document.bucket_id === 0) return this.#addOwnerLine(document)
    const line = this.#bucket(document.bucket_id).addOperation(document)
    if (line === null) return null
    this.#version = Math.max(this.#version, line.version)
    const { owed = 0, repaid = line.repaid } = line.mended ?? {}
    this.owedByLines += owed
    if (line.version > this.#projectedVersion) this.#newerRepaid += repaid
    return line
  }

  /** Adds an operation line without a bucket, such as a correction of debt; its version counts. */
  #addOwnerLine(document: BalanceLineDocument): OperationLine | null {
    const line = operationLineOf(document)
    this.#version = Math.max(this.#version, line?.version ?? 0)
    this.owedByLines += line?.mended?.owed ?? 0
    return line
  }

  restore(aid: number, countersSinceMs: number): RestoredOwner {
    const { sid } = this
    const buckets: RestoredBucket[] = []
    const losses: Loss[] = []
    for (const records of [...this.#buckets.values()].sort((a, b) => a.id - b.id)) {
      const { restored, losses: lost } = records.restore(countersSinceMs)
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

  #bucket(id: number): BucketRecords {
    const known = this.#buckets.get(id)
    if (known !== undefined) return known
    const records = new BucketRecords(this.sid, id)
    this.#buckets.set(id, records)
    this.#nextBucketId = Math.max(this.#nextBucketId, id + 1)
    return records
  }
}

function amountIn(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0
}
