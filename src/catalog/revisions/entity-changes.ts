/** Changes of entities that are done whole, or not at all, whatever dies in between. */
import type { Logger } from '../../runtime/log.ts'
import { StoreDownError } from '../../store/redis.ts'
import { appendRecords } from '../audit/append.ts'
import { auditIntent, auditRecordsOf, type ChangeAudit } from '../audit/change-audit.ts'
import type { Collection, EntityCollection, ObjectId } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import { CatalogUnavailableError, DuplicateEntityError, EntityConflictError } from '../errors.ts'
import { isUnapplied, missingSteps, reread } from './applied-steps.ts'
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
  type WriteIntent,
  withLocks,
} from './locks.ts'
import { type RevisionWrite, STEPS_MAX, type StoredRevision, storeSteps } from './store-steps.ts'
import { ownerOf, type ProfileFence, type ProfileOwner } from './write.ts'

export interface ChangeStores extends Pick<LockOptions, 'catalog' | 'clock'> {
  fence: ProfileFence
  /** Does what follows from a change elsewhere; it may be repeated. */
  runFollowUp(sequel: unknown): Promise<void>
  log: Pick<Logger, 'warn' | 'error'>
}

/** What a look at the chains has led to. */
export interface ChangeDecision<T> {
  collection: EntityCollection
  /** At most one insert, unless each stands for itself (`isMany`). Checked documents only. */
  steps: readonly RevisionWrite[]
  /** Documents as they were before, where these have other owners. */
  before?: readonly Readonly<Record<string, unknown>>[]
  followUp?: unknown
  /** Steps that need not become true together. */
  isIndependent?: boolean
  /** Entities that were not there before: nobody can have read their profiles. */
  isNew?: boolean
  /** Chains that must be held for what was decided. */
  needs?: readonly string[]
  /** Each of its steps that has a step of this becomes a record. Absent: none is made. */
  audit?: ChangeAudit
  result: T
}

export interface Changed<T> {
  /** Documents of the steps as they are stored, by id. */
  stored: ReadonlyMap<string, RawDocument>
  result: T
}

/** Whoever loses this often to writers that take no locks is told so. */
const ATTEMPTS_MAX = 4

/**
 * Locks the chains, decides and does what was decided. `decide` may be called again; what it throws
 * is passed on, and nothing is written. Rejects with `DuplicateEntityError`, `EntityConflictError`
 * or `CatalogUnavailableError`: after the last it may happen all the same, but never by half.
 */
export async function changeEntities<T>(
  stores: ChangeStores,
  chains: readonly string[],
  decide: () => Promise<ChangeDecision<T>>,
): Promise<Changed<T>> {
  let wanted = chains
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const done = await withLocks(lockOptionsOf(stores), wanted, async (held) => {
      const decision = await decide()
      const missing = (decision.needs ?? []).filter((chain) => !wanted.includes(chain))
      if (missing.length > 0) {
        wanted = [...wanted, ...missing]
        return null
      }
      const stored = await perform(stores, held, decision)
      if (stored === null) return null
      const byId = stored.map((one) => [one._id.toHexString(), one] as const)
      return { stored: new Map(byId), result: decision.result }
    })
    if (done !== null) return done
  }
  throw new EntityConflictError(`${chains[0]} is being changed by others: nothing was written`)
}

/** Does something while nobody changes the chains. Rejects as `changeChains`, or as it does. */
export function withEntityLocks<T>(
  stores: ChangeStores,
  chains: readonly string[],
  act: () => Promise<T>,
): Promise<T> {
  return withLocks(lockOptionsOf(stores), chains, act)
}

/**
 * Does something elsewhere, while nobody changes the chain. If it is cut off, or fails, `sequel`
 * finds out what was done. Rejects as `changeChains`, or as `act` does.
 */
export function withIntent<T>(
  stores: ChangeStores,
  chain: string,
  sequel: unknown,
  act: () => Promise<T>,
): Promise<T> {
  const change: WriteIntent = { collection: 'subscribers', steps: [], owners: [], sequel }
  const acting = async (held: HeldLocks) => {
    try {
      return await act()
    } catch (error) {
      if (isStoreOutage(error)) await queueFollowUp(stores, change)
      else await runFollowUp(stores, change)
      await abortIntent(stores.catalog, held)
      throw error
    }
  }
  return withLocks(lockOptionsOf(stores), [chain], acting, change)
}

/**
 * Finishes what dead processes have begun; gives how many changes that were. One that cannot be
 * finished keeps its lock, and stops no other. Rejects where a store is away.
 */
export async function recoverAbandoned(stores: ChangeStores): Promise<number> {
  const { catalog, clock, log } = stores
  const locks = await catalog.run('look for locks', () => catalog.entitylocks.find().toArray())
  let repaired = 0
  for (const lock of locks) {
    if (!isAbandoned(lock, clock.nowMs())) continue
    try {
      await recoverLock(lockOptionsOf(stores), lock)
    } catch (error) {
      if (isStoreOutage(error)) throw error
      log.error({ err: error, chain: lock._id }, 'the change of a dead process cannot be finished')
      continue
    }
    if (lock.change === undefined) continue
    repaired += 1
    log.warn({ chain: lock._id, host: lock.holder.host }, 'finished the change of a dead process')
  }
  return repaired
}

function lockOptionsOf(stores: ChangeStores): LockOptions {
  const { catalog, clock } = stores
  return { catalog, clock, recover: (change) => recoverChange(stores, change) }
}

/** Null: the locks were lost before anything was done. */
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
  const isHolding = held.first !== ''
  const isNoted = change.audit !== undefined || (isHolding && !isConditional)
  let note = held
  const before = async () => {
    if (isNoted) note = await persistIntent(stores, held, change)
  }
  const ownsIntent = () => renewLease(stores, note)
  const how = { isConditional, ownsIntent, before }
  const stored = await apply(stores, change, how).catch(async (error: unknown) => {
    if (error instanceof LostLocksError) return null
    // What the store refuses it would refuse for ever, and the entity would stay locked.
    const isRefused = isNoted && !isStoreOutage(error)
    if (isRefused && (await isUnapplied(stores.catalog, change))) {
      await (isHolding ? abortIntent(stores.catalog, note) : deleteIntent(stores.catalog, note))
    }
    throw error
  })
  if (stored === null) return null
  // What does not go away now goes with the next repair.
  if (isNoted && !isHolding) await deleteIntent(stores.catalog, note).catch(() => {})
  // Only a writer without locks can have been faster, or who has taken the note over.
  const isLost = stored.includes(false) && (isConditional || !isNoted)
  if (isLost && !(isNoted && !(await abortIntent(stores.catalog, note)))) return null
  return Promise.all(stored.map((one, index) => one || reread(stores.catalog, change, index)))
}

/** The locks are somebody else's by now: nothing was noted, and nothing written. */
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
  throw new LostLocksError(`${held.first} is held by another by now`)
}

/**
 * Inserts that stand each for itself. They are not noted, only which ones they are: of those that
 * are there is a record.
 */
async function performInserts(
  stores: ChangeStores,
  held: HeldLocks,
  change: WriteIntent,
): Promise<RawDocument[] | null> {
  if (held.first !== '' && !(await renewLease(stores, held))) return null
  const which = { ...change, steps: [], owners: [] }
  let note: HeldLocks | null = null
  const before = async () => {
    if (change.audit !== undefined) note = await insertIntent(stores, which)
  }
  const ownsIntent = () => renewLease(stores, held)
  const stored = await apply(stores, change, { ownsIntent, before }).catch(
    async (error: unknown) => {
      if (note === null || isStoreOutage(error)) throw error
      await writeAudit(stores, which)
      await deleteIntent(stores.catalog, note)
      throw error
    },
  )
  if (note !== null) await deleteIntent(stores.catalog, note).catch(() => {})
  return stored.filter((one) => one !== false)
}

/**
 * One replacement in the same period. It does nothing if anybody has changed the revision since it
 * was read, and can contradict no other one: only for its record it is noted.
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
  /** What finds nothing to replace has not happened. */
  isConditional?: boolean
  /** Whether what follows is still for us to do; else somebody else does it. */
  ownsIntent(): Promise<boolean>
  /** Before anything is written. */
  before?(): Promise<void>
}

async function apply(
  stores: ChangeStores,
  change: WriteIntent,
  { isConditional = false, ownsIntent, before = async () => {} }: ApplyOptions,
): Promise<StoredRevision[]> {
  const { catalog, fence } = stores
  const { collection, steps, owners, sequel } = change
  const begun: ProfileOwner[] = []
  const after = async (written: readonly StoredRevision[]) => {
    if (!isConditional || !written.includes(false)) await writeAudit(stores, change)
  }
  try {
    for (const owner of owners) {
      begun.push(owner)
      await fence.begin(owner)
    }
    const stored: StoredRevision[] = []
    for (let from = 0; from < steps.length; from += STEPS_MAX) {
      const part = steps.slice(from, from + STEPS_MAX)
      const isLast = from + STEPS_MAX >= steps.length
      const beside = { ...(from === 0 && { before }), ...(isLast && { after }) }
      stored.push(...(await storeSteps(catalog, collection, part, beside)))
    }
    if (steps.length === 0) {
      await before()
      await writeAudit(stores, change)
    }
    if (sequel !== null && (await ownsIntent())) await runFollowUp(stores, change)
    return stored
  } finally {
    // Also after a failure: a write that was given up may have arrived.
    for (const owner of begun) await fence.end(owner)
  }
}

/** Writes the records of what was done. One that the store refuses is told in the log. */
async function writeAudit(stores: ChangeStores, change: WriteIntent): Promise<void> {
  const { catalog, log } = stores
  const { audit, steps, collection } = change
  if (audit === undefined) return
  const documents = new Map(steps.map(({ document }) => [document._id.toHexString(), document]))
  const others = audit.steps.map(({ id }) => id).filter((id) => !documents.has(id.toHexString()))
  if (others.length > 0) {
    const stored = catalog[collection] as unknown as Collection<RawDocument>
    const found = await catalog.run(`look into ${collection}`, () =>
      stored.find({ _id: { $in: others } }).toArray(),
    )
    for (const one of found) documents.set(one._id.toHexString(), one as RawDocument)
  }
  try {
    await appendRecords(catalog, auditRecordsOf(audit, documents))
  } catch (error) {
    if (isStoreOutage(error)) throw error
    // The change is done: it must not keep the entity locked for good.
    const keys = audit.steps.map(({ key }) => key)
    log.error({ err: error, collection, keys }, 'the audit of a change cannot be written')
  }
}

/** What cannot be done for another reason than an outage is kept, and holds up nobody. */
async function runFollowUp(stores: ChangeStores, change: WriteIntent): Promise<void> {
  try {
    await stores.runFollowUp(change.sequel)
  } catch (error) {
    if (isStoreOutage(error)) throw error
    stores.log.error({ err: error }, 'what follows from a change cannot be done: tried again later')
    await queueFollowUp(stores, change)
  }
}

/** Does what is left of a change; all of it may have been done. */
async function recoverChange(stores: ChangeStores, change: WriteIntent): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const steps = await missingSteps(stores.catalog, change)
    try {
      await apply(stores, { ...change, steps }, { ownsIntent: async () => true })
      return
    } catch (error) {
      if (!(error instanceof DuplicateEntityError)) throw error
      // Its holder was not dead but slow, and has inserted it meanwhile: then there is less left.
      if ((await missingSteps(stores.catalog, change)).length < steps.length) continue
      stores.log.error({ err: error }, 'a change that was cut off cannot be made: it is left out')
      return
    }
  }
}
