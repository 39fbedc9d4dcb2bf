/**
 * Rejects new sessions while the recorder's backlog takes too much of Redis' memory; the rest is
 * for open sessions. An outage leaves the last verdict unchanged.
 */
import { backlogPercent, readBacklog, Threshold } from '../ledger/backlog.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Logger } from '../runtime/log.ts'

export interface BacklogWatchOptions {
  ledger: Ledger
  backlogWarnPercent: number
  backlogRefusePercent: number
  /** Logs the start and the end of each state, in one worker per process. */
  log: Pick<Logger, 'info' | 'warn' | 'error'> | null
  everyMs?: number
}

export interface BacklogWatch {
  /** Why new sessions are rejected now; null if they are not. */
  refusal(): string | null
  /** Reads once, independently of the timer. Throws `StoreDownError`. */
  look(): Promise<void>
  stop(): void
}

const EVERY_MS = 1_000
/**
 * How far the backlog has to shrink below a threshold before its effect ends, in percent of memory.
 */
const SLACK_PERCENT = 5

export function startBacklogWatch(options: BacklogWatchOptions): BacklogWatch {
  const { ledger, log, backlogWarnPercent, backlogRefusePercent, everyMs = EVERY_MS } = options
  const warning = thresholdAt(backlogWarnPercent)
  const refusing = thresholdAt(backlogRefusePercent)
  let refusal: string | null = null

  const look = async () => {
    const backlog = await readBacklog(ledger)
    const percent = backlogPercent(backlog)
    const values = { ...backlog, percent: Math.round(percent) }
    if (warning.update(percent)) {
      if (warning.isExceeded) log?.warn(values, 'backlog: the recorder lags behind')
      else log?.info(values, 'backlog: the recorder has caught up')
    }
    if (refusing.update(percent)) {
      if (refusing.isExceeded) log?.error(values, 'backlog: new sessions are rejected')
      else log?.warn(values, 'backlog: new sessions are accepted again')
    }
    refusal = refusing.isExceeded
      ? `the recorder's backlog takes ${values.percent} % of the memory of Redis`
      : null
  }

  let isLooking = false
  const timer = setInterval(() => {
    if (isLooking) return
    isLooking = true
    look()
      .catch(() => undefined)
      .finally(() => {
        isLooking = false
      })
  }, everyMs)
  timer.unref()
  return { refusal: () => refusal, look, stop: () => clearInterval(timer) }
}

/** An empty backlog has to be below the lower mark of any threshold. */
function thresholdAt(percent: number): Threshold {
  return new Threshold(percent, Math.max(percent - SLACK_PERCENT, percent / 2))
}
