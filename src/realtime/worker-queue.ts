import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, sessionNameOf } from '../domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { Deadline } from './deadlines.ts'

/** Who sent a request, and waits for its answer. */
export interface RequestSender {
  /** It does not wait any more: it has gone. */
  readonly isGone: boolean
}

/** `isAside`: the request was set aside to wait for MongoDB. */
export type OnOutcome = (outcome: ChargeOutcome, isAside: boolean) => void

/** A request on its way through the pool. */
export interface Pending extends Deadline {
  readonly request: ChargeRequest
  readonly client: RequestSender
  /** Called once; null afterwards. */
  done: OnOutcome | null
  /** It has been set aside to wait for MongoDB. */
  isLookup: boolean
  /** It reports usage or ends its session: it is charged also if its client has gone. */
  readonly isReport: boolean
}

/** A thread that takes batches. */
export interface BatchWorker {
  /** Rejects if the task throws or the thread ends. */
  run(task: WorkerTask): Promise<WorkerResult>
}

export interface WorkerQueueOptions {
  readonly batchSizeMax: number
  readonly batchesInFlightMax: number
  /** Whether its batches may wait for MongoDB. */
  readonly mayLookUp: boolean
  /** `processMs`, as are the deadlines. */
  readonly elapsedMs: () => number
  readonly onBatch: (size: number) => void
  /** A request is not sent, because nobody waits for it any more; nothing moved. */
  readonly onDropped: (pending: Pending) => void
  readonly onResult: (batch: readonly Pending[], result: WorkerResult) => void
  readonly onFailure: (batch: readonly Pending[], error: unknown) => void
}

/**
 * The way to one worker. Requests gather until the turn of the event loop ends, or, when all
 * batches are under way, until one returns: the busier the worker, the larger the batches.
 */
export class WorkerQueue {
  readonly #options: WorkerQueueOptions
  #worker: BatchWorker
  #queued: Pending[] = []
  /** Batches under way, in the order of sending, with the time of sending. */
  #batches = new Map<readonly Pending[], number>()
  #isScheduled = false

  constructor(worker: BatchWorker, options: WorkerQueueOptions) {
    this.#worker = worker
    this.#options = options
  }

  push(pending: Pending): void {
    this.#queued.push(pending)
    this.#schedule()
  }

  /** Forgets the first of those that wait for a batch as far as they have been answered. */
  prune(): void {
    const gathered = this.#queued
    const lost = new Set<string>()
    let next = 0
    for (; gathered[next]?.done === null; next += 1) this.#drop(gathered[next] as Pending, lost)
    if (next === 0) return
    gathered.splice(0, next)
    this.#dropFollowers(lost)
  }

  /** How long the oldest batch has been under way, in milliseconds; 0 without one. */
  oldestMs(nowMs: number): number {
    for (const sentMs of this.#batches.values()) return nowMs - sentMs
    return 0
  }

  /** Goes on with another worker. What was under way is lost: late results are dropped. */
  replace(worker: BatchWorker): void {
    const lost = [...this.#batches.keys()]
    this.#batches = new Map()
    this.#worker = worker
    for (const batch of lost) this.#options.onFailure(batch, new Error('worker was replaced'))
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queued.length === 0) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  #flush = (): void => {
    this.#isScheduled = false
    const { batchesInFlightMax, elapsedMs } = this.#options
    if (this.#batches.size >= batchesInFlightMax) return
    const nowMs = elapsedMs()
    while (this.#queued.length > 0 && this.#batches.size < batchesInFlightMax) {
      const batch = this.#nextBatch(nowMs)
      if (batch.length > 0) this.#send(batch, nowMs)
    }
  }

  /** The first of those that are still waited for; what nobody waits for is dropped on the way. */
  #nextBatch(nowMs: number): Pending[] {
    const { batchSizeMax } = this.#options
    const gathered = this.#queued
    const batch: Pending[] = []
    let lost: Set<string> | null = null
    let next = 0
    for (; next < gathered.length && batch.length < batchSizeMax; next += 1) {
      const pending = gathered[next] as Pending
      const isWaitedFor = pending.done !== null && pending.deadlineMs > nowMs
      const isSound = isWaitedFor && (pending.isReport || !pending.client.isGone)
      if (isSound && (lost === null || !lost.has(sessionOf(pending)))) {
        batch.push(pending)
        continue
      }
      lost ??= new Set()
      this.#drop(pending, lost)
    }
    gathered.splice(0, next)
    if (lost !== null) this.#dropFollowers(lost)
    return batch
  }

  #drop(pending: Pending, lost: Set<string>): void {
    lost.add(sessionOf(pending))
    this.#options.onDropped(pending)
  }

  /**
   * What follows in a session upon a request that was dropped is dropped, too: it would be settled
   * with a higher number, and what was reported before it could never be repeated.
   */
  #dropFollowers(lost: ReadonlySet<string>): void {
    this.#queued = this.#queued.filter((pending) => {
      if (!lost.has(sessionOf(pending))) return true
      this.#options.onDropped(pending)
      return false
    })
  }

  #send(batch: readonly Pending[], nowMs: number): void {
    const { onBatch, onResult, onFailure, mayLookUp } = this.#options
    this.#batches.set(batch, nowMs)
    onBatch(batch.length)
    let deadlineMs = 0
    for (const pending of batch) deadlineMs = Math.max(deadlineMs, pending.deadlineMs)
    const requests = batch.map((pending) => pending.request)
    this.#worker.run({ requests, mayLookUp, deadlineMs }).then(
      (result) => {
        if (!this.#batches.delete(batch)) return
        onResult(batch, result)
        this.#schedule()
      },
      (error: unknown) => {
        if (!this.#batches.delete(batch)) return
        onFailure(batch, error)
        this.#schedule()
      },
    )
  }
}

function sessionOf({ request }: Pending): string {
  return sessionNameOf(request)
}
