/** What an event loop is told that is not alone (`realtime.listeners`), and what it gets of all. */
import { availableParallelism } from 'node:os'
import type { Config } from '../config/schema.ts'
import type { PortSharing } from './http/listening.ts'
import type { RateTable } from './http/rate-limits.ts'

/** Where an event loop takes requests over HTTP. */
export interface ListenPort {
  readonly port: number
  /** Null: nobody else listens there. */
  readonly sharing: PortSharing | null
}

export interface ThreadContext {
  /** Index of the event loop; 0 is the main thread, which has everything that there is once. */
  readonly loop: number
  /** What peers have sent, over all event loops. */
  readonly rates: RateTable
  /** Called when all but the sockets is there; resolves when it may listen. */
  mayListen(): Promise<ListenPort>
}

/**
 * The settings of one event loop: its part of what the process may have under way. Diameter is only
 * with the first: Node cannot share its port. Connections are counted by the process, not divided.
 */
export function loopConfig(config: Config, loop: number): Config {
  const { realtime, diameter } = config
  const { listeners } = realtime
  const inFlightMax = Math.max(1, Math.floor(realtime.inFlightMax / listeners))
  const reportsBytesMax = Math.floor(realtime.reportsBytesMax / listeners)
  return {
    ...config,
    realtime: { ...realtime, inFlightMax, reportsBytesMax },
    diameter: { ...diameter, enabled: diameter.enabled && loop === 0 },
  }
}

/** Worker threads of each event loop. */
export function workersOf(
  { workers, listeners }: Pick<Config['realtime'], 'workers' | 'listeners'>,
  cores = availableParallelism(),
): number {
  return workers === 0 ? Math.max(1, Math.floor((cores - listeners) / listeners)) : workers
}
