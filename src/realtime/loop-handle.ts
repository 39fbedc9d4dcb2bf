/** An additional event loop as seen by the main thread. */
import { Worker } from 'node:worker_threads'
import type { MetricsSnapshot } from '../runtime/metrics.ts'
import type { FromLoop, LoopData, ToLoop } from './loop-messages.ts'
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

export class LoopHandle {
  /** Resolves when everything except the sockets is ready. */
  readonly prepared: Promise<void>
  readonly #worker: Worker
  readonly #loop: number
  readonly #ended: Promise<void>
  readonly #onFailure: (error: EventLoopError) => void
  readonly #expected = new Map<MessageType, Expectation>()
  readonly #statisticsRequests = new Map<number, () => void>()
  #lastRequest = 0
  #unanswered = 0
  #latest: MetricsSnapshot | null = null
  #isAlive = true
  #isClosing = false
  #failure: EventLoopError | null = null

  /** `onFailure` is called once; a failure before `ready` rejects the pending promise instead. */
  constructor(file: URL, data: LoopData, onFailure: (error: EventLoopError) => void) {
    this.#loop = data.loop
    this.#onFailure = onFailure
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

  /** Lets the loop answer requests in flight, then ends it. */
  async close(): Promise<void> {
    this.#isClosing = true
    const closed = this.#expect('closed')
    this.#post({ type: 'close' })
    await Promise.race([closed, this.#ended])
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
    } else this.#resolve(message.type)
  }

  #countUnanswered(): void {
    this.#unanswered += 1
    if (this.#unanswered === UNANSWERED_MAX && !this.#isClosing) this.#fail('does not answer')
  }

  #expect(messageType: MessageType): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null && messageType !== 'closed') reject(this.#failure)
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
      ([messageType]) => messageType !== 'closed',
    )
    for (const [messageType, { reject }] of starting) {
      this.#expected.delete(messageType)
      reject(this.#failure)
    }
    if (starting.length === 0 && !this.#isClosing) this.#onFailure(this.#failure)
  }
}

interface Expectation {
  resolve(): void
  reject(error: EventLoopError): void
}
