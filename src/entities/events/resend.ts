/** Makes stored events pending again, whatever became of them. */
import type { Actor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'

export interface Resent {
  /** Stamps of the events that are pending now. */
  resent: string[]
  /** Stamps of those that are being sent: nothing has changed for them. */
  left: string[]
  /** Whether more events match the filter. */
  hasMore: boolean
}

export interface ResendBy {
  actor: Actor
  /** The clock of the installation. */
  nowMs: number
}

/** Events per transaction, and per audit record. */
const BATCH = 100
/** An attempt that began earlier has ended, or its process has. */
const ATTEMPT_MS_MAX = 60_000

/**
 * The events that match the filter, at most `max`, the oldest first. Rejects as `Catalog.read` and
 * `Catalog.transaction`; each batch that was written until then is audited.
 */
export async function resendEvents(
  catalog: Catalog,
  filter: object,
  by: ResendBy,
  max: number,
): Promise<Resent> {
  const found = await catalog.reads.events
    .find(filter, { projection: { stamp: 1 } })
    .sort({ creation_time: 1, _id: 1 })
    .limit(max + 1)
    .toArray()
  const stamps = found.slice(0, max).map(({ stamp }) => stamp)
  const done: Resent = { resent: [], left: [], hasMore: found.length > max }
  for (let from = 0; from < stamps.length; from += BATCH) {
    const batch = stamps.slice(from, from + BATCH)
    const resent = await catalog.transaction('resend events', (session) =>
      resendBatch(catalog, session, batch, by),
    )
    done.resent.push(...resent)
    done.left.push(...batch.filter((stamp) => !resent.includes(stamp)))
  }
  return done
}

async function resendBatch(
  catalog: Catalog,
  session: ClientSession,
  batch: readonly string[],
  { actor, nowMs }: ResendBy,
): Promise<string[]> {
  const resent: string[] = []
  const delivery = { state: 'pending', due: new Date(nowMs), attempts: 0 } as const
  for (const stamp of batch) {
    const { matchedCount } = await catalog.events.updateOne(
      { stamp, $nor: [beingSent(nowMs)] },
      { $set: { delivery } },
      { session },
    )
    if (matchedCount === 1) resent.push(stamp)
  }
  if (resent.length > 0) {
    const key = resent.length === 1 ? (resent[0] as string) : ''
    appendAudit(session, actor, nowMs, {
      collection: 'events',
      type: 'resend',
      key,
      new: { stamps: resent },
    })
  }
  return resent
}

/** A claimed event is due again when its attempt is over. */
function beingSent(nowMs: number): object {
  return {
    'delivery.state': 'pending',
    'delivery.due': { $gt: new Date(nowMs) },
    start_notify_time: { $gt: new Date(nowMs - ATTEMPT_MS_MAX) },
  }
}
