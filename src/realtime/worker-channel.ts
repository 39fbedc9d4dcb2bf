import type { MessagePort } from 'node:worker_threads'
import { unpackResult } from '../domain/packed-outcomes.ts'
import { packTask, type ReplyMessage } from '../domain/worker-protocol.ts'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'

/** Callbacks of a batch in flight. */
interface PendingBatch {
  readonly resolve: (result: WorkerResult) => void
  readonly reject: (error: unknown) => void
}

/** Connection to a worker thread while it is alive: a port, and the batches in flight on it. */
export class WorkerChannel {
  readonly #port: MessagePort
  readonly #waiting = new Map<number, PendingBatch>()
  #lastId = 0

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (reply: ReplyMessage) => this.#take(reply))
  }

  run(task: WorkerTask): Promise<WorkerResult> {
    this.#lastId += 1
    const id = this.#lastId
    const { numbers, texts } = packTask(task)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#port.postMessage({ id, numbers, texts })
    })
  }

  /** Closes the port: batches in flight fail. */
  end(error: unknown): void {
    this.#port.close()
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  #take(reply: ReplyMessage): void {
    const pending = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (pending === undefined) return
    if ('error' in reply) pending.reject(reply.error)
    else pending.resolve(unpackResult(reply))
  }
}
