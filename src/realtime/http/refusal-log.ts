/** Logs refused requests with their source, bounded so that no client can fill the log. */
import type { Logger } from '../../runtime/log.ts'
import type { RefusalCause } from '../../runtime/request-metrics.ts'

export interface RefusedRequest {
  /** '' if the sender is unknown. */
  readonly peer: string
  readonly cause: RefusalCause
  /** '' if the client has disconnected. */
  readonly address: string
  /** The invalid field and the reason; never its value. */
  readonly why: string
}

export type RefusalLog = (refused: RefusedRequest) => void

/**
 * Causes with credentials that are not permitted to charge. Other refusals are probes, or too
 * early, and are only counted.
 */
const LOGGED: ReadonlySet<RefusalCause> = new Set([
  ...(['credentials', 'certificate', 'address', 'role', 'file_type'] as const),
])

/**
 * Interval in which the same address, cause and peer are logged once, with a count of the others.
 */
const QUIET_MS = 60_000
/** Limit over all addresses in this interval. */
const LINES_MAX = 60
/** Limit of addresses; the oldest is dropped first. */
const ADDRESSES_MAX = 1_000

interface LoggedRefusal {
  readonly sinceMs: number
  unlogged: number
}

/** `elapsedMs`: a monotonic clock. */
export function createRefusalLog(log: Pick<Logger, 'warn'>, elapsedMs: () => number): RefusalLog {
  const logged = new Map<string, LoggedRefusal>()
  let sinceMs = elapsedMs()
  let lines = 0
  let unlogged = 0

  return (refused) => {
    if (!LOGGED.has(refused.cause)) return
    const nowMs = elapsedMs()
    if (nowMs - sinceMs >= QUIET_MS) {
      sinceMs = nowMs
      lines = 0
      if (unlogged > 0) log.warn({ refusals: unlogged }, 'refusals of further addresses')
      unlogged = 0
    }
    const { peer, cause, address } = refused
    const key = `${cause} ${peer} ${address}`
    const previous = logged.get(key)
    if (previous !== undefined && nowMs - previous.sinceMs < QUIET_MS) {
      previous.unlogged += 1
      return
    }
    if (lines >= LINES_MAX) {
      unlogged += 1
      return
    }
    lines += 1
    logged.delete(key)
    logged.set(key, { sinceMs: nowMs, unlogged: 0 })
    if (logged.size > ADDRESSES_MAX) logged.delete(logged.keys().next().value ?? '')
    const repeated = previous?.unlogged ?? 0
    log.warn(repeated > 0 ? { ...refused, repeated } : refused, 'a charge request is refused')
  }
}
