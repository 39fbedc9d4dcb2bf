/** Handlers by kind of job, and the standing jobs required by the settings. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { beginRenewals, renewalsHandler } from '../autorenew/job.ts'
import { beginCardExpiry, cardExpiryHandler } from '../cards/expiry.ts'
import type { CycleParts } from '../cycle/cycle.ts'
import { confirmHandler, cycleHandler } from '../cycle/jobs.ts'
import type { EntityApi } from '../entities/api.ts'
import { beginFraudRules, fraudHandler } from '../event-jobs/fraud-job.ts'
import { beginOverdue, overdueHandler } from '../event-jobs/overdue-job.ts'
import { beginDueCharges, chargeRunHandler, dueChargesHandler } from '../payments/jobs.ts'
import type { Payments } from '../payments/payments.ts'
import { eraseHandler } from '../privacy/erase.ts'
import { reportHandler } from '../reports/job.ts'
import type { ReportParts } from '../reports/parts.ts'
import type { RetentionParts } from '../retention/removal.ts'
import { beginRetention, retentionHandler } from '../retention/retention.ts'
import { beginForwarding, type ForwardParts, forwardHandler } from '../syslog/forward.ts'
import { beginDigests, type DigestJobParts, digestHandler } from './digest.ts'
import type { JobHandlers } from './runner.ts'

export type HandlerParts = Pick<RetentionParts, 'config' | 'metrics'> &
  Pick<ForwardParts, 'metrics'> & {
    readonly metrics: Pick<Metrics, 'cycleRun' | 'digests'>
    readonly payments: Pick<Payments, 'charges'>
    readonly cycle: CycleParts
    readonly reports: ReportParts
    readonly config: DigestJobParts['config']
  }

export function jobHandlers(
  { stores, fields }: Pick<EntityApi, 'stores' | 'fields'>,
  { config, metrics, payments: { charges }, cycle, reports }: HandlerParts,
): JobHandlers {
  const { catalog, ledger, clock, log } = stores
  const parts = { catalog, clock, config: stores.config }
  return {
    erase: eraseHandler({ stores, fields }),
    retention: retentionHandler({ catalog, ledger, clock, config, metrics }),
    syslog: forwardHandler({ catalog, clock, config, metrics }),
    charge: chargeRunHandler(charges),
    payments: dueChargesHandler(charges),
    cycle: cycleHandler(cycle, metrics),
    confirm: confirmHandler(cycle),
    autorenew: renewalsHandler(parts),
    cards: cardExpiryHandler(parts),
    report: reportHandler({ ...reports, clock }),
    overdue: overdueHandler({ ...parts, log }),
    fraud: fraudHandler({ ...parts, log }),
    digest: digestHandler({ catalog, clock, config, log, metrics }),
  }
}

export interface StandingJobs {
  stop(): Promise<void>
}

/** Begins the standing jobs as soon as MongoDB is available. */
export function startStandingJobs(
  parts: Pick<RetentionParts, 'catalog' | 'clock' | 'config'> & { log: Pick<Logger, 'warn'> },
  retryMs = 5_000,
): StandingJobs {
  const abort = new AbortController()
  const { signal } = abort
  const begin = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await beginRetention(parts)
        await beginDueCharges(parts)
        await beginRenewals(parts)
        await beginCardExpiry(parts)
        await beginOverdue(parts)
        await beginFraudRules(parts)
        await beginDigests(parts)
        return await beginForwarding(parts)
      } catch (error) {
        parts.log.warn({ err: error }, 'cannot begin the standing jobs; retrying')
        await delay(retryMs, undefined, { signal }).catch(() => undefined)
      }
    }
  }
  const running = begin()
  return {
    async stop() {
      abort.abort()
      await running
    },
  }
}
