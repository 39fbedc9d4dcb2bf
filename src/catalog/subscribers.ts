/** Who is behind an identifier at an instant: read from MongoDB on the way of a request. */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import { FOREVER_MS } from '../domain/time.ts'
import type { Collection } from './collections.ts'
import type { RawDocument } from './compile/document.ts'
import { compileSubscriber, type PlanSpan, planBegin } from './compile/profile.ts'
import type { Catalog } from './connection.ts'
import type { SubscriberDocument } from './entities/subscriber.ts'
import { storedAs } from './identifiers.ts'

export interface SubscriberQuery {
  /** `sid`, `msisdn`, `imsi`, or another field that has an index (`ensureIndexes`). */
  key: string
  value: string
  /** Event time, epoch ms. */
  atMs: number
}

export interface FoundSubscriber {
  found: SubscriberProfile
  /** The first instant after `atMs` at which another revision may hold, epoch ms. */
  validUntilMs: number
}

/** A sane bound: revisions of one identifier that are still to come. */
const REVISIONS_MAX = 1000

/**
 * The subscriber revision that holds at an instant, without its account (profiles.ts); null if none
 * does. Of several the one that began last. Rejects with `CatalogUnavailableError`, or with
 * `CompileError` if the stored document is damaged.
 */
export async function findSubscriber(
  catalog: Catalog,
  query: SubscriberQuery,
): Promise<FoundSubscriber | null> {
  const held = await findRevision(catalog, query)
  if (held === null) return null
  const nextMs = await held.nextMs(catalog)
  return { found: held.found, validUntilMs: Math.min(held.validUntilMs, nextMs) }
}

/** A subscriber whose later revisions under other identifiers are not looked for yet. */
export interface HeldRevision extends FoundSubscriber {
  /** When the next revision of the same subscriber begins; Infinity for never, or if included. */
  nextMs(catalog: Catalog): Promise<number>
  /** When its plan began, also where only earlier revisions tell. */
  planFromMs(catalog: Catalog): Promise<number>
}

/** As `findSubscriber`, by one read; the other can then be done beside further ones. */
export async function findRevision(
  catalog: Catalog,
  { key, value, atMs }: SubscriberQuery,
): Promise<HeldRevision | null> {
  const wanted = storedAs(key, value)
  if (wanted === null) return null
  const revisions = await revisionsFrom(catalog, { [key]: wanted }, atMs)
  const current = revisions.findLast(({ from }) => from.getTime() <= atMs)
  if (current === undefined) return null
  const found = compileSubscriber(current as RawDocument & SubscriberDocument)
  const later = revisions.filter(({ from }) => from.getTime() > atMs)
  const validUntilMs = Math.min(found.toMs, ...later.map(({ from }) => from.getTime()))
  const nextMs = async (reader: Catalog) =>
    // A later revision of the same subscriber may have other identifiers.
    key === 'sid' ? Number.POSITIVE_INFINITY : nextBegin(reader, { sid: current.sid }, atMs)
  const planFromMs = async (reader: Catalog) =>
    current.plan_activation === undefined || current.plan_activation === null
      ? planBegin(found, await spansBefore(reader, found))
      : found.planFromMs
  return { found, validUntilMs, nextMs, planFromMs }
}

/** Revisions of the subscriber that ended by then, of which documents of others may tell nothing. */
async function spansBefore(
  catalog: Catalog,
  { sid, fromMs }: SubscriberProfile,
): Promise<PlanSpan[]> {
  const filter = {
    sid,
    type: 'subscriber',
    deleted: { $ne: true },
    from: { $lt: new Date(fromMs) },
  }
  const earlier = await catalog.run('find earlier revisions of subscriber', () =>
    subscribersOf(catalog)
      .find(filter as object)
      .sort({ from: -1 })
      .limit(REVISIONS_MAX)
      .project<SubscriberDocument>({ plan: 1, from: 1, to: 1, plan_activation: 1 })
      .toArray(),
  )
  return earlier.map(({ plan, from, to, plan_activation: begin }) => ({
    ...{ plan, fromMs: +from, toMs: +(to ?? FOREVER_MS), planFromMs: +(begin ?? from) },
  }))
}

/** Revisions that hold at the instant or begin later, by begin. */
function revisionsFrom(
  catalog: Catalog,
  identifier: Record<string, unknown>,
  atMs: number,
): Promise<SubscriberDocument[]> {
  const filter = { ...identifier, type: 'subscriber', ...stillToCome(atMs) }
  return catalog.run('find subscriber', () =>
    subscribersOf(catalog)
      .find(filter as object)
      .sort({ from: 1, rev: 1 })
      .limit(REVISIONS_MAX)
      .toArray(),
  )
}

/** When the next of the subscriber revisions begins, epoch ms; Infinity for never. */
export async function nextBegin(
  catalog: Catalog,
  which: { sid: number } | { aid: number },
  atMs: number,
): Promise<number> {
  const filter = {
    ...which,
    type: 'subscriber',
    ...stillToCome(atMs),
    from: { $gt: new Date(atMs) },
  }
  const [next] = await catalog.run('find next revision of subscriber', () =>
    subscribersOf(catalog)
      .find(filter as object)
      .sort({ from: 1 })
      .limit(1)
      .toArray(),
  )
  return next?.from.getTime() ?? Number.POSITIVE_INFINITY
}

/** Part of a filter: what ends after the instant. */
export function stillToCome(atMs: number) {
  return { to: { $gt: new Date(atMs) }, deleted: { $ne: true } } as const
}

function subscribersOf(catalog: Catalog): Collection<SubscriberDocument> {
  return catalog.subscribers as unknown as Collection<SubscriberDocument>
}
