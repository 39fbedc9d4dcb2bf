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
  /** Module whose default export takes a port to serve batches at (workers/serve.ts). */
  readonly workerFile: URL
  /** What the thread with this index finds as its worker data. */
  readonly workerData: (index: number) => unknown
  readonly workers: number
  readonly batchSizeMax: number
  readonly batchesInFlightMax: number
  readonly requestTimeoutMs: number
  readonly log: Pick<Logger, 'warn' | 'error'>
  readonly onBatch: (size: number) => void
  /** A request waits for MongoDB from now on, beside the others. */
  readonly onLookup?: () => void
  /** A request was not charged: nobody waited for it any more when its turn came. */
  readonly onDropped?: (cause: 'late' | 'gone') => void
  /** What a worker tells unasked; so does one that took the place of another. */
  readonly onEvent?: (news: WorkerEvent) => void
  /** Counters of the workers, to be added up. */
  readonly onStats: (stats: Readonly<Record<string, number>>) => void
}

/** Worker threads that answer charge requests in batches. */
export interface Pool {
  /**
   * Hands a request over, unless `client` goes before its turn comes; with `isReport` also then.
   * `done` is called exactly once, later: with the worker's outcome, or with `timedOut` if that did
   * not come in time, the client has gone or the worker ended. Not after `close`.
   */
  submit(request: ChargeRequest, done: OnOutcome, client: RequestSender, isReport?: boolean): void
  /** Ends the threads. What is still under way is answered `timedOut`. */
  close(): Promise<void>
}

/** A worker thread could not be started; the cause says why. */
export class WorkerStartError extends Error {
  override name = 'WorkerStartError'
}

/** Sessions and subscribers whose account the router remembers; about 150 bytes each. */
const ROUTES_LEARNED_MAX = 200_000
const SWEEP_MS_MAX = 100
/** A worker that sits on one batch for this many time-outs is taken for dead. */
const STALLED_TIMEOUTS = 4
/**
 * Batches of a worker that may wait for MongoDB: they wait beside the others, so that subscribers
 * that are not in memory delay nobody else, whatever MongoDB does.
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
    onEvent: (news) => options.onEvent?.(news),
  })
}

async function awaitStart(thread: WorkerThread): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), START_TIMEOUT_MS)
  })
  try {
    await Promise.race([thread.started(), late])
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
      const figures = { requests: batch.length, outcomes: outcomes.length }
      this.#options.log.error(figures, 'worker returned another number of outcomes')
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

  /** What became of these requests is not known, as with a time-out. */
  #fail(batch: readonly Pending[]): void {
    for (const pending of batch) this.#settle(pending, plainOutcome('timedOut'))
  }

  #drop(pending: Pending): void {
    const isLate = pending.done === null || !pending.client.isGone
    this.#options.onDropped?.(isLate ? 'late' : 'gone')
    this.#settle(pending, plainOutcome('timedOut'))
  }

  /** Answers, unless the request has been answered before. */
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
    for (const [index, lane] of this.#queues.entries()) {
      if (lane.oldestMs(nowMs) > stalledMs) this.#restart(lane, index)
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
    for (const lane of this.#queues) lane.prune()
    for (const lane of this.#lookupQueues) lane.prune()
  }

  /** Piscina replaces a thread that ends; one that hangs, or fails at each start, is up to us. */
  #restart(lane: WorkerQueue, index: number): void {
    this.#options.log.warn({ worker: index }, 'worker does not answer and is replaced')
    const stalled = this.#threads[index]
    const thread = startThread(this.#options, index)
    this.#threads[index] = thread
    lane.replace(thread)
    this.#lookupQueues[index]?.replace(thread)
    void stalled?.destroy()
  }
}
