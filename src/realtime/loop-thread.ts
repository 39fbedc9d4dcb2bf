/** Thread of an additional event loop (`realtime.listeners`). */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../config/schema.ts'
import { assert } from '../domain/assert.ts'
import { clockWith } from '../runtime/clock.ts'
import { createLogger, type Logger } from '../runtime/log.ts'
import { createMetrics, type Metrics } from '../runtime/metrics.ts'
import {
  createNodeState,
  type FromLoop,
  type LoopData,
  type NodeState,
  type ToLoop,
} from './loop-messages.ts'
import type { ServePort } from './shared-workers.ts'
import { type Realtime, type RealtimeOptions, startRealtime } from './start.ts'
import type { ListenPort, ThreadContext } from './thread-context.ts'

/** Dependencies that the composition root passes to charging, equal for all event loops. */
export type Wiring = Pick<RealtimeOptions, 'defaults' | 'rules' | 'follow' | 'buildWorker'>

/**
 * Serves until the main thread ends it. Reports a defect to the main thread, which then stops the
 * node.
 */
export function runLoop(wire: (config: Config, log: Logger) => Promise<Wiring>): void {
  const data = workerData as LoopData
  const log = createLogger({ name: `realtime-${data.loop}`, level: data.config.log.level })
  const loop = new LoopThread(data, log)
  for (const defect of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(defect, (error: unknown) => {
      log.fatal({ err: error }, defect)
      post({ type: 'failed', reason: reasonOf(error) })
    })
  }
  parentPort?.on('message', (message: ToLoop) => loop.take(message))
  void loop.start(wire)
}

class LoopThread {
  readonly #data: LoopData
  readonly #log: Logger
  readonly #metrics: Metrics
  readonly #state: NodeState
  #realtime: Realtime | null = null
  #starting: Promise<void> = Promise.resolve()
  #open: ((listenPort: ListenPort) => void) | null = null
  #refuse: ((error: Error) => void) | null = null
  #serve: ServePort | null = null
  #release: (() => void) | null = null
  #isEnding = false

  constructor(data: LoopData, log: Logger) {
    this.#data = data
    this.#log = log
    this.#metrics = createMetrics({ node: '', role: 'realtime' }, data.loop)
    this.#state = createNodeState(data.state)
  }

  start(wire: (config: Config, log: Logger) => Promise<Wiring>): Promise<void> {
    this.#starting = this.#start(wire).catch((error: unknown) => {
      post({ type: 'failed', reason: reasonOf(error) })
    })
    return this.#starting
  }

  take(message: ToLoop): void {
    if (message.type === 'listen') this.#open?.(message)
    else if (message.type === 'statistics') void this.#postStatistics(message.requestId)
    else if (message.type === 'connect') this.#serve?.(message.worker, message.port)
    else if (message.type === 'drained') this.#release?.()
    else if (message.type === 'close') void this.#close()
    else this.#abandon()
  }

  async #start(wire: (config: Config, log: Logger) => Promise<Wiring>): Promise<void> {
    const { config, workerFile } = this.#data
    const wiring = await wire(config, this.#log)
    this.#realtime = await startRealtime({
      ...wiring,
      config,
      log: this.#log,
      metrics: this.#metrics,
      clock: clockWith(this.#data.ahead),
      isLedgerThere: () => this.#state.isReady(),
      threadContext: this.#context(),
      ...(workerFile === null ? {} : { workerFile: new URL(workerFile) }),
    })
    post({ type: 'ready' })
  }

  #context(): ThreadContext {
    const { config, loop, rates, routes } = this.#data
    return {
      loop,
      loops: config.realtime.listeners,
      rates,
      routes,
      connect: (worker, port) => post({ type: 'connect', worker, port }, [port]),
      onConnect: (serve) => {
        this.#serve = serve
      },
      mayListen: () => this.#mayListen(),
      drained: () => this.#drained(),
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#release = resolve
      post({ type: 'drained' })
    })
  }

  #mayListen(): Promise<ListenPort> {
    return new Promise((resolve, reject) => {
      this.#open = resolve
      this.#refuse = reject
      if (this.#isEnding) reject(ENDING)
      else post({ type: 'prepared' })
    })
  }

  async #postStatistics(requestId: number): Promise<void> {
    post({ type: 'statistics', requestId, snapshot: await this.#metrics.snapshot() })
  }

  async #close(): Promise<void> {
    this.#isEnding = true
    this.#refuse?.(ENDING)
    await this.#starting
    try {
      await this.#realtime?.close()
    } catch (error) {
      this.#log.error({ err: error }, 'event loop did not end in order')
    }
    post({ type: 'closed' })
    parentPort?.close()
  }

  #abandon(): void {
    this.#isEnding = true
    this.#refuse?.(ENDING)
    this.#realtime?.abandon()
    // Socket handles are closed in the next iteration of the event loop.
    setImmediate(() => this.#state.abandoned())
  }
}

const ENDING = new Error('the node is stopping')

function post(message: FromLoop, ports: readonly MessagePort[] = []): void {
  assert(parentPort !== null, 'an event loop has a main thread')
  parentPort.postMessage(message, ports)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
