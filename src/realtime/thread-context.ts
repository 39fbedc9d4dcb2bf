/** Context of an event loop that shares the process with others (`realtime.listeners`). */
import { availableParallelism } from 'node:os'
import type { Config } from '../config/schema.ts'
import type { PortSharing } from './http/listening.ts'
import type { RateTable } from './http/rate-limits.ts'

/** HTTP port of an event loop. */
export interface ListenPort {
  readonly port: number
  /** Null if no other event loop listens there. */
  readonly sharing: PortSharing | null
}

export interface ThreadContext {
  /**
   * Index of the event loop; 0 is the main thread, which runs everything that exists once per
   * process.
   */
  readonly loop: number
  /** Rate limits, shared by all event loops. */
  readonly rates: RateTable
  /** Called when everything except the sockets is ready; resolves when the loop may listen. */
  mayListen(): Promise<ListenPort>
}

/**
 * Configuration of one event loop: its share of the in-flight limits. Diameter runs on the first
 * loop only, because Node cannot share its port. Connections are counted per process, not divided.
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

/** Number of worker threads per event loop. */
export function workersOf(
  { workers, listeners }: Pick<Config['realtime'], 'workers' | 'listeners'>,
  cores = availableParallelism(),
): number {
  return workers === 0 ? Math.max(1, Math.floor((cores - listeners) / listeners)) : workers
}
