/** Reads of other entities in rules. Deleted revisions are never returned. */
import type { CollectionReads, UnguardedCollection } from '../../catalog/collections.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import type { Fields } from '../../domain/fields.ts'
import { InUseError } from '../../requests/errors.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import type { RuleContext } from './rule.ts'

type Lookups = Pick<RuleContext, 'catalog'>

/** Collections that rules read. */
export type LookupCollection =
  | 'subscribers'
  | 'plans'
  | 'services'
  | 'rates'
  | 'prepaidincludes'
  | 'prepaidgroups'
  | 'users'
  | 'autorenew'
  | 'balances'
  | 'cards'

export interface FindOptions {
  /** Fields to read. */
  fields: readonly string[]
  max?: number
}

/** Rejects with `CatalogUnavailableError`, like the other lookups. */
export function findAll(
  { catalog }: Lookups,
  collection: LookupCollection,
  filter: Fields,
  { fields, max = 0 }: FindOptions,
): Promise<Fields[]> {
  const documents = catalog.reads[collection] as unknown as CollectionReads<Fields>
  const projection = Object.fromEntries(fields.map((name) => [name, 1]))
  return documents.find(filter, { projection }).limit(max).toArray()
}

/** The first document that satisfies a predicate, without loading the others into memory. */
export function findFirst(
  { catalog }: Lookups,
  collection: LookupCollection,
  filter: Fields,
  { fields, matches }: FindOptions & { matches: (document: Fields) => boolean },
): Promise<Fields | null> {
  const documents = catalog.unguarded[collection] as unknown as UnguardedCollection<Fields>
  const projection = Object.fromEntries(fields.map((name) => [name, 1]))
  return catalog.read(`look into ${collection}`, async (limits) => {
    for await (const document of documents.find(filter, { ...limits, projection })) {
      if (matches(document)) return document
    }
    return null
  })
}

export async function exists(
  context: Lookups,
  collection: LookupCollection,
  filter: Fields,
): Promise<boolean> {
  const found = await findAll(context, collection, filter, { fields: ['_id'], max: 1 })
  return found.length > 0
}

/** Reads once for all documents that share a cache, otherwise each time. */
export function cachedRead<T>(
  { cache }: Pick<RuleContext, 'cache'>,
  key: string,
  read: () => Promise<T>,
): Promise<T> {
  return cache === undefined ? read() : cache.of(key, read)
}

/** Fields of plans and services that rules use. */
const OFFER_FIELDS = ['from', 'to', 'price', 'limit_cycles', 'balance_period', 'play'] as const

/**
 * The revision of a plan or service that is valid at an instant, cached; undefined if it does not
 * exist.
 */
export async function offerAt(
  context: RuleContext,
  collection: 'plans' | 'services',
  name: string,
  atMs: number,
): Promise<Fields | undefined> {
  const revisions = await cachedRead(context, `${collection}/${name}`, () =>
    findAll(context, collection, { name, ...NOT_DELETED }, { fields: OFFER_FIELDS }),
  )
  return revisions.find((revision) => fromOf(revision) <= atMs && atMs < toOf(revision))
}

/** Maximum number of holders that are counted. */
const HOLDERS_MAX = 1000

/**
 * Describes the subscribers or accounts that match a filter: their number and the first of them.
 * Null if no document matches.
 */
export async function describeHolders(context: Lookups, filter: Fields): Promise<string | null> {
  const fields = ['type', 'sid', 'aid']
  const max = HOLDERS_MAX + 1
  const found = await findAll(context, 'subscribers', filter, { fields, max })
  const sids = distinct(found, 'subscriber', 'sid')
  const aids = distinct(found, 'account', 'aid')
  const [kind, ids] = sids.length > 0 ? ['subscriber', sids] : ['account', aids]
  const [first] = ids
  if (first === undefined) return null
  const count = found.length > HOLDERS_MAX ? `more than ${HOLDERS_MAX}` : ids.length
  const field = kind === 'account' ? 'aid' : 'sid'
  return `${count} ${kind}${ids.length === 1 ? '' : 's'} (the first: ${field} ${first})`
}

function distinct(found: readonly Fields[], type: string, field: string): number[] {
  const ids = found.filter((one) => one['type'] === type).map((one) => Number(one[field]))
  return [...new Set(ids)].sort((a, b) => a - b)
}

/** Throws `InUseError` unless `usedBy` is null. */
export function refuseIfUsed(what: string, usedBy: string | null): void {
  if (usedBy !== null) throw new InUseError(what, usedBy)
}
