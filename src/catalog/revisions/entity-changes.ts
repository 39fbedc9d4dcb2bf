/** Changes of entities: their revisions, audit records and what follows, in one transaction. */
import type { ClientSession } from 'mongodb'
import type { Clock } from '../../runtime/clock.ts'
import { appendDocuments } from '../audit/append.ts'
import { auditRecordsOf } from '../audit/change-audit.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import type { EntityCollection } from '../entities/entity-table.ts'
import type { ChangeAudit } from '../records/audit-document.ts'
import { enqueueOutbox, type OutboxEntry } from '../transactions/outbox.ts'
import { tryTransaction } from '../trial.ts'
import { type RevisionWrite, writeRevisions } from './store-revisions.ts'

export interface ChangeStores {
  catalog: Catalog
  clock: Clock
}

/** The writes of a change. */
export interface ChangeDecision<T> {
  collection: EntityCollection
  /** Documents must be checked. */
  steps: readonly RevisionWrite[]
  /** The documents before the change, if their owners differ. */
  before?: readonly Readonly<Record<string, unknown>>[]
  /** The entry for the work in the ledger that follows. */
  followUp?: OutboxEntry
  /** The entities are new: no profile of them can have been read. */
  isNew?: boolean
  /**
   * Creates one record per step that is also a step of the change. If absent, nothing is recorded.
   */
  audit?: ChangeAudit
  result: T
}

export interface Written<T> {
  /** Stored documents of the steps, by id. */
  stored: ReadonlyMap<string, RawDocument>
  result: T
}

export interface Changed<T> extends Written<T> {
  /** A store is unavailable: the outbox entries are executed later. */
  isPostponed: boolean
}

/** An account or a subscriber; `sid` is 0 for the account itself. */
export interface ProfileOwner {
  aid: number
  sid: number
}

/**
 * Kind of the outbox entries with a `ProfileOwner` whose profile has changed. Its handler keeps
 * charging from using a profile that was read before.
 */
export const FENCE_KIND = 'fence'

/**
 * Calls `decide` and writes its decision, in one transaction (`Catalog.transaction`, also for the
 * errors): what `decide` reads is unchanged when the decision is committed. `what` names the change
 * in errors. `decide` may be called again; if it throws, nothing is written. Also rejects with
 * `DuplicateEntityError`. `isTrial`: everything happens but the commit.
 */
export async function changeEntities<T>(
  stores: ChangeStores,
  what: string,
  decide: (session: ClientSession) => Promise<ChangeDecision<T>>,
  isTrial = false,
): Promise<Changed<T>> {
  let isPostponed = false
  const change = async (session: ClientSession) =>
    writeDecision(stores, session, await decide(session))
  if (isTrial) return { ...(await tryTransaction(stores.catalog, what, change)), isPostponed }
  const written = await stores.catalog.transaction(what, change, () => {
    isPostponed = true
  })
  return { ...written, isPostponed }
}

/** As `changeEntities`, within a transaction that writes something else, too. */
export async function writeDecision<T>(
  { catalog, clock }: ChangeStores,
  session: ClientSession,
  decision: ChangeDecision<T>,
): Promise<Written<T>> {
  const { collection, steps, followUp, audit, result } = decision
  const written = await writeRevisions(catalog, session, collection, steps)
  const stored = new Map(written.map((one) => [one._id.toHexString(), one]))
  if (audit !== undefined) {
    appendDocuments(session, auditRecordsOf(audit, stored, clock.nowMs()))
  }
  for (const payload of ownersOf(decision)) enqueueOutbox(session, { kind: FENCE_KIND, payload })
  if (followUp !== undefined) enqueueOutbox(session, followUp)
  return { stored, result }
}

/** Owners of the profiles that change. */
function ownersOf({
  collection,
  steps,
  before = [],
  isNew = false,
}: ChangeDecision<unknown>): ProfileOwner[] {
  if (collection !== 'subscribers' || isNew || steps.length === 0) return []
  const documents = [...before, ...steps.map(({ document }) => document)]
  const owners = documents.map(({ aid, sid }) => ({ aid: Number(aid), sid: Number(sid ?? 0) }))
  return [...new Map(owners.map((owner) => [`${owner.aid} ${owner.sid}`, owner])).values()]
}
