import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { Deadline } from './deadlines.ts'

/** A request on its way through the pool. */
export interface Pending extends Deadline {
  readonly request: ChargeRequest
  /** Called once; null afterwards. */
  done: ((outcome: ChargeOutcome) => void) | null
}

/** A thread that takes batches. */
export interface BatchWorker {
  /** Rejects if the task throws or the thread ends. */
  run(task: WorkerTask): Promise<WorkerResult>
}

export interface LaneOptions {
  readonly batchSizeMax: number
  readonly batchesInFlightMax: number
  /** Whether its batches may wait for MongoDB. */
  readonly mayLookUp: boolean
  /** Milliseconds of this thread, for durations. */
  readonly elapsedMs: () => number
  readonly onBatch: (size: number) => void
  readonly onResult: (batch: readonly Pending[], result: WorkerResult) => void
  readonly onFailure: (batch: readonly Pending[], error: unknown) => void
}

/**
 * The way to one worker. Requests gather until the turn of the event loop ends, or, when all
 * batches are under way, until one returns: the busier the worker, the larger the batches.
 */
export class Lane {
  readonly #options: LaneOptions
  #worker: BatchWorker
  #gathered: Pending[] = []
  /** Batches under way, in the order of sending, with the time of sending. */
  #batches = new Map<readonly Pending[], number>()
  #isScheduled = false

  constructor(worker: BatchWorker, options: LaneOptions) {
    this.#worker = worker
    this.#options = options
  }

  push(pending: Pending): void {
    this.#gathered.push(pending)
    this.#schedule()
  }

  /** Forgets the first of those that wait for a batch as far as they have been answered. */
  prune(): void {
    const first = this.#gathered.findIndex((pending) => pending.done !== null)
    this.#gathered.splice(0, first < 0 ? this.#gathered.length : first)
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
    if (this.#isScheduled || this.#gathered.length === 0) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  #flush = (): void => {
    this.#isScheduled = false
    const { batchSizeMax, batchesInFlightMax } = this.#options
    while (this.#gathered.length > 0 && this.#batches.size < batchesInFlightMax) {
      this.#send(this.#gathered.splice(0, batchSizeMax))
    }
  }

  #send(batch: readonly Pending[]): void {
    const { onBatch, onResult, onFailure, elapsedMs, mayLookUp } = this.#options
    this.#batches.set(batch, elapsedMs())
    onBatch(batch.length)
    const requests = batch.map((pending) => pending.request)
    this.#worker.run({ requests, mayLookUp }).then(
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
