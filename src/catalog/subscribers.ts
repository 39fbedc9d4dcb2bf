/** Who is behind an identifier at an instant. The only read of MongoDB on the way of a request. */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { Collection } from './collections.ts'
import { compileSubscriber, type RawDocument } from './compile.ts'
import type { Catalog } from './connection.ts'
import type { SubscriberDocument } from './entities/subscriber.ts'

export interface SubscriberQuery {
  key: 'sid' | 'msisdn' | 'imsi'
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
 * The subscriber revision that holds at an instant; null if none does. Of several the one that
 * began last. Rejects with `CatalogUnavailableError`, or with `CompileError` if the stored document
 * is damaged.
 */
export async function findSubscriber(
  catalog: Catalog,
  { key, value, atMs }: SubscriberQuery,
): Promise<FoundSubscriber | null> {
  const wanted = key === 'sid' ? sidFrom(value) : value
  if (wanted === null) return null
  const revisions = await revisionsFrom(catalog, { [key]: wanted }, atMs)
  const current = revisions.findLast(({ from }) => from.getTime() <= atMs)
  if (current === undefined) return null
  const later = revisions.filter(({ from }) => from.getTime() > atMs)
  // A later revision of the same subscriber may have other identifiers.
  const next = key === 'sid' ? [] : await nextRevision(catalog, current.sid, atMs)
  const begins = [...later, ...next].map(({ from }) => from.getTime())
  const found = compileSubscriber(current as RawDocument & SubscriberDocument)
  return { found, validUntilMs: Math.min(found.toMs, ...begins) }
}

/** Identifiers are texts, but `sid` is stored as an integer: "0018" and "18" are one. */
function sidFrom(value: string): number | null {
  const sid = /^\d{1,16}$/.test(value) ? Number(value) : 0
  return Number.isSafeInteger(sid) && sid > 0 ? sid : null
}

/** Revisions that hold at the instant or begin later, by begin. */
function revisionsFrom(
  catalog: Catalog,
  identifier: Record<string, string | number>,
  atMs: number,
): Promise<SubscriberDocument[]> {
  const filter = { ...identifier, ...stillToCome(atMs) }
  return catalog.run('find subscriber', () =>
    subscribersOf(catalog).find(filter).sort({ from: 1, rev: 1 }).limit(REVISIONS_MAX).toArray(),
  )
}

function nextRevision(catalog: Catalog, sid: number, atMs: number): Promise<SubscriberDocument[]> {
  const filter = { sid, ...stillToCome(atMs), from: { $gt: new Date(atMs) } }
  return catalog.run('find next revision of subscriber', () =>
    subscribersOf(catalog).find(filter).sort({ from: 1 }).limit(1).toArray(),
  )
}

function stillToCome(atMs: number) {
  return { type: 'subscriber', to: { $gt: new Date(atMs) }, deleted: { $ne: true } } as const
}

function subscribersOf(catalog: Catalog): Collection<SubscriberDocument> {
  return catalog.subscribers as unknown as Collection<SubscriberDocument>
}
