/** Charging with several event loops (`realtime.listeners`). */
import { nextDescriptor } from './descriptors.ts'
import { createRateTable } from './http/rate-limits.ts'
import { type EventLoopError, LoopHandle } from './loop-handle.ts'
import { createNodeState, type LoopData, type NodeState, type WorkerPort } from './loop-messages.ts'
import type { ServePort } from './shared-workers.ts'
import { type Realtime, type RealtimeOptions, startRealtime } from './start.ts'
import { loopConfig, type ThreadContext, workersOf } from './thread-context.ts'
import { createRouteTable } from './worker-routes.ts'

export interface ListenersOptions extends Omit<RealtimeOptions, 'threadContext'> {
  /** Module of the thread of an additional event loop, which calls `runLoop`. */
  readonly loopFile: URL
  /** An event loop has ended or has a defect: called once, after which the node has to stop. */
  readonly onFailure: (error: EventLoopError) => void
}

/** Interval at which additional event loops are notified whether the node is ready, ms. */
const READINESS_MS = 100
/** Time within which additional event loops must close their sockets when the process exits. */
const ABANDON_TIMEOUT_MS = 500

/**
 * Starts the event loops: this thread runs the first one, each other one has its own thread. Each
 * starts its own workers, and all use the workers of all. All share the HTTP port. Throws as
 * `startRealtime` does, and `EventLoopError`.
 */
export async function startListeners(options: ListenersOptions): Promise<Realtime> {
  const { listeners } = options.config.realtime
  return listeners === 1 ? startRealtime(options) : new Listeners(options).start()
}

class Listeners {
  readonly #options: ListenersOptions
  readonly #state: NodeState = createNodeState()
  readonly #rates = createRateTable()
  readonly #routes = createRouteTable()
  readonly #loops: LoopHandle[]
  #first: Realtime | null = null
  #serveFirst: ServePort | null = null
  #othersDrained: Promise<unknown> = Promise.resolve()
  #firstDescriptor = 0
  #isComplete = false
  #hasFailed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: ListenersOptions) {
    this.#options = options
    const others = Array.from({ length: options.config.realtime.listeners - 1 }, (_, i) => i + 1)
    this.#loops = others.map((loop) => {
      return new LoopHandle(options.loopFile, this.#dataOf(loop), {
        onFailure: (error) => this.#fail(error),
        onConnect: (connection) => this.#connect(connection),
      })
    })
    process.once('exit', this.#abandon)
  }

  async start(): Promise<Realtime> {
    try {
      this.#first = await this.#startFirst()
      await this.#openOthers(this.#first.port)
    } catch (error) {
      await this.#close()
      throw error
    }
    this.#options.metrics.readLoops(() => this.#statistics())
    const { port, diameterPort, diameterTlsPort } = this.#first
    return {
      port,
      diameterPort,
      diameterTlsPort,
      close: () => this.#close(),
      abandon: this.#abandon,
    }
  }

  #dataOf(loop: number): LoopData {
    const { config, clock, workerFile } = this.#options
    return {
      ahead: clock.ahead,
      config: loopConfig(config, loop),
      loop,
      rates: this.#rates,
      routes: this.#routes,
      state: this.#state.memory,
      workerFile: workerFile?.href ?? null,
    }
  }

  /**
   * The first loop listens when all others are prepared, so that a port in use is detected by
   * exactly one loop.
   */
  #startFirst(): Promise<Realtime> {
    const { config, isLedgerThere = () => true } = this.#options
    return startRealtime({
      ...this.#options,
      config: loopConfig(config, 0),
      isLedgerThere: () => this.#isComplete && isLedgerThere(),
      threadContext: this.#contextOfFirst(),
    })
  }

  #contextOfFirst(): ThreadContext {
    const { realtime } = this.#options.config
    return {
      loop: 0,
      loops: realtime.listeners,
      rates: this.#rates,
      routes: this.#routes,
      connect: (worker, port) => this.#connect({ worker, port }),
      onConnect: (serve) => {
        this.#serveFirst = serve
      },
      mayListen: async () => {
        await Promise.all(this.#loops.map(({ prepared }) => prepared))
        this.#firstDescriptor = nextDescriptor()
        const sharing = { isFirst: true, firstDescriptor: this.#firstDescriptor }
        return { port: realtime.port, sharing }
      },
      drained: () => this.#drained(),
    }
  }

  /** Passes the port to the event loop of the worker. */
  #connect({ worker, port }: WorkerPort): void {
    const owner = Math.floor(worker / workersOf(this.#options.config.realtime))
    if (owner === 0) this.#serveFirst?.(worker, port)
    else this.#loops[owner - 1]?.connect(worker, port)
  }

  /** The first loop has answered its requests: workers end when the others have, too. */
  async #drained(): Promise<void> {
    await this.#othersDrained
    for (const loop of this.#loops) loop.release()
  }

  async #openOthers(port: number): Promise<void> {
    const sharing = { isFirst: false, firstDescriptor: this.#firstDescriptor }
    await Promise.all(this.#loops.map((loop) => loop.listen({ port, sharing })))
    const { isRedisFit = () => true, isLedgerThere = () => true } = this.#options
    const notify = () => this.#state.setReady(this.#isComplete && isRedisFit() && isLedgerThere())
    this.#isComplete = true
    notify()
    this.#timer = setInterval(notify, READINESS_MS)
    this.#timer.unref()
  }

  async #statistics() {
    const statistics = await Promise.all(this.#loops.map((loop) => loop.statistics()))
    return statistics.filter((one) => one !== null)
  }

  #fail(error: EventLoopError): void {
    this.#isComplete = false
    this.#state.setReady(false)
    if (!this.#hasFailed) this.#options.onFailure(error)
    this.#hasFailed = true
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    this.#isComplete = false
    this.#state.setReady(false)
    this.#othersDrained = Promise.all(this.#loops.map((loop) => loop.drain()))
    const first = this.#first === null ? this.#drained() : this.#first.close()
    await Promise.all([first, ...this.#loops.map((loop) => loop.close())])
    process.removeListener('exit', this.#abandon)
  }

  /** A thread that ends with open sockets would abort the process (libuv). */
  #abandon = (): void => {
    const alive = this.#loops.filter((loop) => loop.abandon())
    this.#state.awaitAbandoned(alive.length, ABANDON_TIMEOUT_MS)
  }
}
