/**
 * The outbox: work in other stores (ledger) that follows from a transaction. Entries are stored by
 * the transaction itself, executed by the writing process right after the commit, or by any other
 * if that one ends or a store is unavailable (dispatcher.ts): at least once, so handlers are
 * idempotent.
 */
import { type ClientSession, ObjectId } from 'mongodb'
import { systemClock } from '../../runtime/clock.ts'
import { processIdentity } from '../../runtime/process-identity.ts'
import type { Collections } from '../collections.ts'
import type { OutboxDocument } from '../records/outbox-document.ts'
import { stateOf } from './state.ts'

/** After this time another process may execute an entry; both may do it then. */
export const LEASE_MS = 15_000

export interface OutboxEntry {
  /** Selects the handler. */
  readonly kind: string
  /** Input of the handler; must be storable as BSON. */
  readonly payload: unknown
  /** Entries with the same subject are executed one after the other, in the order of commits. */
  readonly subject?: string
  /** The caller does the work after the commit, by `dispatcher.perform`. */
  readonly isHeld?: boolean
  /** Waits for other servers: it is executed beside the others, and has no subject. */
  readonly isSlow?: boolean
}

/**
 * Adds an entry to the session's transaction. If this process has a handler for it, it is executed
 * right after the commit, and `catalog.transaction` waits for it; otherwise by another process.
 */
export function enqueueOutbox(session: ClientSession, entry: OutboxEntry): OutboxDocument {
  const { head, entries, entriesToRun, handles } = stateOf(session)
  const { kind, payload, subject = null, isHeld = false, isSlow = false } = entry
  head.numbers.outbox += 1
  const isOwn = handles(kind)
  const document: OutboxDocument = {
    _id: new ObjectId(),
    number: head.numbers.outbox,
    kind,
    payload,
    subject,
    isSlow,
    holder: isOwn ? processIdentity() : null,
    expires: new Date(isOwn ? systemClock.nowMs() + LEASE_MS : 0),
    failures: 0,
    error: null,
  }
  entries.push(document)
  if (isOwn && !isHeld) entriesToRun.push(document)
  return document
}

/** Removes an entry within a transaction that completes its work. */
export async function settleOutbox(
  catalog: Pick<Collections, 'outbox'>,
  session: ClientSession,
  { _id }: OutboxDocument,
): Promise<void> {
  await catalog.outbox.deleteOne({ _id }, { session })
}
