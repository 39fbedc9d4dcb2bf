/**
 * Sweeps all partitions once per interval, evenly spread. If more is due than one batch, it pauses
 * between batches as long as each took, so that at least half of the time is left for charging.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Ledger } from '../ledger/ledger.ts'
import { endLostSessions } from '../ledger/restarts.ts'
import { type SweepResult, sweepPartition } from '../ledger/sweep.ts'
import { type Clock, monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { createOutage } from './outage.ts'

export interface SweeperOptions {
  ledger: Ledger
  log: Logger
  metrics: Pick<Metrics, 'sessionsExpired'>
  clock: Clock
  intervalMs: number
  batchMax: number
  replayMs: number
  /** Distinguishes this sweeper from those of other processes. */
  token: string
}

export interface Sweeper {
  stop(): Promise<void>
}

/** A batch that was interrupted, or lost to concurrent traffic, is repeated after this time. */
const LEASE_MS = 5_000
const PAUSE_MS_MAX = 1_000
/** Then the other partitions are swept. */
const BATCHES_IN_A_ROW_MAX = 16
/** For a session whose account is changed concurrently. */
const ATTEMPTS_MAX = 8

export function startSweeper(options: SweeperOptions): Sweeper {
  const { ledger, log, metrics, clock, intervalMs } = options
  const abort = new AbortController()
  const outage = createOutage('sweep', PAUSE_MS_MAX, log, abort.signal)
  const pauseMs = intervalMs / ledger.keys.partitions
  const settings = {
    batchMax: options.batchMax,
    leaseMs: LEASE_MS,
    replayMs: options.replayMs,
    token: options.token,
    onExpired: (sessions: number) => metrics.sessionsExpired(sessions),
  }

  const sweep = async (partition: number): Promise<SweepResult['status']> => {
    const swept = await sweepPartition(ledger, partition, settings, clock.nowMs())
    outage.over()
    if (swept.corrupt > 0) {
      log.error({ partition, sessions: swept.corrupt }, 'sessions of corrupt owners were not swept')
    }
    return swept.status
  }

  const rest = async (pauseMs: number): Promise<void> => {
    await delay(pauseMs, undefined, { signal: abort.signal }).catch(() => undefined)
  }

  const sweepAll = async (partition: number): Promise<void> => {
    for (let batch = 1; batch <= BATCHES_IN_A_ROW_MAX && !abort.signal.aborted; batch += 1) {
      const beginMs = monotonicMs()
      if ((await sweep(partition)) !== 'more') return
      await rest(Math.min(monotonicMs() - beginMs, PAUSE_MS_MAX))
    }
  }

  const endLost = async (): Promise<void> => {
    const sessions = await endLostSessions(ledger, {
      settings: { attemptsMax: ATTEMPTS_MAX, replayMs: options.replayMs },
      nowMs: () => clock.nowMs(),
      onExpired: settings.onExpired,
      isStopping: () => abort.signal.aborted,
    })
    if (sessions > 0) log.info({ sessions }, 'ended sessions that restarted clients had lost')
  }

  const run = async (): Promise<void> => {
    for (let partition = 0; !abort.signal.aborted; ) {
      if (partition === 0) await endLost().catch((error: unknown) => outage.failed(error))
      // A failed partition must not delay the others; it is retried in the next interval.
      await sweepAll(partition).catch((error: unknown) => outage.failed(error))
      partition = (partition + 1) % ledger.keys.partitions
      await rest(pauseMs)
    }
  }

  const done = run()
  return {
    async stop() {
      abort.abort()
      await done
    },
  }
}
