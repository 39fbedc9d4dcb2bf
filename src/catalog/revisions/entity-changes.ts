/** Atomic changes of entities: all or nothing, even if a process or a store fails halfway. */
import type { Logger } from '../../runtime/log.ts'
import { StoreDownError } from '../../store/redis.ts'
import { appendRecords } from '../audit/append.ts'
import type { ChangeAudit } from '../audit/audit-document.ts'
import { auditIntent, auditRecordsOf } from '../audit/change-audit.ts'
import type { Collection, ObjectId } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { EntityCollection } from '../entities/entity-table.ts'
import { CatalogUnavailableError, DuplicateEntityError, EntityConflictError } from '../errors.ts'
import { isUnapplied, missingSteps, reread } from './applied-steps.ts'
import type { ProfileOwner, RevisionWrite, WriteIntent } from './lock-document.ts'
import {
  abortIntent,
  deleteIntent,
  type HeldLocks,
  insertIntent,
  isAbandoned,
  type LockOptions,
  queueFollowUp,
  recoverLock,
  renewLease,
  saveIntent,
  withLocks,
} from './locks.ts'
import { STEPS_MAX, type StoredRevision, storeSteps } from './store-steps.ts'
import { ownerOf, type ProfileFence } from './write.ts'

export interface ChangeStores extends Pick<LockOptions, 'catalog' | 'clock'> {
  fence: ProfileFence
  /** Applies the follow-up operation of a change on the ledger; must be idempotent. */
  runFollowUp(sequel: unknown): Promise<void>
  log: Pick<Logger, 'warn' | 'error'>
}

/** The writes of a change, decided under the locks. */
export interface ChangeDecision<T> {
  collection: EntityCollection
  /**
   * At most one insert, unless the steps are independent (`isIndependent`). Documents must be
   * checked.
   */
  steps: readonly RevisionWrite[]
  /** The documents before the change, if their owners differ. */
  before?: readonly Readonly<Record<string, unknown>>[]
  followUp?: unknown
  /** The steps need not be applied atomically. */
  isIndependent?: boolean
  /** The entities are new: no profile of them can have been read. */
  isNew?: boolean
  /** Entities that must be locked for the decision to be valid. */
  needs?: readonly string[]
  /**
   * Creates one record per step that is also a step of the change. If absent, nothing is recorded.
   */
  audit?: ChangeAudit
  result: T
}

export interface Changed<T> {
  /** Stored documents of the steps, by id. */
  stored: ReadonlyMap<string, RawDocument>
  result: T
}

/** Attempts before a change that keeps losing to writers without locks fails. */
const ATTEMPTS_MAX = 4

/**
 * Locks the entities, calls `decide` and applies its decision. `decide` may be called repeatedly;
 * if it throws, nothing is written and the error is passed on. Rejects with `DuplicateEntityError`,
 * `EntityConflictError` or `CatalogUnavailableError`. In the last case the change may still be
 * applied later, but never partially.
 */
export async function changeEntities<T>(
  stores: ChangeStores,
  entities: readonly string[],
  decide: () => Promise<ChangeDecision<T>>,
): Promise<Changed<T>> {
  let names = entities
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const done = await withLocks(lockOptionsOf(stores), names, async (held) => {
      const decision = await decide()
      const missing = (decision.needs ?? []).filter((entity) => !names.includes(entity))
      if (missing.length > 0) {
        names = [...names, ...missing]
        return null
      }
      const stored = await perform(stores, held, decision)
      if (stored === null) return null
      const byId = stored.map((one) => [one._id.toHexString(), one] as const)
      return { stored: new Map(byId), result: decision.result }
    })
    if (done !== null) return done
  }
  throw new EntityConflictError(`${entities[0]} is being changed by others: nothing was written`)
}

/** Calls `act` while the entities are locked. Rejects as `changeEntities` or as `act` does. */
export function withEntityLocks<T>(
  stores: ChangeStores,
  entities: readonly string[],
  act: () => Promise<T>,
): Promise<T> {
  return withLocks(lockOptionsOf(stores), entities, act)
}

/**
 * Calls `act`, which changes another store, while the entity is locked. If it fails or is
 * interrupted, the follow-up operation finds out what was done. Rejects as
 * `changeEntities` or as `act` does.
 */
export function withIntent<T>(
  stores: ChangeStores,
  entity: string,
  followUp: unknown,
  act: () => Promise<T>,
): Promise<T> {
  const change: WriteIntent = { collection: 'subscribers', steps: [], owners: [], sequel: followUp }
  const actOrRecover = async (held: HeldLocks) => {
    try {
      return await act()
    } catch (error) {
      if (isStoreOutage(error)) await queueFollowUp(stores, change)
      else await runFollowUp(stores, change)
      await abortIntent(stores.catalog, held)
      throw error
    }
  }
  return withLocks(lockOptionsOf(stores), [entity], actOrRecover, change)
}

/**
 * Completes the changes of dead processes and returns their number. A change that cannot be
 * completed keeps its lock and does not stop the others. Rejects if a store is unavailable.
 */
export async function recoverAbandoned(stores: ChangeStores): Promise<number> {
  const { catalog, clock, log } = stores
  const locks = await catalog.run('find locks', () => catalog.entitylocks.find().toArray())
  let recovered = 0
  for (const lock of locks) {
    if (!isAbandoned(lock, clock.nowMs())) continue
    try {
      await recoverLock(lockOptionsOf(stores), lock)
    } catch (error) {
      if (isStoreOutage(error)) throw error
      log.error({ err: error, chain: lock._id }, 'cannot complete the change of a dead process')
      continue
    }
    if (lock.change === undefined) continue
    recovered += 1
    log.warn({ chain: lock._id, host: lock.holder.host }, 'completed the change of a dead process')
  }
  return recovered
}

function lockOptionsOf(stores: ChangeStores): LockOptions {
  const { catalog, clock } = stores
  return { catalog, clock, recover: (change) => recoverChange(stores, change) }
}

/** Null if the locks were lost before anything was written. */
async function perform<T>(
  stores: ChangeStores,
  held: HeldLocks,
  decision: ChangeDecision<T>,
): Promise<RawDocument[] | null> {
  const { steps, followUp, isIndependent = false } = decision
  if (steps.length === 0 && followUp === undefined) return []
  const change = intentOf(stores, decision)
  if (isIndependent) return performInserts(stores, held, change)
  const isConditional = isConditionalReplace(decision)
  const hasLocks = held.first !== ''
  const needsIntent = change.audit !== undefined || (hasLocks && !isConditional)
  let intentLock = held
  const before = async () => {
    if (needsIntent) intentLock = await persistIntent(stores, held, change)
  }
  const ownsIntent = () => renewLease(stores, intentLock)
  const applyOptions = { isConditional, ownsIntent, before }
  const stored = await apply(stores, change, applyOptions).catch(async (error: unknown) => {
    if (error instanceof LostLocksError) return null
    // A write that the store rejects would be rejected again on recovery, and the entity would stay
    // locked.
    const isRefused = needsIntent && !isStoreOutage(error)
    if (isRefused && (await isUnapplied(stores.catalog, change))) {
      await (hasLocks
        ? abortIntent(stores.catalog, intentLock)
        : deleteIntent(stores.catalog, intentLock))
    }
    throw error
  })
  if (stored === null) return null
  // If the delete fails, the next recovery removes the intent.
  if (needsIntent && !hasLocks) await deleteIntent(stores.catalog, intentLock).catch(() => {})
  // Only a writer without locks can have been faster, or the process that has recovered the lock.
  const isLost = stored.includes(false) && (isConditional || !needsIntent)
  if (isLost && !(needsIntent && !(await abortIntent(stores.catalog, intentLock)))) return null
  return Promise.all(stored.map((one, index) => one || reread(stores.catalog, change, index)))
}

/** Another process holds the locks now; neither the intent nor a step was written. */
class LostLocksError extends Error {
  override name = 'LostLocksError'
}

/** Throws `LostLocksError`. */
async function persistIntent(
  stores: ChangeStores,
  held: HeldLocks,
  change: WriteIntent,
): Promise<HeldLocks> {
  if (held.first === '') return insertIntent(stores, change)
  if (await saveIntent(stores, held, change)) return held
  throw new LostLocksError(`${held.first} is locked by another process now`)
}

/**
 * Independent inserts. Their intent lists only the ids, and recovery writes audit records for those
 * that were inserted.
 */
async function performInserts(
  stores: ChangeStores,
  held: HeldLocks,
  change: WriteIntent,
): Promise<RawDocument[] | null> {
  if (held.first !== '' && !(await renewLease(stores, held))) return null
  const idsOnly = { ...change, steps: [], owners: [] }
  let intentLock: HeldLocks | null = null
  const before = async () => {
    if (change.audit !== undefined) intentLock = await insertIntent(stores, idsOnly)
  }
  const ownsIntent = () => renewLease(stores, held)
  const stored = await apply(stores, change, { ownsIntent, before }).catch(
    async (error: unknown) => {
      if (intentLock === null || isStoreOutage(error)) throw error
      await writeAudit(stores, idsOnly)
      await deleteIntent(stores.catalog, intentLock)
      throw error
    },
  )
  if (intentLock !== null) await deleteIntent(stores.catalog, intentLock).catch(() => {})
  return stored.filter((one) => one !== false)
}

/**
 * A single replacement within the same validity. It is not applied if the revision was changed
 * since it was read, and cannot conflict with other revisions, so it needs an intent only for its
 * audit record.
 */
function isConditionalReplace<T>({ steps, before = [], followUp }: ChangeDecision<T>): boolean {
  const [step] = steps
  if (step?.mode !== 'replace' || steps.length > 1 || followUp !== undefined) return false
  const { document } = step
  const stored = before.find((one) => (one['_id'] as ObjectId | undefined)?.equals(document._id))
  const isSame = (name: string) => Number(stored?.[name]) === Number(document[name])
  return stored !== undefined && isSame('from') && isSame('to') && document['deleted'] !== true
}

function isStoreOutage(error: unknown): boolean {
  return error instanceof CatalogUnavailableError || error instanceof StoreDownError
}

function intentOf<T>({ clock }: ChangeStores, decision: ChangeDecision<T>): WriteIntent {
  const { collection, steps, before = [], followUp, isNew = false, audit } = decision
  const inserts = steps.filter(({ mode }) => mode === 'insert')
  const ordered = [...inserts, ...steps.filter(({ mode }) => mode !== 'insert')]
  const owners = new Map<string, ProfileOwner>()
  for (const document of [...before, ...steps.map((step) => step.document)]) {
    const owner = ownerOf(collection, document)
    if (owner !== null && !isNew) owners.set(`${owner.aid} ${owner.sid}`, owner)
  }
  return {
    collection,
    steps: ordered,
    owners: [...owners.values()],
    sequel: followUp ?? null,
    ...(audit && { audit: auditIntent(audit, clock.nowMs()) }),
  }
}

interface ApplyOptions {
  /** If a step finds no document to replace, nothing was changed. */
  isConditional?: boolean
  /**
   * Whether this process still owns the intent; otherwise another one runs the follow-up operation.
   */
  ownsIntent(): Promise<boolean>
  /** Called before the first write. */
  before?(): Promise<void>
}

async function apply(
  stores: ChangeStores,
  change: WriteIntent,
  { isConditional = false, ownsIntent, before = async () => {} }: ApplyOptions,
): Promise<StoredRevision[]> {
  const { catalog, fence } = stores
  const { collection, steps, owners, sequel } = change
  const fenced: ProfileOwner[] = []
  const after = async (written: readonly StoredRevision[]) => {
    if (!isConditional || !written.includes(false)) await writeAudit(stores, change)
  }
  try {
    for (const owner of owners) {
      fenced.push(owner)
      await fence.begin(owner)
    }
    const stored: StoredRevision[] = []
    for (let from = 0; from < steps.length; from += STEPS_MAX) {
      const part = steps.slice(from, from + STEPS_MAX)
      const isLast = from + STEPS_MAX >= steps.length
      const hooks = { ...(from === 0 && { before }), ...(isLast && { after }) }
      stored.push(...(await storeSteps(catalog, collection, part, hooks)))
    }
    if (steps.length === 0) {
      await before()
      await writeAudit(stores, change)
    }
    if (sequel !== null && (await ownsIntent())) await runFollowUp(stores, change)
    return stored
  } finally {
    // Also after a failure: a write that timed out may have been applied.
    for (const owner of fenced) await fence.end(owner)
  }
}

/** Writes the audit records of the change. A record that the store rejects is logged. */
async function writeAudit(stores: ChangeStores, change: WriteIntent): Promise<void> {
  const { catalog, log } = stores
  const { audit, steps, collection } = change
  if (audit === undefined) return
  const documents = new Map(steps.map(({ document }) => [document._id.toHexString(), document]))
  const others = audit.steps.map(({ id }) => id).filter((id) => !documents.has(id.toHexString()))
  if (others.length > 0) {
    const stored = catalog[collection] as unknown as Collection<RawDocument>
    const found = await catalog.run(`read ${collection}`, () =>
      stored.find({ _id: { $in: others } }).toArray(),
    )
    for (const one of found) documents.set(one._id.toHexString(), one as RawDocument)
  }
  try {
    await appendRecords(catalog, auditRecordsOf(audit, documents))
  } catch (error) {
    if (isStoreOutage(error)) throw error
    // The change is applied: the missing record must not keep the entity locked permanently.
    const keys = audit.steps.map(({ key }) => key)
    log.error({ err: error, collection, keys }, 'cannot write the audit records of a change')
  }
}

/** On errors other than an outage, the follow-up operation is queued and blocks no other change. */
async function runFollowUp(stores: ChangeStores, change: WriteIntent): Promise<void> {
  try {
    await stores.runFollowUp(change.sequel)
  } catch (error) {
    if (isStoreOutage(error)) throw error
    stores.log.error(
      { err: error },
      'the follow-up operation of a change failed: it is retried later',
    )
    await queueFollowUp(stores, change)
  }
}

/** Applies the missing steps of a change; possibly all of them are applied already. */
async function recoverChange(stores: ChangeStores, change: WriteIntent): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const steps = await missingSteps(stores.catalog, change)
    try {
      await apply(stores, { ...change, steps }, { ownsIntent: async () => true })
      return
    } catch (error) {
      if (!(error instanceof DuplicateEntityError)) throw error
      // The lock holder was slow, not dead, and has inserted it meanwhile: fewer steps are missing
      // now.
      if ((await missingSteps(stores.catalog, change)).length < steps.length) continue
      stores.log.error({ err: error }, 'an interrupted change cannot be completed: it is dropped')
      return
    }
  }
}
