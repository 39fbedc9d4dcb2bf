/** The contract between the main thread and the threads of further event loops. It is cloned. */
import type { Config } from '../config/schema.ts'
import type { MetricsSnapshot } from '../runtime/metrics.ts'
import type { RateTable } from './http/rate-limits.ts'
import type { ListenPort } from './thread-context.ts'

/** What such a thread finds as its worker data. */
export interface LoopData {
  /** Its own settings (`loopConfig`). */
  readonly config: Config
  /** Index of the event loop, from 1. */
  readonly loop: number
  readonly rates: RateTable
  readonly state: SharedArrayBuffer
  /** Worker module of its pool, as a URL; null for that of the built product. */
  readonly workerFile: string | null
}

export type ToLoop =
  | ({ readonly type: 'listen' } & ListenPort)
  | { readonly type: 'figures'; readonly ask: number }
  /** Ends in order. */
  | { readonly type: 'close' }
  /** Lets go of the sockets at once: the process is about to exit. */
  | { readonly type: 'abandon' }

export type FromLoop =
  /** All is there but the sockets. */
  | { readonly type: 'prepared' }
  | { readonly type: 'ready' }
  /** It does not start, or has a defect that nobody caught. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'figures'; readonly ask: number; readonly snapshot: MetricsSnapshot }
  | { readonly type: 'closed' }

/** What all event loops of a process see at once, as numbers in shared memory. */
export interface NodeState {
  readonly memory: SharedArrayBuffer
  isReady(): boolean
  setReady(isReady: boolean): void
  /** One more event loop has let go of its sockets. */
  abandoned(): void
  /** Blocks this thread until so many have, or the time is over. */
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
