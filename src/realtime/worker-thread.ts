import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { packTask, type ReplyMessage, unpackResult } from '../domain/worker-protocol.ts'
import type { WorkerEvent, WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { BatchWorker } from './worker-queue.ts'

export interface WorkerThreadOptions {
  /** Module whose default export serves batches on a port (workers/serve.ts). */
  readonly workerFile: URL
  readonly workerData: unknown
  /** Receives errors that occur while no batch is in flight. */
  readonly onError: (error: unknown) => void
  readonly onEvent: (event: WorkerEvent) => void
}

/** Callbacks of a batch in flight. */
interface PendingBatch {
  readonly resolve: (result: WorkerResult) => void
  readonly reject: (error: unknown) => void
}

/** Connection to the thread while it is alive. */
interface WorkerChannel {
  readonly port: MessagePort
  readonly waiting: Map<number, PendingBatch>
}

/**
 * One thread, started by piscina and restarted when it ends. There is one piscina per thread,
 * because a batch is addressed to one particular worker; its only task serves a port and never
 * ends. As a task of its own each batch cost 10 µs more on either side and waited 40 µs longer.
 */
export class WorkerThread implements BatchWorker {
  readonly #piscina: Piscina
  #channel: WorkerChannel | null = null
  #lastId = 0

  /**
   * `atomics` is disabled: with 'sync' an idle worker would sleep through its Redis socket and its
   * timers.
   */
  constructor({ workerFile, workerData, onError, onEvent }: WorkerThreadOptions) {
    this.#piscina = new Piscina({
      filename: fileURLToPath(workerFile),
      workerData,
      minThreads: 1,
      maxThreads: 1,
      atomics: 'disabled',
      recordTiming: false,
      // Cached owners and sessions are replaced with each request. With V8's default size of the
      // young generation they would be copied repeatedly (docs/PERFORMANCE.md, "What holds it
      // now").
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
    const { port, waiting } = this.#channel ?? this.#open()
    this.#lastId += 1
    const id = this.#lastId
    const { numbers, texts } = packTask(task)
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      port.postMessage({ id, numbers, texts })
    })
  }

  async destroy(): Promise<void> {
    await this.#piscina.destroy()
  }

  /** Messages sent before the thread has started are buffered in the port. */
  #open(): WorkerChannel {
    const { port1: port, port2 } = new MessageChannel()
    const line: WorkerChannel = { port, waiting: new Map() }
    port.on('message', (reply: ReplyMessage) => take(line, reply))
    const serving = this.#piscina.run({ port: port2 }, { transferList: [port2] })
    serving.then(
      () => this.#end(line, new Error('worker has stopped serving')),
      (error: unknown) => this.#end(line, error),
    )
    this.#channel = line
    return line
  }

  /** The thread has ended: its batches in flight fail. */
  #end(line: WorkerChannel, error: unknown): void {
    if (this.#channel === line) this.#channel = null
    line.port.close()
    for (const { reject } of line.waiting.values()) reject(error)
    line.waiting.clear()
  }
}

function take({ waiting }: WorkerChannel, reply: ReplyMessage): void {
  const pending = waiting.get(reply.id)
  waiting.delete(reply.id)
  if (pending === undefined) return
  if ('error' in reply) pending.reject(reply.error)
  else pending.resolve(unpackResult(reply))
}
