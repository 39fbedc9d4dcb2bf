/**
 * Messages between the main thread and the threads of additional event loops (structured clone).
 */
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../config/schema.ts'
import type { ClockOffset } from '../runtime/clock.ts'
import type { MetricsSnapshot } from '../runtime/metrics.ts'
import type { RateTable } from './http/rate-limits.ts'
import type { ListenPort } from './thread-context.ts'
import type { RouteTable } from './worker-routes.ts'

/** Worker data of such a thread. */
export interface LoopData {
  /** Configuration of this event loop (`loopConfig`). */
  readonly config: Config
  /** Offset of the clock, if it differs from the system clock. */
  readonly ahead?: ClockOffset | undefined
  /** Index of the event loop, from 1. */
  readonly loop: number
  readonly rates: RateTable
  readonly routes: RouteTable
  readonly state: SharedArrayBuffer
  /** Worker module of its pool as a URL; null for the default module. */
  readonly workerFile: string | null
}

export type ToLoop =
  | ({ readonly type: 'listen' } & ListenPort)
  | { readonly type: 'statistics'; readonly requestId: number }
  /** The port of another event loop, to be served by a worker of this one. */
  | ({ readonly type: 'connect' } & WorkerPort)
  /** All event loops have answered their requests. */
  | { readonly type: 'drained' }
  /** Orderly end. */
  | { readonly type: 'close' }
  /** Close all sockets immediately: the process is about to exit. */
  | { readonly type: 'abandon' }

export type FromLoop =
  /** Everything except the sockets is ready. */
  | { readonly type: 'prepared' }
  | { readonly type: 'ready' }
  /** The loop failed to start, or has an uncaught defect. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'statistics'; readonly requestId: number; readonly snapshot: MetricsSnapshot }
  /** To be passed to a worker of another event loop. */
  | ({ readonly type: 'connect' } & WorkerPort)
  /** The loop has answered its requests, and needs no worker any more. */
  | { readonly type: 'drained' }
  | { readonly type: 'closed' }

/** A port to a worker; it is transferred. */
export interface WorkerPort {
  readonly worker: number
  readonly port: MessagePort
}

/** State shared by all event loops of a process, in shared memory. */
export interface NodeState {
  readonly memory: SharedArrayBuffer
  isReady(): boolean
  setReady(isReady: boolean): void
  /** Counts an event loop that has closed its sockets. */
  abandoned(): void
  /**
   * Blocks this thread until `loops` event loops have closed their sockets, or until the timeout.
   */
  awaitAbandoned(loops: number, timeoutMs: number): void
}

const READY = 0
const ABANDONED = 1

export function createNodeState(memory = new SharedArrayBuffer(2 * 4)): NodeState {
  const cells = new Int32Array(memory)
  return {
    memory,
    isReady: () => Atomics.load(cells, READY) === 1,
    setReady: (isReady) => void Atomics.store(cells, READY, isReady ? 1 : 0),
    abandoned() {
      Atomics.add(cells, ABANDONED, 1)
      Atomics.notify(cells, ABANDONED)
    },
    awaitAbandoned(loops, timeoutMs) {
      for (;;) {
        const count = Atomics.load(cells, ABANDONED)
        if (count >= loops) return
        if (Atomics.wait(cells, ABANDONED, count, timeoutMs) === 'timed-out') return
      }
    },
  }
}
