/** Collections of the catalogue and their documents. */

import type { DetailsOf, QueryOf } from '../../api/call-types.ts'
import { get } from '../../api/client.ts'
import { PAGE_SIZE, type Page, pageOf, readRecords, readUnique } from '../../api/records.ts'
import type { Revision } from '../../parts/revisions.ts'

interface Collection {
  readonly name: NonNullable<QueryOf<'api/usedby'>['collection']>
  /** The field that revisions of one entity share. */
  readonly key: 'key' | 'name'
  /** Shown in the list, beside key and description. */
  readonly columns: readonly string[]
}

export const COLLECTIONS: readonly Collection[] = [
  { name: 'plans', key: 'name', columns: ['connection_type'] },
  { name: 'services', key: 'name', columns: [] },
  { name: 'rates', key: 'key', columns: ['tariff_category', 'pricing_method'] },
  { name: 'discounts', key: 'key', columns: ['type'] },
  { name: 'charges', key: 'key', columns: ['type'] },
  { name: 'taxes', key: 'key', columns: ['rate', 'embed_tax'] },
  {
    name: 'prepaidincludes',
    key: 'name',
    columns: ['external_id', 'charging_by', 'charging_by_usaget', 'priority'],
  },
]

export function collectionOf(name: string): Collection | null {
  return COLLECTIONS.find((each) => each.name === name) ?? null
}

export type { Collection }

interface ListQuery {
  readonly find: string
  readonly after: string | null
  readonly states: readonly number[]
}

/** The last code point: keys that begin with a text are between it and the text with this. */
const LAST = '\u{10ffff}'

/** One revision of each entity, ordered by key. */
export async function readList(
  { name, key }: Collection,
  { find, after, states }: ListQuery,
  signal: AbortSignal,
): Promise<Page<Revision>> {
  const range = {
    ...(find !== '' && { $gte: find, $lte: `${find}${LAST}` }),
    ...(after !== null && { $gt: after }),
  }
  const query = Object.keys(range).length === 0 ? {} : { [key]: range }
  const body = { query, states, sort: { [key]: 1 }, size: PAGE_SIZE }
  return pageOf(await readUnique<Revision>(name, body, signal), (one) => String(one[key]))
}

const REVISIONS_MAX = 1_000

export function readRevisions(
  { name, key }: Collection,
  value: string,
  signal: AbortSignal,
): Promise<readonly Revision[]> {
  const body = { query: { [key]: value }, sort: { from: 1 }, size: REVISIONS_MAX }
  return readRecords<Revision>(name, body, signal)
}

export type Users = DetailsOf<'api/usedby'>[number]

/** Entities that refer to one, now or later. */
export function readUsers(
  { name, key }: Collection,
  revision: Revision,
  signal: AbortSignal,
): Promise<readonly Users[]> {
  // Prepaid includes are referred to by their number.
  const field = name === 'prepaidincludes' ? 'external_id' : key
  const query = { collection: name, key: String(revision[field]) }
  return get('api/usedby', query, { signal })
}
