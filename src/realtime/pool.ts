import type { MessagePort } from 'node:worker_threads'
import { assert } from '../domain/assert.ts'
import { type ChargeOutcome, plainOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { WorkerEvent, WorkerResult } from '../domain/worker-task.ts'
import { processMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { Deadlines } from './deadlines.ts'
import { DistantWorker } from './distant-worker.ts'
import { type HangWatch, watchForHangs } from './hang-watch.ts'
import { type BuiltWorker, InlineWorker } from './inline-worker.ts'
import { SessionOrder } from './session-order.ts'
import type { SharedWorkers } from './shared-workers.ts'
import {
  type OnOutcome,
  type Pending,
  type RequestSender,
  WorkerQueue,
  type WorkerQueueOptions,
} from './worker-queue.ts'
import { createRoutes, type Routes } from './worker-routes.ts'
import { awaitStart, WorkerThread } from './worker-thread.ts'

export interface PoolOptions {
  /** Module whose default export serves batches on a port (workers/main.ts). */
  readonly workerFile: URL
  /** Worker data of the thread with this number. */
  readonly workerData: (worker: number) => unknown
  /** Builds the only worker on this event loop; if absent, workers are threads. */
  readonly buildInline?: ((emit: (event: WorkerEvent) => void) => Promise<BuiltWorker>) | undefined
  /** The process ends if this event loop hangs, because an inline worker cannot be replaced. */
  readonly endsIfHanging?: boolean | undefined
  /** Number of workers to start. */
  readonly workers: number
  /** Absent with a single event loop. */
  readonly shared?: SharedWorkers | undefined
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

/** Workers that process charge requests in batches, including those of other event loops. */
export interface Pool {
  /**
   * Resolves when the workers of other event loops answer; throws `WorkerStartError` if one does
   * not. To be called before `submit`, once their pools have started.
   */
  reachOthers(): Promise<void>
  /**
   * Submits a request. It is dropped if `client` disconnects before it is sent, unless `isReport`.
   * `done` is called exactly once, asynchronously: with the worker's outcome, or with `timedOut` if
   * that is late, the client has gone or the worker has ended. Must not be called after `close`.
   */
  submit(request: ChargeRequest, done: OnOutcome, client: RequestSender, isReport?: boolean): void
  /** Ends the threads. Requests in flight are answered `timedOut`. */
  close(): Promise<void>
}

const SWEEP_MS_MAX = 100
/**
 * A worker that has held one batch for this many time-outs is considered dead. A batch that waits
 * for MongoDB or a customer system is then given up: if it continues, its requests are past their
 * deadline and are not charged.
 */
const STALLED_TIMEOUTS = 4
/**
 * Limit of batches per worker that may wait for MongoDB, in addition to `batchesInFlightMax`: a
 * lookup of a subscriber that is not cached delays no other request.
 */
const LOOKUP_BATCHES_IN_FLIGHT_MAX = 8
/**
 * Likewise of batches that may wait for a customer system. They cost the worker nothing while they
 * wait, and it answers at once what exceeds its own limit.
 */
const CUSTOMER_BATCHES_IN_FLIGHT_MAX = 256
/** Starts the workers. Throws `WorkerStartError` if one does not answer an empty batch. */
export async function startPool(options: PoolOptions): Promise<Pool> {
  const { shared, workers } = options
  const first = (shared?.loop ?? 0) * workers
  const own = Array.from({ length: workers }, (_, at) => startWorker(options, first + at))
  try {
    await Promise.all(own.map((worker) => awaitStart(() => worker.started())))
  } catch (error) {
    await Promise.all(own.map((worker) => worker.destroy()))
    throw error
  }
  const total = workers * (shared?.loops ?? 1)
  const all = Array.from({ length: total }, (_, worker) => {
    return own[worker - first] ?? distantWorker(options, worker)
  })
  return new PiscinaPool(options, all)
}

function distantWorker({ shared }: PoolOptions, worker: number): DistantWorker {
  return new DistantWorker((port) => shared?.connect(worker, port))
}

function startWorker(options: PoolOptions, worker: number): WorkerThread | InlineWorker {
  const { buildInline } = options
  if (buildInline === undefined) return startThread(options, worker)
  assert(options.shared === undefined && options.workers === 1, 'an inline worker is the only one')
  return new InlineWorker(buildInline((event) => options.onEvent?.(event)))
}

function startThread(options: PoolOptions, worker: number): WorkerThread {
  return new WorkerThread({
    workerFile: options.workerFile,
    workerData: options.workerData(worker),
    loops: options.shared?.loops ?? 1,
    onError: (error) => options.log.error({ err: error, worker }, 'worker failed'),
    onEvent: (event) => options.onEvent?.(event),
  })
}

type PoolWorker = WorkerThread | InlineWorker | DistantWorker

class PiscinaPool implements Pool {
  readonly #options: PoolOptions
  /** By number, as the queues. */
  readonly #workers: PoolWorker[]
  readonly #queues: WorkerQueue[]
  readonly #lookupQueues: WorkerQueue[]
  readonly #customerQueues: WorkerQueue[]
  readonly #routes: Routes
  readonly #order = new SessionOrder()
  readonly #deadlines = new Deadlines<Pending>()
  readonly #timer: NodeJS.Timeout
  readonly #hangWatch: HangWatch | null
  /** Workers are probed if there are other event loops, once those have been reached. */
  #probedMs = Number.POSITIVE_INFINITY
  #isClosed = false

  constructor(options: PoolOptions, workers: PoolWorker[]) {
    this.#options = options
    this.#workers = workers
    this.#routes = createRoutes(workers.length, options.shared?.routes)
    const { batchesInFlightMax } = options
    this.#queues = workers.map((worker, number) =>
      this.#createQueue(worker, number, { batchesInFlightMax, mayLookUp: false }),
    )
    this.#lookupQueues = workers.map((worker, number) =>
      this.#createQueue(worker, number, {
        batchesInFlightMax: LOOKUP_BATCHES_IN_FLIGHT_MAX,
        mayLookUp: true,
      }),
    )
    this.#customerQueues = workers.map((worker, number) =>
      this.#createQueue(worker, number, {
        batchesInFlightMax: CUSTOMER_BATCHES_IN_FLIGHT_MAX,
        mayLookUp: true,
        mayAsk: true,
      }),
    )
    options.shared?.onConnect((worker, port) => this.#serve(worker, port))
    const sweepMs = Math.min(SWEEP_MS_MAX, Math.ceil(options.requestTimeoutMs / 10))
    this.#timer = setInterval(() => this.#sweep(), sweepMs)
    this.#timer.unref()
    const stalledMs = STALLED_TIMEOUTS * options.requestTimeoutMs
    this.#hangWatch = options.endsIfHanging === true ? watchForHangs(stalledMs) : null
  }

  async reachOthers(): Promise<void> {
    const others = this.#workers.filter((worker) => worker instanceof DistantWorker)
    if (others.length === 0) return
    const nothing = { requests: [], mayLookUp: false, deadlineMs: 0 }
    await Promise.all(others.map((worker) => awaitStart(() => worker.run(nothing))))
    this.#probedMs = processMs()
  }

  submit(request: ChargeRequest, done: OnOutcome, client: RequestSender, isReport = false): void {
    assert(!this.#isClosed, 'the pool is open while requests are admitted')
    const deadlineMs = processMs() + this.#options.requestTimeoutMs
    const pending: Pending = {
      request,
      client,
      done,
      stage: 'main',
      isLookup: false,
      isReport,
      deadlineMs,
      earlier: null,
      later: null,
    }
    this.#deadlines.add(pending)
    const earlier = this.#order.enter(pending)
    if (earlier === undefined) this.#send(pending)
    else if (earlier.stage !== 'main') this.#beginLookup(pending)
  }

  #send(pending: Pending): void {
    this.#queues[this.#routes.workerOf(pending.request)]?.push(pending)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#expire(Number.POSITIVE_INFINITY)
    await this.#hangWatch?.close()
    await Promise.all(this.#workers.map((worker) => worker.destroy()))
  }

  /** Another event loop connects to a worker of this one. */
  #serve(worker: number, port: MessagePort): void {
    const thread = this.#workers[worker]
    if (this.#isClosed || !(thread instanceof WorkerThread)) port.close()
    // If the thread ends, the closed port is what the other event loop sees.
    else thread.serve(port).catch(() => undefined)
  }

  #createQueue(
    worker: PoolWorker,
    number: number,
    kind: Pick<WorkerQueueOptions, 'batchesInFlightMax' | 'mayLookUp' | 'mayAsk'>,
  ): WorkerQueue {
    const { batchSizeMax, onBatch, log } = this.#options
    return new WorkerQueue(worker, {
      ...kind,
      batchSizeMax,
      elapsedMs: processMs,
      onBatch,
      onDropped: (pending) => this.#drop(pending),
      onResult: (batch, result) => this.#deliver(batch, result, number),
      onFailure: (batch, error) => {
        log.error({ err: error, worker: number, requests: batch.length }, 'batch failed')
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
        if (pending.done === null) this.#drop(pending)
        else this.#pushLookup(pending, worker)
        continue
      }
      this.#routes.learn(pending.request, outcome)
      this.#settle(pending, outcome)
      if (outcome.reason === 'timedOut') {
        this.#dropBehind(pending)
        continue
      }
      for (const repeat of this.#order.takeRepeats(pending)) this.#settle(repeat, outcome)
      this.#end(pending)
    }
  }

  /** Without an outcome from the lookup queue it needs the customer system. */
  #pushLookup(pending: Pending, worker: number): void {
    if (pending.stage !== 'main') {
      pending.stage = 'customer'
      this.#customerQueues[worker]?.push(pending)
      return
    }
    pending.stage = 'lookup'
    this.#beginLookup(pending)
    for (const behind of this.#order.behind(pending)) this.#beginLookup(behind)
    this.#lookupQueues[worker]?.push(pending)
  }

  /** For its own lookup, or for that of an earlier request of its session. */
  #beginLookup(pending: Pending): void {
    if (pending.isLookup || pending.done === null) return
    pending.isLookup = true
    this.#options.onLookup?.()
  }

  /** These requests were not charged, or their outcome is unknown as after a time-out. */
  #fail(batch: readonly Pending[]): void {
    for (const pending of batch) {
      this.#settle(pending, plainOutcome('timedOut'))
      this.#dropBehind(pending)
    }
  }

  #drop(pending: Pending): void {
    this.#countDropped(pending)
    this.#fail([pending])
  }

  #dropBehind(pending: Pending): void {
    this.#order.dropBehind(pending, (behind) => {
      this.#countDropped(behind)
      this.#settle(behind, plainOutcome('timedOut'))
    })
    this.#end(pending)
  }

  #end(pending: Pending): void {
    const next = this.#order.next(pending)
    if (next !== undefined) this.#send(next)
  }

  #countDropped({ done, client }: Pending): void {
    this.#options.onDropped?.(done === null || !client.isGone ? 'late' : 'gone')
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
    for (const [worker, queue] of this.#queues.entries()) {
      if (this.#workers[worker] instanceof InlineWorker) queue.giveUp(nowMs - stalledMs)
      else if (queue.oldestMs(nowMs) > stalledMs) this.#replace(worker)
    }
    // The worker answers, but a store or a customer system does not. Until their batches end, the
    // sessions of their requests are blocked.
    for (const queue of this.#lookupQueues) queue.giveUp(nowMs - stalledMs)
    for (const queue of this.#customerQueues) queue.giveUp(nowMs - stalledMs)
    this.#probe(nowMs)
  }

  /** A worker may hang on a batch of another event loop while this one sends it nothing. */
  #probe(nowMs: number): void {
    if (nowMs - this.#probedMs < this.#options.requestTimeoutMs) return
    this.#probedMs = nowMs
    for (const queue of this.#queues) queue.probe(nowMs)
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
    const queues = [this.#queues, this.#lookupQueues, this.#customerQueues]
    for (const queue of queues.flat()) queue.prune()
  }

  /**
   * Piscina replaces a thread that has ended; a thread that hangs or repeatedly fails to start is
   * replaced here. One of another event loop is replaced there; this one connects to it again.
   */
  #replace(worker: number): void {
    const stalled = this.#workers[worker]
    let replacement: PoolWorker
    if (stalled instanceof WorkerThread) {
      this.#options.log.warn({ worker }, 'worker does not answer and is replaced')
      replacement = startThread(this.#options, worker)
    } else replacement = distantWorker(this.#options, worker)
    this.#workers[worker] = replacement
    this.#queues[worker]?.replace(replacement)
    this.#lookupQueues[worker]?.replace(replacement)
    this.#customerQueues[worker]?.replace(replacement)
    void stalled?.destroy()
  }
}
