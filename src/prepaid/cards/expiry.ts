/** The nightly job that ends prepaid cards. */
import { NODE_ACTOR } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { USABLE_CARDS } from '../../catalog/records/card.ts'
import type { Config } from '../../config/schema.ts'
import { beginJob } from '../../jobs/jobs.ts'
import type { JobHandler } from '../../jobs/runner.ts'
import { endOf } from '../../rating/periods.ts'
import type { Clock } from '../../runtime/clock.ts'

export interface CardExpiryParts {
  catalog: Catalog
  clock: Clock
  config: Pick<Config, 'rating'>
}

const BATCH = 1_000
const DAY = { months: 0, days: 1, hours: 0, untilMidnight: true }

/** Begins the standing job, unless there is one. */
export async function beginCardExpiry(stores: Parameters<typeof beginJob>[0]): Promise<void> {
  await beginJob(stores, { kind: 'cards', subject: 'expiry', options: {}, actor: NODE_ACTOR })
}

/** Cards whose validity has ended become `Expired`. Runs again at midnight. */
export function cardExpiryHandler({ catalog, clock, config }: CardExpiryParts): JobHandler {
  return async (claimed, signal) => {
    const nowMs = clock.nowMs()
    const now = new Date(nowMs)
    const ended = { status: { $in: [...USABLE_CARDS] }, to: { $lte: now } }
    for (let expired = BATCH; expired === BATCH; ) {
      // After an abort the next process continues immediately.
      if (signal.aborted) return nowMs
      await claimed.commitBatch('expire', async (session) => {
        const found = await catalog.cards
          .find(ended, { session, projection: { _id: 1 } })
          .limit(BATCH)
          .toArray()
        expired = found.length
        if (expired === 0) return {}
        const ids = found.map(({ _id }) => _id)
        await catalog.cards.updateMany(
          { _id: { $in: ids } },
          { $set: { status: 'Expired', expired_on: now } },
          { session },
        )
        const entry = { collection: 'cards', type: 'expire', key: 'cards', new: { count: expired } }
        appendAudit(session, NODE_ACTOR, nowMs, entry)
        return { expired }
      })
    }
    return endOf(DAY, nowMs, config.rating.timeZone)
  }
}

/** The midnight after the end of the next card, or null. */
export async function nextCardExpiryMs({
  catalog,
  config,
}: Pick<CardExpiryParts, 'catalog' | 'config'>): Promise<number | null> {
  const [next] = await catalog.cards
    .find({ status: { $in: [...USABLE_CARDS] } }, { projection: { to: 1 } })
    .sort({ to: 1 })
    .limit(1)
    .toArray()
  return next === undefined ? null : endOf(DAY, next.to.getTime(), config.rating.timeZone)
}
