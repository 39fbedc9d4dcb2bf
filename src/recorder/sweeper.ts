/** Sweeps all partitions once per interval, evenly spread, so that no moment has all the work. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Ledger } from '../ledger/ledger.ts'
import { sweepPartition } from '../ledger/sweep.ts'
import type { Clock } from '../runtime/clock.ts'
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
}

export interface Sweeper {
  stop(): Promise<void>
}

/** A sweep that was cut off, or met a conflict, is repeated after so long. */
const LEASE_MS = 5_000
const PAUSE_MS_MAX = 1_000

export function startSweeper(options: SweeperOptions): Sweeper {
  const { ledger, log, metrics, clock, intervalMs } = options
  const abort = new AbortController()
  const outage = createOutage('sweep', PAUSE_MS_MAX, log, abort.signal)
  const pauseMs = intervalMs / ledger.keys.partitions
  const settings = {
    batchMax: options.batchMax,
    leaseMs: LEASE_MS,
    replayMs: options.replayMs,
  }

  const sweep = async (partition: number): Promise<void> => {
    const swept = await sweepPartition(ledger, partition, settings, clock.nowMs())
    outage.over()
    if (swept.expired > 0) metrics.sessionsExpired(swept.expired)
    if (swept.corrupt > 0) {
      log.error({ partition, sessions: swept.corrupt }, 'sessions of damaged owners not swept')
    }
  }

  const run = async (): Promise<void> => {
    for (let partition = 0; !abort.signal.aborted; ) {
      // A partition that fails must not keep the others waiting: its turn comes again.
      await sweep(partition).catch((error: unknown) => outage.failed(error))
      partition = (partition + 1) % ledger.keys.partitions
      await delay(pauseMs, undefined, { signal: abort.signal }).catch(() => undefined)
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
