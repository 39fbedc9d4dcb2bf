import { assert } from '../domain/assert.ts'
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { WorkerEvent, WorkerResult } from '../domain/worker-task.ts'
import { processMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { Deadlines } from './deadlines.ts'
import { createRoutes, type Routes } from './routes.ts'
import { type OnOutcome, type Pending, type RequestSender, WorkerQueue } from './worker-queue.ts'
import { WorkerThread } from './worker-thread.ts'

export interface PoolOptions {
  /** Module whose default export serves batches on a port (workers/serve.ts). */
  readonly workerFile: URL
  /** Worker data of the thread with this index. */
  readonly workerData: (index: number) => unknown
  readonly workers: number
  readonly batchSizeMax: number
  readonly batchesInFlightMax: number
  readonly requestTimeoutMs: number
  readonly log: Pick<Logger, 'warn' | 'error'>
  readonly onBatch: (size: number) => void
  /** A request starts to wait for a MongoDB lookup. */
  readonly onLookup?: () => void
  /**
   * A request was not charged: it had timed out (`late`) or its client had gone when it would have
   * been sent.
   */
  readonly onDropped?: (cause: 'late' | 'gone') => void
  /** An event sent by a worker on its own, including a replacement worker. */
  readonly onEvent?: (event: WorkerEvent) => void
  /** Counters of the workers, to be accumulated. */
  readonly onStats: (stats: Readonly<Record<string, number>>) => void
}

/** Worker threads that process charge requests in batches. */
export interface Pool {
  /**
   * Submits a request. It is dropped if `client` disconnects before it is sent, unless `isReport`.
   * `done` is called exactly once, asynchronously: with the worker's outcome, or with `timedOut` if
   * that is late, the client has gone or the worker has ended. Must not be called after `close`.
   */
  submit(request: ChargeRequest, done: OnOutcome, client: RequestSender, isReport?: boolean): void
  /** Ends the threads. Requests in flight are answered `timedOut`. */
  close(): Promise<void>
}

/** A worker thread could not be started; see `cause`. */
export class WorkerStartError extends Error {
  override name = 'WorkerStartError'
}

/** Sessions and subscribers whose account the router caches; about 150 bytes each. */
const ROUTES_LEARNED_MAX = 200_000
const SWEEP_MS_MAX = 100
/** A worker that has held one batch for this many time-outs is considered dead. */
const STALLED_TIMEOUTS = 4
/**
 * Limit of batches per worker that may wait for MongoDB, in addition to `batchesInFlightMax`: a
 * lookup of a subscriber that is not cached delays no other request.
 */
const LOOKUP_BATCHES_IN_FLIGHT_MAX = 8
const START_TIMEOUT_MS = 30_000

/** Starts the threads. Throws `WorkerStartError` if one does not answer an empty batch. */
export async function startPool(options: PoolOptions): Promise<Pool> {
  const threads = Array.from({ length: options.workers }, (_, index) => startThread(options, index))
  try {
    await Promise.all(threads.map(awaitStart))
  } catch (error) {
    await Promise.all(threads.map((thread) => thread.destroy()))
    throw error
  }
  return new PiscinaPool(options, threads)
}

function startThread(options: PoolOptions, index: number): WorkerThread {
  return new WorkerThread({
    workerFile: options.workerFile,
    workerData: options.workerData(index),
    onError: (error) => options.log.error({ err: error, worker: index }, 'worker failed'),
    onEvent: (event) => options.onEvent?.(event),
  })
}

async function awaitStart(thread: WorkerThread): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), START_TIMEOUT_MS)
  })
  try {
    await Promise.race([thread.started(), timedOut])
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new WorkerStartError(`worker thread did not start: ${why}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

class PiscinaPool implements Pool {
  readonly #options: PoolOptions
  readonly #threads: WorkerThread[]
  readonly #queues: WorkerQueue[]
  readonly #lookupQueues: WorkerQueue[]
  readonly #routes: Routes
  readonly #deadlines = new Deadlines<Pending>()
  readonly #timer: NodeJS.Timeout
  #isClosed = false

  constructor(options: PoolOptions, threads: WorkerThread[]) {
    this.#options = options
    this.#threads = threads
    this.#routes = createRoutes(threads.length, ROUTES_LEARNED_MAX)
    const { batchesInFlightMax } = options
    this.#queues = threads.map((thread, index) =>
      this.#createQueue(thread, index, { batchesInFlightMax, mayLookUp: false }),
    )
    this.#lookupQueues = threads.map((thread, index) =>
      this.#createQueue(thread, index, {
        batchesInFlightMax: LOOKUP_BATCHES_IN_FLIGHT_MAX,
        mayLookUp: true,
      }),
    )
    const sweepMs = Math.min(SWEEP_MS_MAX, Math.ceil(options.requestTimeoutMs / 10))
    this.#timer = setInterval(() => this.#sweep(), sweepMs)
    this.#timer.unref()
  }

  submit(request: ChargeRequest, done: OnOutcome, client: RequestSender, isReport = false): void {
    assert(!this.#isClosed, 'the pool is open while requests are admitted')
    const deadlineMs = processMs() + this.#options.requestTimeoutMs
    const pending: Pending = {
      request,
      client,
      done,
      isLookup: false,
      isReport,
      deadlineMs,
      earlier: null,
      later: null,
    }
    this.#deadlines.add(pending)
    this.#queues[this.#routes.workerOf(request)]?.push(pending)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#expire(Number.POSITIVE_INFINITY)
    await Promise.all(this.#threads.map((thread) => thread.destroy()))
  }

  #createQueue(
    thread: WorkerThread,
    index: number,
    kind: { batchesInFlightMax: number; mayLookUp: boolean },
  ): WorkerQueue {
    const { batchSizeMax, onBatch, log } = this.#options
    return new WorkerQueue(thread, {
      ...kind,
      batchSizeMax,
      elapsedMs: processMs,
      onBatch,
      onDropped: (pending) => this.#drop(pending),
      onResult: (batch, result) => this.#deliver(batch, result, index),
      onFailure: (batch, error) => {
        log.error({ err: error, worker: index, requests: batch.length }, 'batch failed')
        this.#fail(batch)
      },
    })
  }

  #deliver(batch: readonly Pending[], { outcomes, stats }: WorkerResult, worker: number): void {
    if (outcomes.length !== batch.length) {
      const counts = { requests: batch.length, outcomes: outcomes.length }
      this.#options.log.error(counts, 'worker returned a wrong number of outcomes')
      this.#fail(batch)
      return
    }
    this.#options.onStats(stats)
    for (let index = 0; index < batch.length; index += 1) {
      const pending = batch[index] as Pending
      const outcome = outcomes[index] as ChargeOutcome | null
      if (outcome === null) {
        if (pending.done !== null) this.#pushLookup(pending, worker)
        continue
      }
      this.#routes.learn(pending.request, outcome)
      this.#settle(pending, outcome)
    }
  }

  #pushLookup(pending: Pending, worker: number): void {
    if (!pending.isLookup) this.#options.onLookup?.()
    pending.isLookup = true
    this.#lookupQueues[worker]?.push(pending)
  }

  /** The outcome of these requests is unknown, as after a time-out. */
  #fail(batch: readonly Pending[]): void {
    for (const pending of batch) this.#settle(pending, plainOutcome('timedOut'))
  }

  #drop(pending: Pending): void {
    const isLate = pending.done === null || !pending.client.isGone
    this.#options.onDropped?.(isLate ? 'late' : 'gone')
    this.#settle(pending, plainOutcome('timedOut'))
  }

  /** Calls `done` unless the request has already been answered. */
  #settle(pending: Pending, outcome: ChargeOutcome): void {
    const { done } = pending
    if (done === null) return
    pending.done = null
    this.#deadlines.remove(pending)
    done(outcome, pending.isLookup)
  }

  #sweep(): void {
    const nowMs = processMs()
    this.#expire(nowMs)
    const stalledMs = STALLED_TIMEOUTS * this.#options.requestTimeoutMs
    for (const [index, queue] of this.#queues.entries()) {
      if (queue.oldestMs(nowMs) > stalledMs) this.#restart(queue, index)
    }
  }

  #expire(nowMs: number): void {
    let pending = this.#deadlines.takeExpired(nowMs)
    if (pending === null) return
    while (pending !== null) {
      const { done } = pending
      pending.done = null
      done?.(plainOutcome('timedOut'), pending.isLookup)
      pending = this.#deadlines.takeExpired(nowMs)
    }
    for (const queue of this.#queues) queue.prune()
    for (const queue of this.#lookupQueues) queue.prune()
  }

  /**
   * Piscina replaces a thread that has ended; a thread that hangs or repeatedly fails to start is
   * replaced here.
   */
  #restart(queue: WorkerQueue, index: number): void {
    this.#options.log.warn({ worker: index }, 'worker does not answer and is replaced')
    const stalled = this.#threads[index]
    const thread = startThread(this.#options, index)
    this.#threads[index] = thread
    queue.replace(thread)
    this.#lookupQueues[index]?.replace(thread)
    void stalled?.destroy()
  }
}
