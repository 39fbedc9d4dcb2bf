/** Reads the subscriber of an identifier at an instant from MongoDB, as a part of a request. */
import type { SubscriberProfile } from '../../domain/catalogue.ts'
import { FieldError, isUnset } from '../../domain/fields.ts'
import type { Collection } from '../collections.ts'
import { type CompileOptions, LENIENT, type RawDocument } from '../compile/document.ts'
import { compileSubscriber } from '../compile/profile.ts'
import type { Catalog } from '../connection.ts'
import { identifiersIn, storedAs } from '../entities/identifiers.ts'
import type { SubscriberDocument } from '../entities/subscriber.ts'

export interface SubscriberQuery {
  /** `sid`, `msisdn`, `imsi`, or another indexed field (`ensureIndexes`). */
  key: string
  value: string
  /** Event time, epoch ms. */
  atMs: number
}

export interface FoundSubscriber {
  profile: SubscriberProfile
  /** The first instant after `atMs` at which another revision may become valid, epoch ms. */
  validUntilMs: number
}

/**
 * The subscriber revision at an instant, without its account (profiles.ts); null if the identifier
 * is unknown. If several overlap, the one that started last. Rejects with
 * `CatalogUnavailableError`, or with `FieldError` if the stored document is invalid.
 */
export async function findSubscriber(
  catalog: Catalog,
  query: SubscriberQuery,
): Promise<FoundSubscriber | null> {
  const [revision = null] = await findRevisions(catalog, [query])
  if (revision === null) return null
  if (revision instanceof FieldError) throw revision
  const [nextMs = Number.POSITIVE_INFINITY] = await nextStarts(catalog, [revision])
  const { profile, validUntilMs } = revision
  return { profile, validUntilMs: Math.min(validUntilMs, nextMs) }
}

/** A subscriber whose later revisions under other identifiers are not read yet. */
export interface FoundRevision extends FoundSubscriber {
  query: SubscriberQuery
  /**
   * Whether the document has the start of its plan; otherwise earlier revisions determine it
   * (plan-start.ts).
   */
  hasPlanStart: boolean
}

/**
 * As `findSubscriber`, for many queries with one read per field; `nextStarts` can then run
 * concurrently with further reads. Errors of invalid documents are returned at their position.
 * `clockDifferenceMs`: how long before its begin the first revision of an identifier may apply.
 */
export async function findRevisions(
  catalog: Catalog,
  queries: readonly SubscriberQuery[],
  options: CompileOptions = LENIENT,
  clockDifferenceMs = 0,
): Promise<(FoundRevision | FieldError | null)[]> {
  const found = new Map<SubscriberQuery, readonly SubscriberDocument[]>()
  await Promise.all(
    batchesOf(queries).map(async (group) => {
      const documents = await revisionsOf(catalog, group)
      for (const query of group) found.set(query, documents(query))
    }),
  )
  return queries.map((query) =>
    revisionFor(query, found.get(query) ?? [], options, clockDifferenceMs),
  )
}

/** How long a write takes at most; an id has the second in which it was made. */
const WRITE_MS_MAX = 10_000

/** Whether a revision began as it was written. */
function isBegunAtWrite({ _id, from }: SubscriberDocument): boolean {
  return Math.abs(from.getTime() - _id.getTimestamp().getTime()) <= WRITE_MS_MAX
}

/**
 * Position of the revision for an instant, -1 for none. If none is valid then, one that begins soon
 * and began as it was written applies to events whose clocks are behind.
 */
function indexAt(
  revisions: readonly SubscriberDocument[],
  atMs: number,
  clockDifferenceMs: number,
): number {
  const lastBefore = (ms: number) => revisions.findLastIndex(({ from }) => from.getTime() <= ms)
  const index = lastBefore(atMs)
  const firstMs = revisions[0]?.from.getTime()
  if (index >= 0 || firstMs === undefined || firstMs - clockDifferenceMs > atMs) return index
  const first = lastBefore(firstMs)
  return isBegunAtWrite(revisions[first] as SubscriberDocument) ? first : -1
}

/** Fields for which the values in a document equal those in the query. */
const BATCHED: ReadonlySet<string> = new Set(['sid', 'msisdn', 'imsi'])

/** Groups queries that one read can answer. */
function batchesOf(queries: readonly SubscriberQuery[]): SubscriberQuery[][] {
  const groups = new Map<string, SubscriberQuery[]>()
  for (const query of queries) {
    const { key, value } = query
    const name = BATCHED.has(key) ? key : `${key}:${value}`
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [query])
    else group.push(query)
  }
  return [...groups.values()]
}

/** Revisions of a query that are valid at its instant or start later, by start. */
type RevisionsOf = (query: SubscriberQuery) => readonly SubscriberDocument[]

async function revisionsOf(
  catalog: Catalog,
  group: readonly SubscriberQuery[],
): Promise<RevisionsOf> {
  const { key } = group[0] as SubscriberQuery
  const lookups = new Map<string, object | string | number>()
  for (const { value } of group) {
    const stored = storedAs(key, value)
    if (stored !== null) lookups.set(value, stored)
  }
  if (lookups.size === 0) return () => []
  const [only] = lookups.values()
  const atMs = earliestOf(group)
  const documents = await readInParts([...lookups.values()], (parts, limit) => {
    const filter = { [key]: BATCHED.has(key) ? { $in: parts } : only, ...revisionsFrom(atMs) }
    return subscribersOf(catalog)
      .find(filter as object)
      .sort({ from: 1, rev: 1 })
      .limit(limit)
      .toArray()
  })
  const byValue = new Map<string, SubscriberDocument[]>()
  if (BATCHED.has(key)) {
    for (const document of documents) {
      for (const value of new Set(identifiersIn(document, key))) {
        const same = byValue.get(value)
        if (same === undefined) byValue.set(value, [document])
        else same.push(document)
      }
    }
  }
  return ({ value, atMs: instant }) => {
    const stored = lookups.get(value)
    if (stored === undefined) return []
    const same = BATCHED.has(key) ? (byValue.get(String(stored)) ?? []) : documents
    return same.filter(({ to }) => to.getTime() > instant)
  }
}

function revisionFor(
  query: SubscriberQuery,
  revisions: readonly SubscriberDocument[],
  options: CompileOptions,
  clockDifferenceMs: number,
): FoundRevision | FieldError | null {
  const { atMs } = query
  const index = indexAt(revisions, atMs, clockDifferenceMs)
  const current = revisions[index]
  if (current === undefined) return null
  const later = revisions.slice(index + 1).map(({ from }) => from.getTime())
  try {
    const profile = compileSubscriber(current as RawDocument & SubscriberDocument, options)
    const hasPlanStart = !isUnset(current.plan_activation)
    const validUntilMs = Math.min(profile.toMs, ...later)
    return { query, profile, hasPlanStart, validUntilMs }
  } catch (error) {
    if (error instanceof FieldError) return error
    throw error
  }
}

/**
 * Start of the next revision of each subscriber, which may have other identifiers. Infinity without
 * a next revision, and for subscribers found by `sid`, whose revisions were all read.
 */
export async function nextStarts(
  catalog: Catalog,
  revisions: readonly FoundRevision[],
): Promise<number[]> {
  const others = revisions.filter(({ query }) => query.key !== 'sid')
  const lookupOf = ({ profile, query }: FoundRevision) => ({
    value: profile.sid,
    atMs: Math.max(query.atMs, profile.fromMs),
  })
  const starts = await startsAfter(catalog, 'sid', others.map(lookupOf))
  return revisions.map((revision) => {
    if (revision.query.key === 'sid') return Number.POSITIVE_INFINITY
    const { value, atMs } = lookupOf(revision)
    return starts(value, atMs)
  })
}

/**
 * Returns a function for the start of the next subscriber revision with a value after an instant,
 * epoch ms; Infinity if no revision follows.
 */
export async function startsAfter(
  catalog: Catalog,
  field: 'sid' | 'aid',
  lookups: readonly { value: number; atMs: number }[],
): Promise<(value: number, atMs: number) => number> {
  if (lookups.length === 0) return () => Number.POSITIVE_INFINITY
  const fromMs = earliestOf(lookups)
  const values = [...new Set(lookups.map(({ value }) => value))]
  const documents = await readInParts(values, (parts, limit) => {
    const later = { ...revisionsFrom(fromMs), from: { $gt: new Date(fromMs) } }
    return subscribersOf(catalog)
      .find({ [field]: { $in: parts }, ...later } as object)
      .project<Start>({ _id: 0, sid: 1, aid: 1, from: 1 })
      .sort({ from: 1 })
      .limit(limit)
      .toArray()
  })
  const starts = new Map<number, number[]>()
  for (const document of documents) {
    const same = starts.get(document[field])
    if (same === undefined) starts.set(document[field], [document.from.getTime()])
    else same.push(document.from.getTime())
  }
  return (value, atMs) => {
    const next = starts.get(value)?.find((start) => start > atMs)
    return next ?? Number.POSITIVE_INFINITY
  }
}

type Start = Pick<SubscriberDocument, 'sid' | 'aid' | 'from'>

/** Queries by the identifiers of these subscribers at an instant; by `sid` if they have none. */
export async function identifiersOf(
  catalog: Catalog,
  sids: readonly number[],
  fields: readonly string[],
  atMs: number,
): Promise<{ sid: number; query: SubscriberQuery }[]> {
  const holding = { ...revisionsFrom(atMs), from: { $lte: new Date(atMs) } }
  const documents = await readInParts(sids, (parts, limit) =>
    subscribersOf(catalog)
      .find({ sid: { $in: parts }, ...holding } as object)
      .limit(limit)
      .toArray(),
  )
  return documents.flatMap((document) => {
    const { sid } = document
    const queries = fields.flatMap((key) =>
      identifiersIn(document, key).map((value) => ({ sid, query: { key, value, atMs } })),
    )
    return queries.length > 0 ? queries : [{ sid, query: { key: 'sid', value: String(sid), atMs } }]
  })
}

/** Documents per read; if there are more, the values are split into two reads. */
const DOCUMENTS_MAX = 10_000

/** All documents with these values; for a single value at most `limit`, the earliest. */
export async function readInParts<Value, Document>(
  values: readonly Value[],
  read: (values: readonly Value[], limit: number) => Promise<Document[]>,
  limit = DOCUMENTS_MAX,
): Promise<Document[]> {
  const documents = await read(values, limit)
  if (documents.length < limit || values.length <= 1) return documents
  const half = Math.ceil(values.length / 2)
  const parts = await Promise.all([
    readInParts(values.slice(0, half), read, limit),
    readInParts(values.slice(half), read, limit),
  ])
  return parts.flat()
}

export function earliestOf(moments: readonly { atMs: number }[]): number {
  return moments.reduce((earliest, { atMs }) => Math.min(earliest, atMs), Number.POSITIVE_INFINITY)
}

/** Filter for subscriber revisions that end after the instant. */
function revisionsFrom(atMs: number) {
  return { type: 'subscriber', ...endsAfter(atMs) } as const
}

/** Filter for revisions that end after the instant. */
export function endsAfter(atMs: number) {
  return { to: { $gt: new Date(atMs) }, deleted: { $ne: true } } as const
}

function subscribersOf(catalog: Catalog): Collection<SubscriberDocument> {
  return catalog.subscribers as unknown as Collection<SubscriberDocument>
}
