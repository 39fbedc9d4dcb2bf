/** Scope of an erasure: a subscriber, or an account with its subscribers. */
import type { Collection } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { Subject } from '../../entities/erasure.ts'
import { toOf } from '../../entities/timeline/draft.ts'

/** An entity to erase, with all its revisions, including deleted ones. */
export interface ErasedEntity extends Subject {
  revisions: RawDocument[]
}

export interface ErasureScope {
  entities: ErasedEntity[]
  /** Owners of balances and sessions, from the revisions; `sid` 0 for shared balances. */
  owners: { aid: number; sid: number }[]
}

export function subjectText({ collection, key }: Subject): string {
  return `${collection === 'accounts' ? 'account' : 'subscriber'} ${key}`
}

/** Rejects with `CatalogUnavailableError`. */
export async function erasureScopeOf(catalog: Catalog, subject: Subject): Promise<ErasureScope> {
  const entities = await entitiesOf(catalog, subject)
  const owners = new Map<string, { aid: number; sid: number }>()
  for (const { collection, key, revisions } of entities) {
    const isAccount = collection === 'accounts'
    for (const one of revisions) {
      const owner = { aid: Number(one['aid']), sid: isAccount ? 0 : key }
      owners.set(`${owner.aid} ${owner.sid}`, owner)
    }
  }
  return { entities, owners: [...owners.values()] }
}

async function entitiesOf(catalog: Catalog, subject: Subject): Promise<ErasedEntity[]> {
  const { collection, key } = subject
  if (collection === 'subscribers') {
    const revisions = await revisionsBy(catalog, { type: 'subscriber', sid: key })
    return revisions.length === 0 ? [] : [{ ...subject, revisions }]
  }
  const account = await revisionsBy(catalog, { type: 'account', aid: key })
  const members = await revisionsBy(catalog, { type: 'subscriber', aid: key })
  const sids = [...new Set(members.map((one) => Number(one['sid'])))].sort((a, b) => a - b)
  const subscribers: ErasedEntity[] = []
  for (const sid of sids) {
    const revisions = await revisionsBy(catalog, { type: 'subscriber', sid })
    const newest = revisions.reduce((a, b) => (toOf(b) > toOf(a) ? b : a))
    // A subscriber who has moved to another account is not part of this one.
    if (newest['aid'] !== key) continue
    subscribers.push({ collection: 'subscribers', key: sid, revisions })
  }
  if (account.length === 0 && subscribers.length === 0) return []
  return [{ ...subject, revisions: account }, ...subscribers]
}

/** Including deleted revisions: they are never removed from the store. */
function revisionsBy(catalog: Catalog, filter: object): Promise<RawDocument[]> {
  const stored = catalog.subscribers as unknown as Collection<RawDocument>
  return stored.find(filter).toArray() as Promise<RawDocument[]>
}
