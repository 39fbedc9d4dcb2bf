/**
 * Charges the auto-renewals that are due: each due date once, in the order of the dates, also those
 * that were missed. A charge is decided in a transaction that sets the next date; the outbox entry
 * of that transaction loads the balances.
 */
import { NODE_ACTOR } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { type RevisionWrite, writeRevisions } from '../../catalog/revisions/store-revisions.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import { enqueueOutbox } from '../../catalog/transactions/outbox.ts'
import type { Config } from '../../config/schema.ts'
import type { Fields } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import type { Clock } from '../../runtime/clock.ts'
import { renewalEntry, renewalId } from './renewal.ts'
import { afterCharge } from './rules.ts'

export interface RenewalParts {
  catalog: Catalog
  clock: Clock
  config: Pick<Config, 'rating'>
}

/** Due dates of one transaction: their loads follow one after the other. */
const BATCH = 50

/** Renewals with charges left; `$gt` leaves out renewals without a next date. */
function dueUntil(atMs: number): Fields {
  const next_renew = { $gt: new Date(0), $lte: new Date(atMs) }
  return { next_renew, cycles_remaining: { $gt: 0 }, ...NOT_DELETED }
}

/**
 * Charges what is due at `atMs`; `onBatch` gets the number of charges of each transaction. Ends
 * early when aborted. Rejects with `CatalogUnavailableError` or `EntityConflictError`, or errors of
 * `onBatch`: what is left is due again.
 */
export async function chargeDueRenewals(
  parts: RenewalParts,
  atMs: number,
  signal: AbortSignal,
  onBatch: (charged: number) => Promise<void>,
): Promise<void> {
  const { catalog } = parts
  while (!signal.aborted) {
    const handled = await catalog.transaction('charge auto-renewals', (session) =>
      chargeBatch(parts, session, atMs),
    )
    if (handled === null) return
    await onBatch(handled)
  }
}

/** Null if nothing is due. */
async function chargeBatch(
  { catalog, clock, config }: RenewalParts,
  session: ClientSession,
  atMs: number,
): Promise<number | null> {
  const found = await catalog.autorenew
    .find(dueUntil(atMs) as object, { session })
    .sort({ next_renew: 1 })
    .limit(BATCH)
    .toArray()
  if (found.length === 0) return null
  const nowMs = clock.nowMs()
  const zoned = { nowMs, zone: config.rating.timeZone }
  const steps: RevisionWrite[] = []
  let charged = 0
  for (const stored of found as unknown as readonly RawDocument[]) {
    const { change, isCharged } = decide(stored, zoned)
    const document: RawDocument = { ...stored, ...change }
    steps.push({ mode: 'replace', document })
    if (!isCharged) continue
    charged += 1
    const dueMs = dueOf(stored)
    enqueueOutbox(session, renewalEntry(stored, dueMs, NODE_ACTOR))
    const id = stored._id.toHexString()
    appendAudit(session, NODE_ACTOR, nowMs, {
      collection: 'autorenew',
      type: 'renew',
      key: id,
      old: stored,
      new: document,
      operationId: renewalId(id, dueMs),
    })
  }
  await writeRevisions(catalog, session, 'autorenew', steps)
  return charged
}

function dueOf({ next_renew: next }: Fields): number {
  return (next as Date).getTime()
}

/** One that has ended has no next date any more; one that begins later skips the date. */
function decide(
  renewal: RawDocument,
  zoned: { nowMs: number; zone: string },
): { change: Fields; isCharged: boolean } {
  const dueMs = dueOf(renewal)
  const { from, to, cycles_remaining, last_renew } = renewal
  if ((to as Date).getTime() <= dueMs)
    return { change: { next_renew: undefined }, isCharged: false }
  const change = afterCharge(renewal, dueMs, zoned)
  if ((from as Date).getTime() <= dueMs) return { change, isCharged: true }
  return { change: { ...change, cycles_remaining, last_renew }, isCharged: false }
}

/** When the next one is due, or null. */
export async function nextRenewalMs(catalog: Catalog): Promise<number | null> {
  const [next] = await catalog.autorenew
    .find(dueUntil(FOREVER_MS) as object, { projection: { next_renew: 1 } })
    .sort({ next_renew: 1 })
    .limit(1)
    .toArray()
  return next?.next_renew?.getTime() ?? null
}
