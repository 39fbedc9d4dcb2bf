/** Says who was refused, and from where, without letting anybody fill the log. */
import type { Logger } from '../../runtime/log.ts'
import type { RefusalCause } from '../../runtime/request-metrics.ts'

export interface RefusedRequest {
  /** '' if it is not known who sent it. */
  readonly peer: string
  readonly cause: RefusalCause
  /** '' if the client has gone. */
  readonly address: string
  /** The field that is wrong, and why; never its value. */
  readonly why: string
}

export type RefusalLog = (refused: RefusedRequest) => void

/**
 * Who came with credentials and may not charge; others are probes, or merely early, and counted.
 */
const LOGGED: ReadonlySet<RefusalCause> = new Set([
  ...(['credentials', 'certificate', 'address', 'role', 'file_type'] as const),
])

/** The same address, cause and peer have one line in this time, with the number of the others. */
const QUIET_MS = 60_000
/** Of all addresses together in this time. */
const LINES_MAX = 60
/** Addresses that are remembered; the oldest is forgotten first. */
const ADDRESSES_MAX = 1_000

interface LoggedRefusal {
  readonly sinceMs: number
  unlogged: number
}

/** `elapsedMs` never goes back. */
export function createRefusalLog(log: Pick<Logger, 'warn'>, elapsedMs: () => number): RefusalLog {
  const kept = new Map<string, LoggedRefusal>()
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
    const known = kept.get(key)
    if (known !== undefined && nowMs - known.sinceMs < QUIET_MS) {
      known.unlogged += 1
      return
    }
    if (lines >= LINES_MAX) {
      unlogged += 1
      return
    }
    lines += 1
    kept.delete(key)
    kept.set(key, { sinceMs: nowMs, unlogged: 0 })
    if (kept.size > ADDRESSES_MAX) kept.delete(kept.keys().next().value ?? '')
    const repeated = known?.unlogged ?? 0
    log.warn(repeated > 0 ? { ...refused, repeated } : refused, 'a charge request is refused')
  }
}
