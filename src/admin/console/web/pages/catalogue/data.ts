/** Collections of the catalogue and their documents. */

import { answerOf } from '../../api/client.ts'
import { type Fields, PAGE_SIZE, type Page, pageOf, readRecords } from '../../api/records.ts'
import type { Revision } from '../../parts/revisions.ts'

interface Collection {
  readonly name: string
  /** The field that revisions of one entity share. */
  readonly key: 'key' | 'name'
  /** Shown in the list, beside key and description. */
  readonly columns: readonly string[]
  /** Who refers to an entity: lists with the query that finds them. */
  readonly uses: readonly Use[]
}

interface Use {
  readonly collection: string
  /** Dotted field that refers; `KEY` is the key of the entity. */
  readonly field: string
  /** Whether `field` contains the key in its name; otherwise its value is the key. */
  readonly isName?: boolean
}

const OFFERS = ['plans', 'services'] as const
const offers = (field: string, isName = false): readonly Use[] =>
  OFFERS.map((collection) => ({ collection, field, isName }))

export const COLLECTIONS: readonly Collection[] = [
  {
    name: 'plans',
    key: 'name',
    columns: ['connection_type'],
    uses: [{ collection: 'subscribers', field: 'plan' }],
  },
  {
    name: 'services',
    key: 'name',
    columns: [],
    uses: [
      { collection: 'plans', field: 'include.services' },
      { collection: 'subscribers', field: 'services.name' },
      { collection: 'accounts', field: 'services.name' },
    ],
  },
  {
    name: 'rates',
    key: 'key',
    columns: ['tariff_category', 'pricing_method'],
    uses: [...offers('rates.KEY', true), { collection: 'plans', field: 'disallowed_rates' }],
  },
  {
    name: 'discounts',
    key: 'key',
    columns: ['type'],
    uses: [{ collection: 'discounts', field: 'excludes' }],
  },
  {
    name: 'charges',
    key: 'key',
    columns: ['type'],
    uses: [{ collection: 'charges', field: 'excludes' }],
  },
  {
    name: 'taxes',
    key: 'key',
    columns: ['rate', 'embed_tax'],
    uses: ['rates', ...OFFERS].map((collection) => ({ collection, field: 'tax.custom_tax' })),
  },
  {
    name: 'prepaidincludes',
    key: 'name',
    columns: ['external_id', 'charging_by', 'charging_by_usaget', 'priority'],
    uses: [
      { collection: 'plans', field: 'pp_threshold.KEY', isName: true },
      { collection: 'plans', field: 'notifications_threshold.KEY', isName: true },
    ],
  },
]

export function collectionOf(name: string): Collection | null {
  return COLLECTIONS.find((each) => each.name === name) ?? null
}

export type { Collection, Use }

interface ListWanted {
  readonly find: string
  readonly after: string | null
  readonly states: readonly number[]
}

/** The last code point: keys that begin with a text are between it and the text with this. */
const LAST = '\u{10ffff}'

/** One revision of each entity, ordered by key. */
export async function readList(
  { name, key }: Collection,
  { find, after, states }: ListWanted,
  signal: AbortSignal,
): Promise<Page<Revision>> {
  const range = {
    ...(find !== '' && { $gte: find, $lte: `${find}${LAST}` }),
    ...(after !== null && { $gt: after }),
  }
  const query = Object.keys(range).length === 0 ? {} : { [key]: range }
  const body = { query, states, sort: { [key]: 1 }, size: PAGE_SIZE }
  const path = `billapi/${name}/uniqueget` as 'billapi/rates/uniqueget'
  const answer = await answerOf(path, body as never, { signal })
  return pageOf<Revision>(answer as never, (one) => String(one[key]))
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

export interface Users {
  readonly use: Use
  readonly rows: readonly Fields[]
  readonly hasMore: boolean
}

/** Entities that refer to one, now or later. */
export function readUsers(
  { uses, name, key }: Collection,
  revision: Revision,
  signal: AbortSignal,
): Promise<readonly Users[]> {
  // Prepaid includes are referred to by their number.
  const value = String(name === 'prepaidincludes' ? revision['external_id'] : revision[key])
  return Promise.all(
    uses.map(async (use) => {
      const field = use.field.replace('KEY', value)
      const query = { [field]: use.isName === true ? { $exists: true } : value }
      const path = `billapi/${use.collection}/uniqueget` as 'billapi/rates/uniqueget'
      const body = { query, states: [0, 1], size: PAGE_SIZE }
      const { details, next_page: hasMore } = await answerOf(path, body as never, { signal })
      return { use, rows: details as unknown as readonly Fields[], hasMore: hasMore === true }
    }),
  )
}
