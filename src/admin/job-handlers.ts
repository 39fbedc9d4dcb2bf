/** Handlers by kind of job, and the standing jobs required by the settings. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config/schema.ts'
import type { EntityApi } from '../entities/api.ts'
import { beginExport, type ExportParts, exportHandler } from '../export/job.ts'
import { KafkaTopic } from '../export/kafka.ts'
import { beginStream, type StreamParts, streamHandler } from '../export/stream.ts'
import { beginDueCharges, chargeRunHandler, dueChargesHandler } from '../jobs/charge-jobs.ts'
import type { CycleParts } from '../jobs/cycle/cycle.ts'
import { confirmHandler, cycleHandler } from '../jobs/cycle/jobs.ts'
import { beginDigests, type DigestJobParts, digestHandler } from '../jobs/digest.ts'
import { beginFraudRules, fraudHandler } from '../jobs/event-jobs/fraud-job.ts'
import { beginOverdue, overdueHandler } from '../jobs/event-jobs/overdue-job.ts'
import { eraseHandler } from '../jobs/privacy/erase.ts'
import { type RerateJobParts, rerateHandler } from '../jobs/rerate-job.ts'
import type { RetentionParts } from '../jobs/retention/removal.ts'
import { beginRetention, retentionHandler } from '../jobs/retention/retention.ts'
import type { JobHandlers } from '../jobs/runner.ts'
import { beginForwarding, type ForwardParts, forwardHandler } from '../jobs/syslog/forward.ts'
import { beginRenewals, renewalsHandler } from '../prepaid/autorenew/job.ts'
import { beginCardExpiry, cardExpiryHandler } from '../prepaid/cards/expiry.ts'
import { reportHandler } from '../reports/job.ts'
import type { ReportParts } from '../reports/parts.ts'
import { removeReports } from '../reports/retention.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { openPlace } from '../transfer/open-place.ts'
import { queuedFilter } from './actions/resetlines.ts'
import type { Payments } from './payments.ts'

export type HandlerParts = Pick<RetentionParts, 'config' | 'metrics'> &
  Pick<ForwardParts, 'metrics'> & {
    readonly metrics: Pick<Metrics, 'cycleRun' | 'digests'> &
      ExportParts['metrics'] &
      StreamParts['metrics']
    readonly payments: Pick<Payments, 'charges'>
    readonly cycle: CycleParts
    readonly reports: ReportParts
    readonly config: DigestJobParts['config'] &
      ExportParts['config'] &
      Pick<Config, 'transfer'> &
      RerateJobParts['config']
  }

export function jobHandlers(
  { stores, fields }: Pick<EntityApi, 'stores' | 'fields'>,
  { config, metrics, payments: { charges }, cycle, reports }: HandlerParts,
): JobHandlers {
  const { catalog, ledger, clock, log } = stores
  const parts = { catalog, clock, config: stores.config }
  return {
    erase: eraseHandler({ stores, fields }),
    retention: retentionHandler({ catalog, ledger, clock, config, metrics }, removeReports),
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
    rerate: rerateHandler({
      ...{ catalog, clock, config, ledger, openAccounts: cycle.openAccounts },
      filterOf: queuedFilter({ config, clock }),
    }),
    export: exportHandler({
      ...{ catalog, clock, config, metrics },
      openPlace: () => openPlace(config.transfer, config.export.place),
    }),
    kafka: streamHandler({
      ...{ catalog, clock, config, metrics },
      topic: new KafkaTopic(config.export.kafka),
    }),
  }
}

export interface StandingJobs {
  stop(): Promise<void>
}

/** Begins the standing jobs as soon as MongoDB is available. */
export function startStandingJobs(
  parts: Pick<RetentionParts, 'catalog' | 'clock'> & {
    config: RetentionParts['config'] & Pick<Config, 'export'>
    log: Pick<Logger, 'warn'>
  },
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
        await beginExport(parts)
        await beginStream(parts)
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
