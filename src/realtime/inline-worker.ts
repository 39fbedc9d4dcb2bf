import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import type { WorkerEvent, WorkerResult, WorkerTask } from '../domain/worker-task.ts'
import type { BatchWorker } from './worker-queue.ts'

/** A worker without a thread (workers/build.ts). */
export interface BuiltWorker {
  process(task: WorkerTask): Promise<WorkerResult>
  /** Called when no batch is in flight. */
  close(): Promise<void>
}

/** Builds the worker with this worker data. Passed in, because its modules use the stores. */
export type BuildWorker<Data> = (
  data: Data,
  emit: (event: WorkerEvent) => void,
) => Promise<BuiltWorker>

/**
 * A worker on the event loop that sends to it: a batch crosses no thread. Nothing can replace it if
 * it hangs, because the event loop hangs with it (hang-watch.ts).
 */
export class InlineWorker implements BatchWorker {
  readonly #built: Promise<BuiltWorker>
  #worker: BuiltWorker | null = null

  constructor(built: Promise<BuiltWorker>) {
    this.#built = built
    // `started` reports the error.
    built.catch(() => undefined)
  }

  /** Resolves when batches can be processed; rejects with the reason if it cannot be built. */
  async started(): Promise<void> {
    this.#worker = await this.#built
  }

  async run(task: WorkerTask): Promise<WorkerResult> {
    const worker = this.#worker ?? (await this.#built)
    for (const request of task.requests) detach(request)
    return worker.process(task)
  }

  async destroy(): Promise<void> {
    await (await this.#built.catch(() => null))?.close()
  }
}

/**
 * Replaces texts that the worker caches by copies: a text cut from a message would keep the whole
 * message in memory. On its way to a thread each text is copied.
 */
function detach(request: ChargeRequest): void {
  request.sessionId = copied(request.sessionId)
  request.stamp = copied(request.stamp)
  request.subscriberValue = copied(request.subscriberValue)
  request.fields = copiedFields(request.fields)
  for (const service of request.services) detachService(service)
}

function detachService(service: ServiceRequest): void {
  service.calledNumber = copied(service.calledNumber)
  service.fields = copiedFields(service.fields)
}

function copiedFields(fields: ChargeRequest['fields']): ChargeRequest['fields'] {
  if (fields === null) return null
  return Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, copied(text)]))
}

/** V8 copies shorter texts anyway. */
const CUT_LENGTH_MIN = 13
const copies = Buffer.alloc(1024)

function copied(text: string): string {
  const { length } = text
  if (length < CUT_LENGTH_MIN) return text
  // Equal lengths: all its characters are ASCII.
  if (length < copies.length && copies.write(text, 'utf8') === length) {
    return copies.toString('latin1', 0, length)
  }
  return structuredClone(text)
}
