/** Context of an event loop that shares the process with others (`realtime.listeners`). */
import type { Config } from '../config/schema.ts'
import { availableCores } from '../runtime/cores.ts'
import type { PortSharing } from './http/listening.ts'
import type { RateTable } from './http/rate-limits.ts'
import type { SharedWorkers } from './shared-workers.ts'

/** HTTP port of an event loop. */
export interface ListenPort {
  readonly port: number
  /** Null if no other event loop listens there. */
  readonly sharing: PortSharing | null
}

export interface ThreadContext extends SharedWorkers {
  /** Rate limits, shared by all event loops. */
  readonly rates: RateTable
  /** Called when everything except the sockets is ready; resolves when the loop may listen. */
  mayListen(): Promise<ListenPort>
  /**
   * Called when this event loop has answered its requests; resolves when all have, so that workers
   * end last.
   */
  drained(): Promise<void>
}

/**
 * Configuration of one event loop: its share of the in-flight limits, also of those of a worker,
 * because all loops send to it. Diameter runs on the first
 * loop only, because Node cannot share its port. Connections are counted per process, not divided.
 */
export function loopConfig(config: Config, loop: number): Config {
  const { realtime, diameter } = config
  const { listeners } = realtime
  const inFlightMax = Math.max(1, Math.floor(realtime.inFlightMax / listeners))
  const batchesInFlightMax = Math.ceil(realtime.batchesInFlightMax / listeners)
  const reportsBytesMax = Math.floor(realtime.reportsBytesMax / listeners)
  return {
    ...config,
    realtime: { ...realtime, inFlightMax, batchesInFlightMax, reportsBytesMax },
    diameter: { ...diameter, enabled: diameter.enabled && loop === 0 },
  }
}

/** Whether the only worker runs on the event loop, without a thread (`realtime.workerKind`). */
export function isInline(
  { workerKind, workers, listeners }: WorkerChoice,
  cores = availableCores(),
): boolean {
  if (workerKind !== 'auto') return workerKind === 'inline'
  return workers <= 1 && listeners === 1 && cores <= INLINE_CORES_MAX
}

export type WorkerChoice = Pick<Config['realtime'], 'workerKind' | 'workers' | 'listeners'>

/** With more cores, a thread uses one that would otherwise be idle. */
const INLINE_CORES_MAX = 2

/** Number of workers per event loop. */
export function workersOf(
  { workers, listeners }: Pick<Config['realtime'], 'workers' | 'listeners'>,
  cores = availableCores(),
): number {
  return workers === 0 ? Math.max(1, Math.floor((cores - listeners) / listeners)) : workers
}
