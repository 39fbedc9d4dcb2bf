import type { MessagePort } from 'node:worker_threads'
import type { RouteTable } from './worker-routes.ts'

/**
 * The workers of the process as one event loop reaches them: its own, and those of other loops over
 * ports. Workers are numbered over all loops.
 */
export interface SharedWorkers {
  /**
   * Index of the event loop; 0 is the main thread, which runs everything that exists once per
   * process.
   */
  readonly loop: number
  /** Number of event loops, each with as many workers. */
  readonly loops: number
  readonly routes: RouteTable
  /** Passes a port to a worker of another event loop. It is closed when that worker ends. */
  connect(worker: number, port: MessagePort): void
  /** Called once with the function that serves a port by a worker of this event loop. */
  onConnect(serve: ServePort): void
}

export type ServePort = (worker: number, port: MessagePort) => void
