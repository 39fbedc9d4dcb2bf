/** Scope of an erasure: a subscriber, or an account with its subscribers. */
import type { Collection } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import type { CollectionDefinition } from '../../entities/definitions/definition.ts'
import { hasTrait } from '../../entities/definitions/traits.ts'
import type { Subject } from '../../entities/erasure.ts'
import { toOf } from '../../entities/timeline/draft.ts'

/** An entity to erase, with all its revisions, including deleted ones. */
export interface ErasedEntity extends Subject {
  revisions: RawDocument[]
}

export interface ErasureScope {
  entities: ErasedEntity[]
  /** The account that is erased with its subscribers; null if only a subscriber is. */
  aid: number | null
  /** Owners of balances and sessions, from the revisions; `sid` 0 for shared balances. */
  owners: { aid: number; sid: number }[]
}

export function subjectText({ collection, key }: Subject): string {
  return `${definitionOf(collection).fixed['type']} ${key}`
}

function definitionOf(collection: Subject['collection']): CollectionDefinition {
  return DEFINITIONS.get(collection) as CollectionDefinition
}

/** Rejects with `CatalogUnavailableError`. */
export async function erasureScopeOf(catalog: Catalog, subject: Subject): Promise<ErasureScope> {
  const aid = hasTrait(definitionOf(subject.collection), 'hasSubscribers') ? subject.key : null
  const own = await revisionsOf(catalog, subject)
  const subscribers = aid === null ? [] : await subscribersOf(catalog, aid)
  const isFound = own.length > 0 || subscribers.length > 0
  const entities = isFound ? [{ ...subject, revisions: own }, ...subscribers] : []
  const owners = new Map<string, { aid: number; sid: number }>()
  for (const { collection, key, revisions } of entities) {
    const { keyField } = definitionOf(collection)
    for (const one of revisions) {
      const owner = { aid: Number(one['aid']), sid: 0, [keyField]: key }
      owners.set(`${owner.aid} ${owner.sid}`, owner)
    }
  }
  return { entities, aid, owners: [...owners.values()] }
}

async function subscribersOf(catalog: Catalog, aid: number): Promise<ErasedEntity[]> {
  const members = await revisionsBy(catalog, { type: 'subscriber', aid })
  const sids = [...new Set(members.map((one) => Number(one['sid'])))].sort((a, b) => a - b)
  const subscribers: ErasedEntity[] = []
  for (const sid of sids) {
    const subject = { collection: 'subscribers', key: sid } as const
    const revisions = await revisionsOf(catalog, subject)
    const newest = revisions.reduce((a, b) => (toOf(b) > toOf(a) ? b : a))
    // A subscriber who has moved to another account is not part of this one.
    if (newest['aid'] === aid) subscribers.push({ ...subject, revisions })
  }
  return subscribers
}

function revisionsOf(catalog: Catalog, { collection, key }: Subject): Promise<RawDocument[]> {
  const { fixed, keyField } = definitionOf(collection)
  return revisionsBy(catalog, { ...fixed, [keyField]: key })
}

/** Including deleted revisions: they are never removed from the store. */
function revisionsBy(catalog: Catalog, filter: object): Promise<RawDocument[]> {
  const stored = catalog.subscribers as unknown as Collection<RawDocument>
  return stored.find(filter).toArray() as Promise<RawDocument[]>
}
