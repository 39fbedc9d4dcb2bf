/** The whole profile of a subscriber: its revision, its account's, and what is pooled there. */
import type { AccountProfile, PoolMember, SubscriberProfile } from '../domain/catalogue.ts'
import type { Collection } from './collections.ts'
import type { RawDocument } from './compile/document.ts'
import { compileAccount, compileSubscriber, withAccount } from './compile/profile.ts'
import type { Catalog } from './connection.ts'
import type { AccountDocument } from './entities/account.ts'
import type { SubscriberDocument } from './entities/subscriber.ts'
import { CompileError, PoolTooLargeError } from './errors.ts'
import {
  type FoundSubscriber,
  findRevision,
  nextBegin,
  type SubscriberQuery,
  stillToCome,
} from './subscribers.ts'

export interface ProfileOptions {
  /** Whether the subscribers of the account are read too, because something may be pooled. */
  withPool: boolean
}

/** Subscribers of an account that may share a pool. */
export const POOL_MEMBERS_MAX = 10_000

/** A sane bound: revisions of one account that are still to come. */
const REVISIONS_MAX = 1000

/** A part of a profile, and the first instant at which it may be another one. */
interface Part<T> {
  part: T
  untilMs: number
}

/**
 * The profile that holds at an instant, valid until any part of it may change; null if no
 * subscriber is found. An account needs no document. Rejects with `CatalogUnavailableError`, with
 * `CompileError` if a stored document is damaged, or with `PoolTooLargeError`.
 */
export async function findProfile(
  catalog: Catalog,
  query: SubscriberQuery,
  { withPool }: ProfileOptions,
): Promise<FoundSubscriber | null> {
  const held = await findRevision(catalog, query)
  if (held === null) return null
  const { aid } = held.found
  const [nextMs, planFromMs, account, pool] = await Promise.all([
    held.nextMs(catalog),
    held.planFromMs(catalog),
    accountAt(catalog, aid, query.atMs),
    withPool ? poolAt(catalog, aid, query.atMs) : NO_POOL,
  ])
  const subscriber = { ...held.found, planFromMs }
  const found: SubscriberProfile = { ...withAccount(subscriber, account.part), pool: pool.part }
  const validUntilMs = Math.min(held.validUntilMs, nextMs, account.untilMs, pool.untilMs)
  return { found, validUntilMs }
}

const NO_POOL: Part<null> = { part: null, untilMs: Number.POSITIVE_INFINITY }

/** The account revision that holds at an instant; null if the account has none then. */
async function accountAt(
  catalog: Catalog,
  aid: number,
  atMs: number,
): Promise<Part<AccountProfile | null>> {
  const filter = { type: 'account', aid, ...stillToCome(atMs) } as const
  const accounts = catalog.subscribers as unknown as Collection<AccountDocument>
  const revisions = await catalog.run('find account', () =>
    accounts.find(filter).sort({ from: 1, rev: 1 }).limit(REVISIONS_MAX).toArray(),
  )
  const current = revisions.findLast(({ from }) => from.getTime() <= atMs)
  const later = revisions.flatMap(({ from }) => (from.getTime() > atMs ? [from.getTime()] : []))
  const part = current === undefined ? null : compileAccount(current as RawDocument)
  return { part, untilMs: Math.min(part?.toMs ?? Number.POSITIVE_INFINITY, ...later) }
}

/** What the subscribers of an account hold at an instant. */
async function poolAt(
  catalog: Catalog,
  aid: number,
  atMs: number,
): Promise<Part<readonly PoolMember[]>> {
  const begun = { type: 'subscriber', aid, ...stillToCome(atMs), from: { $lte: new Date(atMs) } }
  const subscribers = catalog.subscribers as unknown as Collection<SubscriberDocument>
  const read = catalog.run('find subscribers of account', () =>
    subscribers
      .find(begun as object)
      .sort({ from: 1, rev: 1 })
      .limit(POOL_MEMBERS_MAX + 1)
      .toArray(),
  )
  const [documents, nextMs] = await Promise.all([read, nextBegin(catalog, { aid }, atMs)])
  if (documents.length > POOL_MEMBERS_MAX) throw new PoolTooLargeError(aid, POOL_MEMBERS_MAX)
  // Of several revisions of one subscriber the one that began last holds.
  const bySid = new Map(documents.map((document) => [document.sid, document as RawDocument]))
  const members: PoolMember[] = []
  let untilMs = nextMs
  for (const document of bySid.values()) {
    const member = memberOf(document)
    if (member === null) continue
    const { plan, planFromMs, services, timeZone } = member
    members.push({ plan, planFromMs, services, timeZone })
    untilMs = Math.min(untilMs, member.toMs)
  }
  return { part: members, untilMs }
}

/** Null for a damaged document: it adds nothing to the pool, and only its own requests fail. */
function memberOf(document: RawDocument): SubscriberProfile | null {
  try {
    return compileSubscriber(document)
  } catch (error) {
    if (error instanceof CompileError) return null
    throw error
  }
}
