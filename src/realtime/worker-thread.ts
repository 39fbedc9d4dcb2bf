import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { packTask, type ReplyMessage, unpackResult } from '../domain/hand-over.ts'
import type { WorkerNews, WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { BatchWorker } from './lane.ts'

export interface WorkerThreadOptions {
  /** Module whose default export takes a port to serve batches at (workers/serve.ts). */
  readonly workerFile: URL
  readonly workerData: unknown
  /** What fails while no batch is under way. */
  readonly onError: (error: unknown) => void
  readonly onNews: (news: WorkerNews) => void
}

/** Who waits for a batch. */
interface Waiter {
  readonly resolve: (result: WorkerResult) => void
  readonly reject: (error: unknown) => void
}

/** The way to the thread as long as that lives. */
interface Line {
  readonly port: MessagePort
  readonly waiting: Map<number, Waiter>
}

/**
 * One thread, which piscina starts, and starts anew when it ends. It is one piscina per thread,
 * because a batch is meant for one worker and no other, with one task per thread that never ends:
 * serving a port. As a task of its own each batch cost 10 µs more on either side, and waited 40 µs
 * longer.
 */
export class WorkerThread implements BatchWorker {
  readonly #piscina: Piscina
  #line: Line | null = null
  #lastId = 0

  /**
   * `atomics` is disabled: with 'sync' an idle worker would sleep through its Redis socket and its
   * timers.
   */
  constructor({ workerFile, workerData, onError, onNews }: WorkerThreadOptions) {
    this.#piscina = new Piscina({
      filename: fileURLToPath(workerFile),
      workerData,
      minThreads: 1,
      maxThreads: 1,
      atomics: 'disabled',
      recordTiming: false,
      // Cached owners and sessions are replaced with each request, and with V8's default they are
      // copied about on the way (docs/PERFORMANCE.md, "Bottlenecks").
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    })
    this.#piscina.on('error', onError)
    this.#piscina.on('message', onNews)
  }

  /** Resolves when the thread answers; rejects with why it could not be started. */
  async started(): Promise<void> {
    await new Promise((resolve, reject) => {
      this.#piscina.once('error', reject)
      this.run({ requests: [], mayLookUp: false, deadlineMs: 0 }).then(resolve, reject)
    })
  }

  run(task: WorkerTask): Promise<WorkerResult> {
    const { port, waiting } = this.#line ?? this.#open()
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

  /** What is sent before the thread has started waits in the port. */
  #open(): Line {
    const { port1: port, port2 } = new MessageChannel()
    const line: Line = { port, waiting: new Map() }
    port.on('message', (reply: ReplyMessage) => take(line, reply))
    const serving = this.#piscina.run({ port: port2 }, { transferList: [port2] })
    serving.then(
      () => this.#end(line, new Error('worker does not serve any more')),
      (error: unknown) => this.#end(line, error),
    )
    this.#line = line
    return line
  }

  /** The thread has ended, and with it what was under way. */
  #end(line: Line, error: unknown): void {
    if (this.#line === line) this.#line = null
    line.port.close()
    for (const { reject } of line.waiting.values()) reject(error)
    line.waiting.clear()
  }
}

function take({ waiting }: Line, reply: ReplyMessage): void {
  const waiter = waiting.get(reply.id)
  waiting.delete(reply.id)
  if (waiter === undefined) return
  if ('error' in reply) waiter.reject(reply.error)
  else waiter.resolve(unpackResult(reply))
}
