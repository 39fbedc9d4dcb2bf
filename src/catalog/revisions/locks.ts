/** Locks of chains, in MongoDB: one at a time changes an entity, in whatever process. */
import { createHash, randomInt, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MongoBulkWriteError } from 'mongodb'
import type { Clock } from '../../runtime/clock.ts'
import { hasEnded, type ProcessIdentity, processIdentity } from '../../runtime/process-identity.ts'
import type { AuditIntent } from '../audit/change-audit.ts'
import type { EntityCollection } from '../collections.ts'
import type { Catalog } from '../connection.ts'
import { EntityConflictError } from '../errors.ts'
import { isDuplicate } from './revisions.ts'
import type { RevisionWrite } from './store-steps.ts'
import type { ProfileOwner } from './write.ts'

/** What is to happen, whoever does it. */
export interface WriteIntent {
  collection: EntityCollection
  steps: RevisionWrite[]
  /** Whose profiles it changes. */
  owners: ProfileOwner[]
  /** What follows from it elsewhere; the catalogue only keeps it. */
  sequel: unknown
  /** Absent: nothing is recorded of it. Of documents that are not in `steps`: if they are there. */
  audit?: AuditIntent
}

/** One lock. Those that were taken together have one group; `first` is the one with the change. */
export interface LockDocument {
  /** Name of the chain. */
  _id: string
  group: string
  first: string
  /** Another one with each holder. */
  token: string
  holder: ProcessIdentity
  expires: Date
  change?: WriteIntent
}

export interface HeldLocks {
  group: string
  first: string
  token: string
}

/**
 * A holder that takes longer may be overtaken. What it has noted is then done by another, and by
 * itself once more to no effect; it can note nothing any more.
 */
const LEASE_MS = 15_000
const WAIT_MS = 10_000
const PAUSE_MS_MAX = 25

export interface LockOptions {
  catalog: Catalog
  clock: Clock
  /** Finishes what the dead holder of locks had begun. */
  recover(change: WriteIntent): Promise<void>
}

/** Who waits within this process, by chain: first come, first served. */
const queues = new Map<string, Promise<void>>()

/**
 * Does something while it holds the chains. Rejects with `EntityConflictError` where others hold
 * them for too long. `change`: noted with the lock itself; of one chain only.
 */
export async function withLocks<T>(
  options: LockOptions,
  chains: readonly string[],
  act: (held: HeldLocks) => Promise<T>,
  change?: WriteIntent,
): Promise<T> {
  const sorted = [...new Set(chains.map(lockName))].sort()
  const giveUpMs = options.clock.nowMs() + WAIT_MS
  const turns: (() => void)[] = []
  try {
    for (const chain of sorted) turns.push(await waitInQueue(chain, options.clock, giveUpMs))
    const held = await acquire(options, sorted, giveUpMs, change)
    let isUnfinished = false
    try {
      return await act(held)
    } catch (error) {
      isUnfinished = await hasIntent(options.catalog, held).catch(() => true)
      throw error
    } finally {
      // A change that is noted stays until it is finished, by whomever.
      if (!isUnfinished) await release(options.catalog, held, sorted.length === 1).catch(() => {})
    }
  } finally {
    for (const done of turns.reverse()) done()
  }
}

/** Beyond it no index need take a name: keys that callers send have any length. */
const NAME_LENGTH_MAX = 200

function lockName(chain: string): string {
  if (chain.length <= NAME_LENGTH_MAX) return chain
  const hash = createHash('sha256').update(chain).digest('hex')
  return `${chain.slice(0, NAME_LENGTH_MAX)}#${hash}`
}

async function waitInQueue(chain: string, clock: Clock, giveUpMs: number): Promise<() => void> {
  const before = queues.get(chain)
  let done = () => {}
  const mine = new Promise<void>((resolve) => {
    done = resolve
  })
  const tail = (before ?? Promise.resolve()).then(() => mine)
  queues.set(chain, tail)
  const leave = () => {
    if (queues.get(chain) === tail) queues.delete(chain)
    done()
  }
  if (before === undefined) return leave
  const controller = new AbortController()
  const late = pause(Math.max(0, giveUpMs - clock.nowMs()), true, { signal: controller.signal })
  const isLate = await Promise.race([before.then(() => false), late.catch(() => false)])
  controller.abort()
  if (!isLate) return leave
  // Who comes after waits for those before, and no more for this one.
  leave()
  throw lockedByOthers(chain)
}

function lockedByOthers(chain: string): EntityConflictError {
  return new EntityConflictError(`${chain} is being changed by others: nothing was written`)
}

async function acquire(
  options: LockOptions,
  chains: readonly string[],
  giveUpMs: number,
  change?: WriteIntent,
): Promise<HeldLocks> {
  const held = { group: randomUUID(), first: chains[0] ?? '', token: randomUUID() }
  const wanted = { ...held, ...(change && { change }) }
  try {
    const free = chains.length > 1 ? await insertUnlocked(options, held, chains) : 0
    for (const chain of chains.slice(free)) await acquireOne(options, wanted, chain, giveUpMs)
    return held
  } catch (error) {
    await release(options.catalog, held).catch(() => {})
    throw error
  }
}

/** Takes as many as are free, up to the first that is not, with one write; gives how many. */
async function insertUnlocked(
  { catalog, clock }: LockOptions,
  held: HeldLocks,
  chains: readonly string[],
): Promise<number> {
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const holder = processIdentity()
  const locks = chains.map((chain): LockDocument => ({ _id: chain, ...held, holder, expires }))
  return catalog.run('take locks', async () => {
    try {
      const { insertedCount } = await catalog.entitylocks.insertMany(locks, { ordered: true })
      return insertedCount
    } catch (error) {
      // In their order, so that two who want the same ones never wait for each other.
      if (error instanceof MongoBulkWriteError && isDuplicate(error)) return error.insertedCount
      throw error
    }
  })
}

async function acquireOne(
  options: LockOptions,
  held: HeldLocks & { change?: WriteIntent },
  chain: string,
  giveUpMs: number,
): Promise<void> {
  const { catalog, clock } = options
  for (;;) {
    const expires = new Date(clock.nowMs() + LEASE_MS)
    const lock = { _id: chain, ...held, holder: processIdentity(), expires }
    if (await tryInsert(catalog, lock)) return
    const found = await catalog.run('look at a lock', () =>
      catalog.entitylocks.findOne({ _id: chain }),
    )
    if (found === null) continue
    if (isAbandoned(found, clock.nowMs())) {
      await recoverLock(options, found)
    } else if (clock.nowMs() >= giveUpMs) {
      throw lockedByOthers(chain)
    } else {
      // Out of step with the others, or the same one may lose again and again.
      await pause(randomInt(1, PAUSE_MS_MAX))
    }
  }
}

function tryInsert(catalog: Catalog, lock: LockDocument): Promise<boolean> {
  return catalog.run('take a lock', async () => {
    try {
      await catalog.entitylocks.insertOne(lock)
      return true
    } catch (error) {
      if (isDuplicate(error)) return false
      throw error
    }
  })
}

export function isAbandoned(lock: LockDocument, nowMs: number): boolean {
  return lock.expires.getTime() <= nowMs || hasEnded(lock.holder)
}

/** Finishes what an abandoned lock stands for, and removes it. Of several only one does. */
export async function recoverLock(options: LockOptions, lock: LockDocument): Promise<void> {
  const { catalog, clock } = options
  const { group, first } = lock
  const found = await catalog.run('look at a lock', () =>
    catalog.entitylocks.findOne({ _id: first, group }),
  )
  if (found === null) {
    // The first one goes when all is done: this one was only left behind.
    await catalog.run('remove a lock', () =>
      catalog.entitylocks.deleteOne({ _id: lock._id, group }),
    )
    return
  }
  if (!isAbandoned(found, clock.nowMs())) {
    await pause(randomInt(1, PAUSE_MS_MAX))
    return
  }
  const token = randomUUID()
  const mine = {
    token,
    holder: processIdentity(),
    expires: new Date(clock.nowMs() + LEASE_MS),
  }
  const taken = await catalog.run('take over a lock', () =>
    catalog.entitylocks.findOneAndUpdate(
      { _id: first, group, token: found.token },
      { $set: mine },
      { returnDocument: 'after' },
    ),
  )
  if (taken === null) return
  if (taken.change !== undefined) await options.recover(taken.change)
  await release(catalog, { group, first, token })
}

/** False: the locks are somebody else's by now, and nothing was noted. */
export async function saveIntent(
  { catalog, clock }: Pick<LockOptions, 'catalog' | 'clock'>,
  { group, first, token }: HeldLocks,
  change: WriteIntent,
): Promise<boolean> {
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const { matchedCount } = await catalog.run('note a change', () =>
    catalog.entitylocks.updateOne({ _id: first, group, token }, { $set: { change, expires } }),
  )
  return matchedCount === 1
}

/** False: the locks are somebody else's by now. Otherwise they are held for another lease. */
export async function renewLease(
  { catalog, clock }: Pick<LockOptions, 'catalog' | 'clock'>,
  { group, first, token }: HeldLocks,
): Promise<boolean> {
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const { matchedCount } = await catalog.run('keep locks', () =>
    catalog.entitylocks.updateOne({ _id: first, group, token }, { $set: { expires } }),
  )
  return matchedCount === 1
}

/** What follows from a change that is done, but cannot be done now: it stays, and holds nobody. */
export async function queueFollowUp(
  stores: Pick<LockOptions, 'catalog' | 'clock'>,
  change: WriteIntent,
): Promise<void> {
  const { audit: _, ...rest } = change
  await insertIntent(stores, { ...rest, steps: [] })
}

/** Notes a change that holds no chain; `dropNote` when it is done. */
export async function insertIntent(
  { catalog, clock }: Pick<LockOptions, 'catalog' | 'clock'>,
  change: WriteIntent,
): Promise<HeldLocks> {
  const name = `${INTENT_PREFIX}${randomUUID()}`
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const lock = { group: randomUUID(), first: name, token: randomUUID() }
  await catalog.run('note a change', () =>
    catalog.entitylocks.insertOne({
      _id: name,
      ...lock,
      holder: processIdentity(),
      expires,
      change,
    }),
  )
  return lock
}

/** Whoever has taken it over removes it. */
export async function deleteIntent(catalog: Catalog, { first, token }: HeldLocks): Promise<void> {
  await catalog.run('remove a note', () => catalog.entitylocks.deleteOne({ _id: first, token }))
}

/** Begins the names of what is no lock: no chain is called so. */
export const INTENT_PREFIX = 'unfinished/'

/** Nothing of it is left to do. False: somebody else has taken it over, and does it. */
export async function abortIntent(
  catalog: Catalog,
  { group, first, token }: HeldLocks,
): Promise<boolean> {
  const { matchedCount } = await catalog.run('withdraw a change', () =>
    catalog.entitylocks.updateOne({ _id: first, group, token }, { $unset: { change: '' } }),
  )
  return matchedCount === 1
}

async function hasIntent(catalog: Catalog, { group, first }: HeldLocks): Promise<boolean> {
  const found = await catalog.run('look at a lock', () =>
    catalog.entitylocks.findOne({ _id: first, group }, { projection: { change: 1 } }),
  )
  return found?.change !== undefined
}

/** The others of a group whose first one is gone stand for nothing (takeOver). */
async function release(
  catalog: Catalog,
  { group, first, token }: HeldLocks,
  isAlone = false,
): Promise<void> {
  await catalog.run('release locks', async () => {
    const held = await catalog.entitylocks.deleteOne({ _id: first, group, token })
    if (held.deletedCount === 1 && !isAlone) await catalog.entitylocks.deleteMany({ group })
  })
}
