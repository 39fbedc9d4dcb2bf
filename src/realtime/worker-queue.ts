import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { Deadline } from './deadlines.ts'

/** Sender of a request. */
export interface RequestSender {
  /** The client has disconnected and no longer waits for the answer. */
  readonly isGone: boolean
}

/** `isLookup`: see `Pending`. */
export type OnOutcome = (outcome: ChargeOutcome, isLookup: boolean) => void

/** A request submitted to the pool. */
export interface Pending extends Deadline {
  readonly request: ChargeRequest
  readonly client: RequestSender
  /** Called once, then set to null. */
  done: OnOutcome | null
  /** The last queue to which it was pushed. */
  stage: 'main' | 'lookup' | 'customer'
  /** It has waited for a lookup, its own or that of an earlier request of its session. */
  isLookup: boolean
  /** A usage report or termination: charged even if its client has disconnected. */
  readonly isReport: boolean
}

/** A thread that processes batches. */
export interface BatchWorker {
  /** Rejects if the task throws or the thread ends. */
  run(task: WorkerTask): Promise<WorkerResult>
}

export interface WorkerQueueOptions {
  readonly batchSizeMax: number
  readonly batchesInFlightMax: number
  /** Whether its batches may wait for MongoDB, and for a customer system. */
  readonly mayLookUp: boolean
  readonly mayAsk?: boolean
  /** Clock of the deadlines (`processMs`). */
  readonly elapsedMs: () => number
  readonly onBatch: (size: number) => void
  /** A request is not sent because its client no longer waits; nothing was charged. */
  readonly onDropped: (pending: Pending) => void
  readonly onResult: (batch: readonly Pending[], result: WorkerResult) => void
  readonly onFailure: (batch: readonly Pending[], error: unknown) => void
}

/**
 * Queue of one worker. Requests are collected until the current event-loop iteration ends or, while
 * all batches are in flight, until one returns: the busier the worker, the larger the batches.
 */
export class WorkerQueue {
  readonly #options: WorkerQueueOptions
  #worker: BatchWorker
  #queued: Pending[] = []
  /** Batches in flight in order of sending, with the time of sending. */
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

  /** Removes requests at the head of the queue that have already been answered. */
  prune(): void {
    const queued = this.#queued
    let answered = 0
    while (queued[answered]?.done === null) answered += 1
    for (const pending of queued.splice(0, answered)) this.#options.onDropped(pending)
  }

  /** Age of the oldest batch in flight in ms; 0 without one. */
  oldestMs(nowMs: number): number {
    for (const sentMs of this.#batches.values()) return nowMs - sentMs
    return 0
  }

  /** Sends an empty batch if none is in flight: `oldestMs` shows whether the worker answers. */
  probe(nowMs: number): void {
    if (this.#batches.size === 0) this.#send([], nowMs)
  }

  /** Continues with another worker. */
  replace(worker: BatchWorker): void {
    this.#worker = worker
    this.giveUp(Number.POSITIVE_INFINITY, 'worker was replaced')
  }

  /** Batches sent before this time fail, and their late results are ignored. */
  giveUp(untilMs: number, why = 'batch does not end and is given up'): void {
    const overdue = [...this.#batches].filter(([, sentMs]) => sentMs < untilMs)
    for (const [batch] of overdue) this.#batches.delete(batch)
    for (const [batch] of overdue) this.#options.onFailure(batch, new Error(why))
    if (overdue.length > 0) this.#schedule()
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

  /** Requests at the head of the queue whose clients still wait; the others are dropped. */
  #nextBatch(nowMs: number): Pending[] {
    const { batchSizeMax } = this.#options
    const queued = this.#queued
    const batch: Pending[] = []
    const dropped: Pending[] = []
    let next = 0
    for (; next < queued.length && batch.length < batchSizeMax; next += 1) {
      const pending = queued[next] as Pending
      const isPending = pending.done !== null && pending.deadlineMs > nowMs
      const isSendable = isPending && (pending.isReport || !pending.client.isGone)
      if (isSendable) batch.push(pending)
      else dropped.push(pending)
    }
    queued.splice(0, next)
    for (const pending of dropped) this.#options.onDropped(pending)
    return batch
  }

  #send(batch: readonly Pending[], nowMs: number): void {
    const { onBatch, onResult, onFailure, mayLookUp, mayAsk = false } = this.#options
    this.#batches.set(batch, nowMs)
    if (batch.length > 0) onBatch(batch.length)
    let deadlineMs = 0
    for (const pending of batch) deadlineMs = Math.max(deadlineMs, pending.deadlineMs)
    const requests = batch.map((pending) => pending.request)
    const task = { requests, mayLookUp, deadlineMs }
    this.#worker.run(mayAsk ? { ...task, mayAsk } : task).then(
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
