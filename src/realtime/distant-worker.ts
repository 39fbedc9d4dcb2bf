import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import { WorkerChannel } from './worker-channel.ts'
import type { BatchWorker } from './worker-queue.ts'

/**
 * A worker that another event loop has started, reached over a port of its own. The port closes
 * when the worker ends; the next batch goes to its replacement over another one.
 */
export class DistantWorker implements BatchWorker {
  readonly #connect: (port: MessagePort) => void
  #channel: WorkerChannel | null = null

  /** `connect` passes a port to the worker, or later to its replacement. */
  constructor(connect: (port: MessagePort) => void) {
    this.#connect = connect
  }

  run(task: WorkerTask): Promise<WorkerResult> {
    return (this.#channel ?? this.#open()).run(task)
  }

  /** Batches in flight fail. */
  async destroy(): Promise<void> {
    this.#channel?.end(new Error('connection to the worker was closed'))
    this.#channel = null
  }

  /** Messages sent before the worker has the port are buffered in it. */
  #open(): WorkerChannel {
    const { port1, port2 } = new MessageChannel()
    const channel = new WorkerChannel(port1)
    port1.once('close', () => {
      if (this.#channel === channel) this.#channel = null
      channel.end(new Error('worker of another event loop has ended'))
    })
    this.#connect(port2)
    this.#channel = channel
    return channel
  }
}
