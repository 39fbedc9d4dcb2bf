import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { WorkerEvent, WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import { WorkerChannel } from './worker-channel.ts'
import type { BatchWorker } from './worker-queue.ts'

export interface WorkerThreadOptions {
  /** Module whose default export serves batches on a port (workers/main.ts). */
  readonly workerFile: URL
  readonly workerData: unknown
  /** Event loops that have a port to the thread. */
  readonly loops: number
  /** Receives errors that occur while no batch is in flight. */
  readonly onError: (error: unknown) => void
  readonly onEvent: (event: WorkerEvent) => void
}

/**
 * One thread, started by piscina and restarted when it ends. There is one piscina per thread,
 * because a batch is addressed to one particular worker; its tasks serve the port of one event loop
 * each. As a task of its own each batch cost 10 µs more on either side and waited 40 µs longer.
 */
export class WorkerThread implements BatchWorker {
  readonly #piscina: Piscina
  #channel: WorkerChannel | null = null

  /**
   * `atomics` is disabled: with 'sync' an idle worker would sleep through its Redis socket and its
   * timers.
   */
  constructor({ workerFile, workerData, loops, onError, onEvent }: WorkerThreadOptions) {
    this.#piscina = new Piscina({
      filename: fileURLToPath(workerFile),
      workerData,
      minThreads: 1,
      maxThreads: 1,
      concurrentTasksPerWorker: loops,
      atomics: 'disabled',
      recordTiming: false,
      // Cached owners and sessions are replaced with each request. With V8's default size of the
      // young generation they would be copied repeatedly (docs/PERFORMANCE.md, "Bottlenecks").
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    })
    this.#piscina.on('error', onError)
    this.#piscina.on('message', onEvent)
  }

  /** Resolves when the thread answers; rejects with the reason if it could not be started. */
  async started(): Promise<void> {
    await new Promise((resolve, reject) => {
      this.#piscina.once('error', reject)
      this.run({ requests: [], mayLookUp: false, deadlineMs: 0 }).then(resolve, reject)
    })
  }

  run(task: WorkerTask): Promise<WorkerResult> {
    return (this.#channel ?? this.#open()).run(task)
  }

  /**
   * Passes a port to the thread, or to the next one if it has ended. Resolves when the port is
   * closed, rejects when the thread ends; the port is closed then.
   */
  async serve(port: MessagePort): Promise<void> {
    try {
      await this.#piscina.run({ port }, { transferList: [port] })
    } finally {
      port.close()
    }
  }

  async destroy(): Promise<void> {
    await this.#piscina.destroy()
  }

  /** Messages sent before the thread has started are buffered in the port. */
  #open(): WorkerChannel {
    const { port1, port2 } = new MessageChannel()
    const channel = new WorkerChannel(port1)
    this.serve(port2).then(
      () => this.#end(channel, new Error('worker has stopped serving')),
      (error: unknown) => this.#end(channel, error),
    )
    this.#channel = channel
    return channel
  }

  /** The thread has ended: its batches in flight fail. */
  #end(channel: WorkerChannel, error: unknown): void {
    if (this.#channel === channel) this.#channel = null
    channel.end(error)
  }
}

/** Far more than a start takes, also on a machine that is busy with other starts. */
const START_TIMEOUT_MS = 120_000

/** A worker thread could not be started; see `cause`. */
export class WorkerStartError extends Error {
  override name = 'WorkerStartError'
}

/** Throws `WorkerStartError` if the start of a worker fails or takes too long. */
export async function awaitStart(started: () => Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), START_TIMEOUT_MS)
  })
  try {
    await Promise.race([started(), timedOut])
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new WorkerStartError(`worker did not start: ${why}`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}
