/** What rules read of other entities. Deleted revisions are never found. */

import type { Collection } from '../../../catalog/collections.ts'
import type { Fields } from '../../../domain/fields.ts'
import { InUseError } from '../errors.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import type { RuleContext } from './rule.ts'

type Lookups = Pick<RuleContext, 'catalog'>

/** Collections that rules look into. */
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

export const NOT_DELETED = { deleted: { $ne: true } } as const

/** Filter: what holds at some time at which the revision does. */
export function validDuring(revision: Fields): Fields {
  const { from, to } = revision
  return { from: { $lt: to }, to: { $gt: from }, ...NOT_DELETED }
}

/** Filter: what holds at an instant. */
export function validAt(atMs: number): Fields {
  const at = new Date(atMs)
  return { from: { $lte: at }, to: { $gt: at }, ...NOT_DELETED }
}

export interface FindOptions {
  /** Fields that are read. */
  fields: readonly string[]
  max?: number
}

/** Rejects with `CatalogUnavailableError`, as all of these. */
export function findAll(
  { catalog }: Lookups,
  collection: LookupCollection,
  filter: Fields,
  { fields, max = 0 }: FindOptions,
): Promise<Fields[]> {
  const documents = catalog[collection] as unknown as Collection<Fields>
  const projection = Object.fromEntries(fields.map((name) => [name, 1]))
  return catalog.read(`look into ${collection}`, (limits) =>
    documents
      .find(filter, { ...limits, projection })
      .limit(max)
      .toArray(),
  )
}

/** The first document that a predicate holds for, without keeping the others in memory. */
export function findFirst(
  { catalog }: Lookups,
  collection: LookupCollection,
  filter: Fields,
  { fields, matches }: FindOptions & { matches: (document: Fields) => boolean },
): Promise<Fields | null> {
  const documents = catalog[collection] as unknown as Collection<Fields>
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

/** Once for all documents that share a cache; else each time. */
export function cachedRead<T>(
  { cache }: Pick<RuleContext, 'cache'>,
  key: string,
  read: () => Promise<T>,
): Promise<T> {
  return cache === undefined ? read() : cache.of(key, read)
}

/** What rules ask of plans and services. */
const OFFER_FIELDS = ['from', 'to', 'price', 'limit_cycles', 'balance_period', 'play'] as const

/** The revision of a plan or service that holds at an instant; undefined: none. Remembered. */
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

/** More holders than these are not counted. */
const HOLDERS_MAX = 1000

/**
 * Who of the subscribers and accounts a filter finds, as a text: how many there are, and the first
 * of them. Null: nobody.
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

/** Throws `InUseError` for what somebody needs; null: nobody does. */
export function refuseIfUsed(what: string, usedBy: string | null): void {
  if (usedBy !== null) throw new InUseError(what, usedBy)
}
