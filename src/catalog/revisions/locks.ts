/** Entity locks in MongoDB: one process at a time changes an entity. */
import { createHash, randomInt, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { MongoBulkWriteError } from 'mongodb'
import type { Clock } from '../../runtime/clock.ts'
import { hasEnded, processIdentity } from '../../runtime/process-identity.ts'
import type { Catalog } from '../connection.ts'
import { EntityConflictError } from '../errors.ts'
import type { LockDocument, WriteIntent } from './lock-document.ts'
import { isDuplicate } from './revisions.ts'

export interface HeldLocks {
  group: string
  first: string
  token: string
}

/**
 * After this time another process may recover the lock. It completes the intent; the slow holder's
 * own writes then have no effect, and it cannot store another intent.
 */
const LEASE_MS = 15_000
const WAIT_MS = 10_000
const PAUSE_MS_MAX = 25

export interface LockOptions {
  catalog: Catalog
  clock: Clock
  /** Completes the intent of a dead holder. */
  recover(change: WriteIntent): Promise<void>
}

/** Waiters within this process by entity, in the order of arrival. */
const queues = new Map<string, Promise<void>>()

/**
 * Calls `act` while the entities are locked. Rejects with `EntityConflictError` if others hold the
 * locks for too long. `change`: the intent to store together with the lock, for a single entity
 * only.
 */
export async function withLocks<T>(
  options: LockOptions,
  entities: readonly string[],
  act: (held: HeldLocks) => Promise<T>,
  change?: WriteIntent,
): Promise<T> {
  const sorted = [...new Set(entities.map(lockName))].sort()
  const giveUpMs = options.clock.nowMs() + WAIT_MS
  const leaveQueues: (() => void)[] = []
  try {
    for (const entity of sorted)
      leaveQueues.push(await waitInQueue(entity, options.clock, giveUpMs))
    const held = await acquire(options, sorted, giveUpMs, change)
    let isUnfinished = false
    try {
      return await act(held)
    } catch (error) {
      isUnfinished = await hasIntent(options.catalog, held).catch(() => true)
      throw error
    } finally {
      // A stored intent keeps its lock until it is completed, by this process or another.
      if (!isUnfinished) await release(options.catalog, held, sorted.length === 1).catch(() => {})
    }
  } finally {
    for (const done of leaveQueues.reverse()) done()
  }
}

/** Longer names are hashed: keys sent by clients may exceed the limit of an index. */
const NAME_LENGTH_MAX = 200

function lockName(entity: string): string {
  if (entity.length <= NAME_LENGTH_MAX) return entity
  const hash = createHash('sha256').update(entity).digest('hex')
  return `${entity.slice(0, NAME_LENGTH_MAX)}#${hash}`
}

async function waitInQueue(entity: string, clock: Clock, giveUpMs: number): Promise<() => void> {
  const before = queues.get(entity)
  let done = () => {}
  const mine = new Promise<void>((resolve) => {
    done = resolve
  })
  const tail = (before ?? Promise.resolve()).then(() => mine)
  queues.set(entity, tail)
  const leave = () => {
    if (queues.get(entity) === tail) queues.delete(entity)
    done()
  }
  if (before === undefined) return leave
  const controller = new AbortController()
  const timeout = pause(Math.max(0, giveUpMs - clock.nowMs()), true, { signal: controller.signal })
  const isTimeout = await Promise.race([before.then(() => false), timeout.catch(() => false)])
  controller.abort()
  if (!isTimeout) return leave
  // Later waiters wait for those before this one, and no longer for this one.
  leave()
  throw lockedByOthers(entity)
}

function lockedByOthers(entity: string): EntityConflictError {
  return new EntityConflictError(`${entity} is being changed by others: nothing was written`)
}

async function acquire(
  options: LockOptions,
  entities: readonly string[],
  giveUpMs: number,
  change?: WriteIntent,
): Promise<HeldLocks> {
  const held = { group: randomUUID(), first: entities[0] ?? '', token: randomUUID() }
  const lock = { ...held, ...(change && { change }) }
  try {
    const acquired = entities.length > 1 ? await insertUnlocked(options, held, entities) : 0
    for (const entity of entities.slice(acquired)) await acquireOne(options, lock, entity, giveUpMs)
    return held
  } catch (error) {
    await release(options.catalog, held).catch(() => {})
    throw error
  }
}

/** Acquires the locks up to the first one that is taken, in one write; returns how many. */
async function insertUnlocked(
  { catalog, clock }: LockOptions,
  held: HeldLocks,
  entities: readonly string[],
): Promise<number> {
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const holder = processIdentity()
  const locks = entities.map((entity): LockDocument => ({ _id: entity, ...held, holder, expires }))
  return catalog.run('acquire locks', async () => {
    try {
      const { insertedCount } = await catalog.entitylocks.insertMany(locks, { ordered: true })
      return insertedCount
    } catch (error) {
      // In their sort order, so that two processes with the same locks cannot deadlock.
      if (error instanceof MongoBulkWriteError && isDuplicate(error)) return error.insertedCount
      throw error
    }
  })
}

async function acquireOne(
  options: LockOptions,
  held: HeldLocks & { change?: WriteIntent },
  entity: string,
  giveUpMs: number,
): Promise<void> {
  const { catalog, clock } = options
  for (;;) {
    const expires = new Date(clock.nowMs() + LEASE_MS)
    const lock = { _id: entity, ...held, holder: processIdentity(), expires }
    if (await tryInsert(catalog, lock)) return
    const found = await catalog.run('read a lock', () =>
      catalog.entitylocks.findOne({ _id: entity }),
    )
    if (found === null) continue
    if (isAbandoned(found, clock.nowMs())) {
      await recoverLock(options, found)
    } else if (clock.nowMs() >= giveUpMs) {
      throw lockedByOthers(entity)
    } else {
      // A random delay, so that the same process does not lose repeatedly.
      await pause(randomInt(1, PAUSE_MS_MAX))
    }
  }
}

function tryInsert(catalog: Catalog, lock: LockDocument): Promise<boolean> {
  return catalog.run('acquire a lock', async () => {
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

/** Completes the intent of an abandoned lock and deletes the lock. Only one process succeeds. */
export async function recoverLock(options: LockOptions, lock: LockDocument): Promise<void> {
  const { catalog, clock } = options
  const { group, first } = lock
  const found = await catalog.run('read a lock', () =>
    catalog.entitylocks.findOne({ _id: first, group }),
  )
  if (found === null) {
    // The first lock is deleted last, so this one is a leftover.
    await catalog.run('delete a lock', () =>
      catalog.entitylocks.deleteOne({ _id: lock._id, group }),
    )
    return
  }
  if (!isAbandoned(found, clock.nowMs())) {
    await pause(randomInt(1, PAUSE_MS_MAX))
    return
  }
  const token = randomUUID()
  const renewed = {
    token,
    holder: processIdentity(),
    expires: new Date(clock.nowMs() + LEASE_MS),
  }
  const taken = await catalog.run('recover a lock', () =>
    catalog.entitylocks.findOneAndUpdate(
      { _id: first, group, token: found.token },
      { $set: renewed },
      { returnDocument: 'after' },
    ),
  )
  if (taken === null) return
  if (taken.change !== undefined) await options.recover(taken.change)
  await release(catalog, { group, first, token })
}

/** Returns false if another process holds the locks now; the intent was not stored. */
export async function saveIntent(
  { catalog, clock }: Pick<LockOptions, 'catalog' | 'clock'>,
  { group, first, token }: HeldLocks,
  change: WriteIntent,
): Promise<boolean> {
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const { matchedCount } = await catalog.run('store an intent', () =>
    catalog.entitylocks.updateOne({ _id: first, group, token }, { $set: { change, expires } }),
  )
  return matchedCount === 1
}

/** Extends the locks by another lease. Returns false if another process holds them now. */
export async function renewLease(
  { catalog, clock }: Pick<LockOptions, 'catalog' | 'clock'>,
  { group, first, token }: HeldLocks,
): Promise<boolean> {
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const { matchedCount } = await catalog.run('renew locks', () =>
    catalog.entitylocks.updateOne({ _id: first, group, token }, { $set: { expires } }),
  )
  return matchedCount === 1
}

/** Persists the follow-up operation of an applied change for later, without locking the entity. */
export async function queueFollowUp(
  stores: Pick<LockOptions, 'catalog' | 'clock'>,
  change: WriteIntent,
): Promise<void> {
  const { audit: _, ...rest } = change
  await insertIntent(stores, { ...rest, steps: [] })
}

/** Stores an intent without a lock; `deleteIntent` removes it. */
export async function insertIntent(
  { catalog, clock }: Pick<LockOptions, 'catalog' | 'clock'>,
  change: WriteIntent,
): Promise<HeldLocks> {
  const name = `${INTENT_PREFIX}${randomUUID()}`
  const expires = new Date(clock.nowMs() + LEASE_MS)
  const lock = { group: randomUUID(), first: name, token: randomUUID() }
  await catalog.run('store an intent', () =>
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

/** Does nothing if another process has taken over the intent: that process deletes it. */
export async function deleteIntent(catalog: Catalog, { first, token }: HeldLocks): Promise<void> {
  await catalog.run('delete an intent', () => catalog.entitylocks.deleteOne({ _id: first, token }))
}

/** Prefix of the ids of intents without a lock; no entity name starts with it. */
export const INTENT_PREFIX = 'unfinished/'

/**
 * Nothing of the intent is left to do. Returns false if another process has taken it over and
 * completes it.
 */
export async function abortIntent(
  catalog: Catalog,
  { group, first, token }: HeldLocks,
): Promise<boolean> {
  const { matchedCount } = await catalog.run('abort an intent', () =>
    catalog.entitylocks.updateOne({ _id: first, group, token }, { $unset: { change: '' } }),
  )
  return matchedCount === 1
}

async function hasIntent(catalog: Catalog, { group, first }: HeldLocks): Promise<boolean> {
  const found = await catalog.run('read a lock', () =>
    catalog.entitylocks.findOne({ _id: first, group }, { projection: { change: 1 } }),
  )
  return found?.change !== undefined
}

/** Locks of a group whose first lock is deleted have no effect (recoverLock). */
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
