/** The standing job that sends e-mails with new events (notifications/digest.ts). */
import { NODE_ACTOR } from '../catalog/actor.ts'
import type { Catalog } from '../catalog/connection.ts'
import { notificationSettingsOf } from '../catalog/settings/events/notification-settings.ts'
import { readCategory } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { createDigests } from '../notifications/digest.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { NotificationMetrics } from '../runtime/notification-metrics.ts'
import { beginJob } from './jobs.ts'
import type { JobHandler } from './runner.ts'

export interface DigestJobParts {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: Pick<Config, 'mail'>
  readonly log: Pick<Logger, 'warn'>
  readonly metrics: Pick<NotificationMetrics, 'digests'>
}

/** How often new events are looked for. */
const POLL_MS = 60_000
/** An e-mail may take longer than the lease of a job. */
const RENEW_MS = 20_000
/** The job uses only the settings of e-mails. */
const WITHOUT_SECRET = { open: () => '' }

/** Begins the standing job, unless there is one. */
export async function beginDigests(stores: Parameters<typeof beginJob>[0]): Promise<void> {
  await beginJob(stores, { kind: 'digest', subject: 'events', options: {}, actor: NODE_ACTOR })
}

export function digestHandler(parts: DigestJobParts): JobHandler {
  const { catalog, clock, config } = parts
  const digests = createDigests({ ...parts, mail: config.mail })
  return async (claimed) => {
    const { value } = await readCategory(catalog, 'events')
    const { email, problem } = notificationSettingsOf(value, WITHOUT_SECRET)
    // With invalid settings it is not known who gets an e-mail.
    if (config.mail.url === '' || problem !== null) return clock.nowMs() + POLL_MS
    const timer = setInterval(() => {
      claimed.saveProgress('send').catch(() => undefined)
    }, RENEW_MS)
    try {
      claimed.count('sent', await digests.send(email))
    } finally {
      clearInterval(timer)
    }
    return clock.nowMs() + Math.min(POLL_MS, email.intervalMs)
  }
}
