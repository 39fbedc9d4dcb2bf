/** An additional event loop as seen by the main thread. */
import { type MessagePort, Worker } from 'node:worker_threads'
import type { MetricsSnapshot } from '../runtime/metrics.ts'
import type { FromLoop, LoopData, ToLoop, WorkerPort } from './loop-messages.ts'
import type { ListenPort } from './thread-context.ts'

/** An event loop failed to start or has ended; the message says which one and why. */
export class EventLoopError extends Error {
  override name = 'EventLoopError'
}

/** After this time the last statistics are returned: the loop may be busy or hang. */
const STATISTICS_TIMEOUT_MS = 500
/** A loop that misses this many replies in a row hangs; its connections are lost with it. */
const UNANSWERED_MAX = 20
/** Grace period after an orderly close before the thread is terminated. */
const END_TIMEOUT_MS = 2_000

type MessageType = FromLoop['type']

/** Messages that a failed loop sends too. */
const ENDING: ReadonlySet<MessageType> = new Set(['drained', 'closed'])

export interface LoopHandleOptions {
  /** Called once; a failure before `ready` rejects the pending promise instead. */
  readonly onFailure: (error: EventLoopError) => void
  /** The loop connects to a worker of another one. */
  readonly onConnect: (connection: WorkerPort) => void
}

export class LoopHandle {
  /** Resolves when everything except the sockets is ready. */
  readonly prepared: Promise<void>
  readonly #worker: Worker
  readonly #loop: number
  readonly #ended: Promise<void>
  readonly #options: LoopHandleOptions
  readonly #expected = new Map<MessageType, Expectation>()
  readonly #statisticsRequests = new Map<number, () => void>()
  #lastRequest = 0
  #unanswered = 0
  #latest: MetricsSnapshot | null = null
  #isAlive = true
  #isClosing = false
  #closed: Promise<void> = Promise.resolve()
  #failure: EventLoopError | null = null

  constructor(file: URL, data: LoopData, options: LoopHandleOptions) {
    this.#loop = data.loop
    this.#options = options
    this.#worker = new Worker(file, { workerData: data, name: `realtime-${data.loop}` })
    this.#worker.on('message', (message: FromLoop) => this.#take(message))
    this.#worker.on('error', (error) => this.#fail(error.message))
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        if (!this.#isClosing) this.#fail(`ended with code ${code}`)
        this.#isAlive = false
        resolve()
      })
    })
    this.prepared = this.#expect('prepared')
    // The caller may fail before it awaits this promise.
    this.prepared.catch(() => undefined)
  }

  /** Resolves when the loop accepts requests. */
  async listen(listenPort: ListenPort): Promise<void> {
    const ready = this.#expect('ready')
    this.#post({ type: 'listen', ...listenPort })
    await ready
  }

  /** Current statistics; the previous ones if there is no reply in time, null if none came yet. */
  async statistics(): Promise<MetricsSnapshot | null> {
    if (this.#isClosing) return this.#latest
    this.#lastRequest += 1
    const requestId = this.#lastRequest
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#statisticsRequests.set(requestId, resolve)
      timer = setTimeout(() => {
        this.#countUnanswered()
        resolve()
      }, STATISTICS_TIMEOUT_MS)
      this.#post({ type: 'statistics', requestId })
    })
    clearTimeout(timer)
    this.#statisticsRequests.delete(requestId)
    return this.#latest
  }

  /** Passes the port of another event loop to a worker of this one. */
  connect(worker: number, port: MessagePort): void {
    this.#worker.postMessage({ type: 'connect', worker, port } satisfies ToLoop, [port])
  }

  /**
   * Lets the loop answer requests in flight; it keeps its workers until `release`. Resolves at once
   * if it has ended or accepts no requests yet.
   */
  async drain(): Promise<void> {
    this.#isClosing = true
    this.#closed = this.#expect('closed')
    const drained = this.#expect('drained')
    this.#post({ type: 'close' })
    await Promise.race([drained, this.#closed, this.#ended])
  }

  /** No loop needs the workers of this one any more. */
  release(): void {
    this.#post({ type: 'drained' })
  }

  /** Resolves when the loop has ended, after `drain` and `release`. */
  async close(): Promise<void> {
    await Promise.race([this.#closed, this.#ended])
    const timer = setTimeout(() => void this.#worker.terminate(), END_TIMEOUT_MS)
    await this.#ended
    clearTimeout(timer)
  }

  /**
   * Does not wait (see `NodeState.awaitAbandoned`). Returns false if the thread has already ended.
   */
  abandon(): boolean {
    this.#isClosing = true
    this.#post({ type: 'abandon' })
    return this.#isAlive
  }

  #post(message: ToLoop): void {
    this.#worker.postMessage(message)
  }

  #take(message: FromLoop): void {
    if (message.type === 'failed') this.#fail(message.reason)
    else if (message.type === 'statistics') {
      this.#latest = message.snapshot
      this.#unanswered = 0
      this.#statisticsRequests.get(message.requestId)?.()
    } else if (message.type === 'connect') this.#options.onConnect(message)
    else this.#resolve(message.type)
  }

  #countUnanswered(): void {
    this.#unanswered += 1
    if (this.#unanswered === UNANSWERED_MAX && !this.#isClosing) this.#fail('does not answer')
  }

  #expect(messageType: MessageType): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null && !ENDING.has(messageType)) reject(this.#failure)
      else this.#expected.set(messageType, { resolve, reject })
    })
  }

  #resolve(messageType: MessageType): void {
    this.#expected.get(messageType)?.resolve()
    this.#expected.delete(messageType)
  }

  #fail(reason: string): void {
    if (this.#failure !== null) return
    this.#failure = new EventLoopError(`event loop ${this.#loop}: ${reason}`)
    const starting = [...this.#expected.entries()].filter(
      ([messageType]) => !ENDING.has(messageType),
    )
    for (const [messageType, { reject }] of starting) {
      this.#expected.delete(messageType)
      reject(this.#failure)
    }
    if (starting.length === 0 && !this.#isClosing) this.#options.onFailure(this.#failure)
  }
}

interface Expectation {
  resolve(): void
  reject(error: EventLoopError): void
}
