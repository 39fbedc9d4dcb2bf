/** The complete profile of a subscriber: its revision, its account and the pool. */
import type { AccountProfile, PoolMember, SubscriberProfile } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
import type { Collection } from '../collections.ts'
import { type CompileOptions, LENIENT, type RawDocument } from '../compile/document.ts'
import { compileAccount, compileSubscriber, withAccount } from '../compile/profile.ts'
import type { Catalog } from '../connection.ts'
import type { AccountDocument } from '../entities/account.ts'
import type { SubscriberDocument } from '../entities/subscriber.ts'
import { PoolTooLargeError } from '../errors.ts'
import { planStarts } from './plan-start.ts'
import {
  earliestOf,
  endsAfter,
  type FoundRevision,
  type FoundSubscriber,
  findRevisions,
  nextStarts,
  readInParts,
  type SubscriberQuery,
  startsAfter,
} from './subscribers.ts'

/** Subscribers of an account that may share a pool. */
export const POOL_MEMBERS_MAX = 10_000

/**
 * Whether the subscribers of the account must be read as well, because included units may be
 * pooled.
 */
export type NeedsPool = (profile: SubscriberProfile) => boolean

/** A part of a profile, and the first instant at which it may change. */
export interface Part<T> {
  part: T
  untilMs: number
}

/** An account at an instant. */
export interface AccountAt {
  aid: number
  atMs: number
}

/** The account; null if it has no revision then. */
export type AccountAnswer = Part<AccountProfile | null> | Error
export type PoolOf = (instant: AccountAt) => Part<readonly PoolMember[]> | Error

/**
 * Where profiles are read. An error in place of a result is that of one profile; others are not
 * affected.
 */
export interface ProfileParts {
  /** In the order of the queries; null for an unknown subscriber. */
  revisions(queries: readonly SubscriberQuery[]): Promise<(FoundRevision | Error | null)[]>
  /** For each revision the start of the next one, and of its plan if the revision has none. */
  nextStarts(found: readonly FoundRevision[]): Promise<readonly number[]>
  planStarts(found: readonly FoundRevision[]): Promise<readonly (number | undefined)[]>
  accounts(instants: readonly AccountAt[]): Promise<AccountAnswer[]>
  pools(instants: readonly AccountAt[]): Promise<PoolOf>
}

/**
 * Entities of the node. Their errors are `FieldError` and `PoolTooLargeError`.
 * `clockDifferenceMs`: by how much clocks of events may be behind.
 */
export function storedParts(
  catalog: Catalog,
  options: CompileOptions = LENIENT,
  clockDifferenceMs = 0,
): ProfileParts {
  return {
    revisions: (queries) => findRevisions(catalog, queries, options, clockDifferenceMs),
    nextStarts: (found) => nextStarts(catalog, found),
    planStarts: (found) => planStarts(catalog, found),
    accounts: (instants) => accountsAt(catalog, instants, options),
    pools: (instants) => poolsAt(catalog, instants),
  }
}

/**
 * The profile at an instant, valid until any part of it may change; null if no subscriber is found.
 * The account need not have a document. Rejects with `CatalogUnavailableError`, with `FieldError`
 * if a stored document is invalid, or with `PoolTooLargeError`.
 */
export async function findProfile(
  catalog: Catalog,
  query: SubscriberQuery,
  needsPool: NeedsPool,
): Promise<FoundSubscriber | null> {
  const [found = null] = await findProfiles(catalog, [query], needsPool)
  if (found instanceof Error) throw found
  return found
}

/**
 * As `findProfile`, for many queries with the same number of reads. Errors of a single profile are
 * returned at its position.
 */
export function findProfiles(
  catalog: Catalog,
  queries: readonly SubscriberQuery[],
  needsPool: NeedsPool,
  options: CompileOptions = LENIENT,
): Promise<(FoundSubscriber | Error | null)[]> {
  return joinProfiles(storedParts(catalog, options), queries, needsPool)
}

/** As `findProfiles`, from any parts. */
export async function joinProfiles(
  parts: ProfileParts,
  queries: readonly SubscriberQuery[],
  needsPool: NeedsPool,
): Promise<(FoundSubscriber | Error | null)[]> {
  const revisions = await parts.revisions(queries)
  const found = revisions.filter(isFound)
  const instants = found.map(({ profile, query }) => {
    // A revision that applies before its begin has the account and pool of its begin.
    return { aid: profile.aid, atMs: Math.max(query.atMs, profile.fromMs) }
  })
  const [nextMs, planFromMs, accounts] = await Promise.all([
    parts.nextStarts(found),
    parts.planStarts(found),
    parts.accounts(instants),
  ])
  const joined = found.map((revision, index) => {
    const profile = {
      ...revision.profile,
      planFromMs: planFromMs[index] ?? revision.profile.planFromMs,
    }
    return withAccountPart({ ...revision, profile }, nextMs[index], accounts[index])
  })
  const isPooled = (index: number) => {
    const one = joined[index]
    return one !== undefined && !(one instanceof Error) && needsPool(one.profile)
  }
  const pooled = instants.filter((_, index) => isPooled(index))
  const pools = await parts.pools(pooled)
  const whole = new Map(
    joined.map((one, index) => {
      const pool = isPooled(index) ? pools(instants[index] as AccountAt) : null
      return [found[index] as object, pool === null ? one : withPool(one, pool)] as const
    }),
  )
  return revisions.map((revision) => (isFound(revision) ? (whole.get(revision) ?? null) : revision))
}

function isFound(revision: FoundRevision | Error | null): revision is FoundRevision {
  return revision !== null && !(revision instanceof Error)
}

function withAccountPart(
  { profile, validUntilMs }: FoundRevision,
  nextMs = Number.POSITIVE_INFINITY,
  account: AccountAnswer = { part: null, untilMs: Number.POSITIVE_INFINITY },
): FoundSubscriber | Error {
  if (account instanceof Error) return account
  const toMs = Math.min(validUntilMs, nextMs, account.untilMs)
  const fromMs = Math.max(profile.fromMs, account.part?.fromMs ?? 0)
  // A grant must know the edges of both.
  return {
    profile: { ...withAccount(profile, account.part), fromMs, toMs },
    validUntilMs: toMs,
  }
}

function withPool(
  subscriber: FoundSubscriber | Error,
  pool: Part<readonly PoolMember[]> | Error,
): FoundSubscriber | Error {
  if (subscriber instanceof Error) return subscriber
  if (pool instanceof Error) return pool
  const { profile, validUntilMs } = subscriber
  return {
    profile: { ...profile, pool: pool.part },
    validUntilMs: Math.min(validUntilMs, pool.untilMs),
  }
}

/** The account revisions at the instants; null if the account has none. */
async function accountsAt(
  catalog: Catalog,
  instants: readonly AccountAt[],
  options: CompileOptions,
): Promise<AccountAnswer[]> {
  if (instants.length === 0) return []
  const collection = catalog.subscribers as unknown as Collection<AccountDocument>
  const filter = { type: 'account', ...endsAfter(earliestOf(instants)) } as const
  const documents = await readInParts(aidsOf(instants), (aids, limit) =>
    collection
      .find({ aid: { $in: [...aids] }, ...filter })
      .sort({ from: 1, rev: 1 })
      .limit(limit)
      .toArray(),
  )
  const byAid = groupedBy(documents, ({ aid }) => aid)
  return instants.map(({ aid, atMs }) => accountAt(byAid.get(aid) ?? [], atMs, options))
}

function accountAt(
  documents: readonly AccountDocument[],
  atMs: number,
  options: CompileOptions,
): AccountAnswer {
  const revisions = documents.filter(({ to }) => to.getTime() > atMs)
  const current = revisions.findLast(({ from }) => from.getTime() <= atMs)
  const later = revisions.flatMap(({ from }) => (from.getTime() > atMs ? [from.getTime()] : []))
  try {
    const document = current as unknown as RawDocument
    const part = current === undefined ? null : compileAccount(document, options)
    return { part, untilMs: Math.min(part?.toMs ?? Number.POSITIVE_INFINITY, ...later) }
  } catch (error) {
    if (error instanceof FieldError) return error
    throw error
  }
}

/** Plans and services of the subscribers of accounts at the instants. */
async function poolsAt(catalog: Catalog, instants: readonly AccountAt[]): Promise<PoolOf> {
  const aids = aidsOf(instants)
  if (aids.length === 0) return () => ({ part: [], untilMs: Number.POSITIVE_INFINITY })
  const collection = catalog.subscribers as unknown as Collection<SubscriberDocument>
  const latestMs = instants.reduce((latest, { atMs }) => Math.max(latest, atMs), 0)
  const filter = {
    type: 'subscriber',
    ...endsAfter(earliestOf(instants)),
    from: { $lte: new Date(latestMs) },
  }
  const read = readInParts(
    aids,
    (parts, limit) =>
      collection
        .find({ aid: { $in: [...parts] }, ...filter } as object)
        .sort({ from: 1, rev: 1 })
        .limit(limit)
        .toArray(),
    POOL_MEMBERS_MAX + 1,
  )
  const lookups = instants.map(({ aid, atMs }) => ({ value: aid, atMs }))
  const [documents, starts] = await Promise.all([read, startsAfter(catalog, 'aid', lookups)])
  const byAid = groupedBy(documents, ({ aid }) => aid)
  return ({ aid, atMs }) => {
    const ofAccount = byAid.get(aid) ?? []
    if (ofAccount.length > POOL_MEMBERS_MAX) return new PoolTooLargeError(aid, POOL_MEMBERS_MAX)
    return poolAt(ofAccount, atMs, starts(aid, atMs))
  }
}

function poolAt(
  documents: readonly SubscriberDocument[],
  atMs: number,
  nextMs: number,
): Part<readonly PoolMember[]> {
  const holding = documents.filter(({ from, to }) => from.getTime() <= atMs && to.getTime() > atMs)
  // If several revisions of a subscriber overlap, the one that started last is valid.
  const bySid = new Map(
    holding.map((document) => [document.sid, document as unknown as RawDocument]),
  )
  return poolOf(
    [...bySid.values()].map((document) => () => compileSubscriber(document)),
    nextMs,
  )
}

/**
 * The pool of these subscribers. One that does not compile adds nothing to it, and only its own
 * requests fail. `nextMs`: start of the next revision of any of them.
 */
export function poolOf(
  compiles: readonly (() => SubscriberProfile)[],
  nextMs: number,
): Part<readonly PoolMember[]> {
  const members: PoolMember[] = []
  let untilMs = nextMs
  for (const compile of compiles) {
    const member = memberOf(compile)
    if (member === null) continue
    const { plan, planFromMs, services, timeZone } = member
    members.push({ plan, planFromMs, services, timeZone })
    untilMs = Math.min(untilMs, member.toMs)
  }
  return { part: members, untilMs }
}

function aidsOf(instants: readonly AccountAt[]): number[] {
  return [...new Set(instants.map(({ aid }) => aid))]
}

function groupedBy<T>(values: readonly T[], keyOf: (value: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group === undefined) groups.set(keyOf(value), [value])
    else group.push(value)
  }
  return groups
}

/** Null for an invalid document. */
function memberOf(compile: () => SubscriberProfile): SubscriberProfile | null {
  try {
    return compile()
  } catch (error) {
    if (error instanceof FieldError) return null
    throw error
  }
}
