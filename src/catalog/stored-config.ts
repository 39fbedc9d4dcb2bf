/**
 * The stored configuration: what operators change while the node runs. One document per category,
 * read and written whole; who changes it says what to make of the value that is there.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ConfigDocument } from './collections.ts'
import type { Catalog } from './connection.ts'
import { ConfigConflictError } from './errors.ts'
import { bump, isDuplicate } from './revisions.ts'

/**
 * What charging follows. `file_types`: a list of their documents. `peers`: a list of network
 * elements (peers.ts).
 */
export const CONFIG_CATEGORIES = ['file_types', 'peers'] as const

export type ConfigCategory = (typeof CONFIG_CATEGORIES)[number]

/**
 * Configured fields of the entity API: objects that hold lists of them, in `subscribers` as
 * `subscriber.fields` and `account.fields`, in the others as `fields`. Charging reads none of them.
 */
export const FIELD_CATEGORIES = [
  'subscribers',
  'plans',
  'services',
  'rates',
  'prepaidgroups',
  'charges',
  'discounts',
  'taxes',
] as const

export type FieldCategory = (typeof FIELD_CATEGORIES)[number]

/** Categories of neither charging nor the fields of entities: `shared_secret`, of clients. */
export type OtherCategory = 'shared_secret'

/**
 * The value of every category as it is stored, an empty list where nothing ever was. Others may
 * have written it: who uses it checks it.
 */
export type StoredConfig = Readonly<Record<ConfigCategory, unknown>>

/**
 * The value of every category of fields as it is stored, an empty object where nothing ever was.
 * Who uses it checks it.
 */
export type FieldSettings = Readonly<Record<FieldCategory, unknown>>

export interface ConfigChange {
  nowMs: number
  /** Who changes it, such as `cli`. */
  by: string
}

/** Writers who lose this often against others are told so. */
const ATTEMPTS_MAX = 16
/** The longest pause between attempts is 2 to the power of it, ms. */
const PAUSE_DOUBLINGS = 6

export async function readStoredConfig(catalog: Catalog): Promise<StoredConfig> {
  return (await readConfigDocuments(catalog)).config
}

/** With what tells this state from every other one. Rejects with `CatalogUnavailableError`. */
export async function readConfigDocuments(
  catalog: Catalog,
): Promise<{ config: StoredConfig; revision: string }> {
  const documents = await catalog.run('read the stored configuration', () =>
    catalog.config.find({ _id: { $in: [...CONFIG_CATEGORIES] } }).toArray(),
  )
  const stored = (category: ConfigCategory) =>
    documents.find(({ _id }) => _id === category)?.value ?? emptyOf(category)
  const config = { file_types: stored('file_types'), peers: stored('peers') }
  return { config, revision: revisionOf(documents) }
}

/** Rejects with `CatalogUnavailableError`. */
export async function readFieldSettings(catalog: Catalog): Promise<FieldSettings> {
  const documents = await catalog.run('read the configured fields', () =>
    catalog.config.find({ _id: { $in: [...FIELD_CATEGORIES] } }).toArray(),
  )
  const settings = FIELD_CATEGORIES.map((category) => {
    const stored = documents.find(({ _id }) => _id === category)
    return [category, stored?.value ?? emptyOf(category)] as const
  })
  return Object.fromEntries(settings) as FieldSettings
}

/** As `revision` of what is stored now, without reading the values. */
export async function readConfigRevision(catalog: Catalog): Promise<string> {
  const documents = await catalog.run('read the revision of the stored configuration', () =>
    catalog.config
      .find({ _id: { $in: [...CONFIG_CATEGORIES] } })
      .project<Pick<ConfigDocument, '_id' | 'rev'>>({ rev: 1 })
      .toArray(),
  )
  return revisionOf(documents)
}

function revisionOf(documents: readonly Pick<ConfigDocument, '_id' | 'rev'>[]): string {
  const numberOf = (category: string) => documents.find(({ _id }) => _id === category)?.rev ?? 0
  return CONFIG_CATEGORIES.map(numberOf).join(' ')
}

/** What a category holds before anything was stored. */
function emptyOf(category: ConfigCategory | FieldCategory | OtherCategory): unknown {
  return FIELD_CATEGORIES.some((each) => each === category) ? {} : []
}

/**
 * Puts what `change` makes of the value in its place, and returns it as written. Of two who write
 * at the same time the second one changes what the first has written: `change` may be called
 * again, and must not touch what it is given. What it throws is passed on, and nothing is written.
 * Rejects with `ConfigConflictError`, or `CatalogUnavailableError` (then it may have been written
 * all the same).
 */
export async function writeStoredConfig<Value>(
  catalog: Catalog,
  category: ConfigCategory | FieldCategory | OtherCategory,
  change: (value: unknown) => Value,
  { nowMs, by }: ConfigChange,
): Promise<Value> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const found = await catalog.run(`read ${category}`, () =>
      catalog.config.findOne({ _id: category }),
    )
    const value = change(found?.value ?? emptyOf(category))
    const stored = { rev: await bump(catalog, 'config'), value, changed: new Date(nowMs) }
    const document = { _id: category, ...stored, changed_by: by }
    if (await put(catalog, document, found?.rev)) return value
    // Out of step with the others, or the same one may lose again and again.
    await pause(randomInt(2 ** Math.min(attempt, PAUSE_DOUBLINGS)))
  }
  throw new ConfigConflictError(`${category} is being changed by others: nothing was written`)
}

/** False: somebody else was faster. `expected`: the revision to replace; undefined: none. */
function put(
  catalog: Catalog,
  document: ConfigDocument,
  expected: number | undefined,
): Promise<boolean> {
  const { _id: category } = document
  return catalog.run(`write ${category}`, async () => {
    if (expected !== undefined) {
      const same = { _id: category, rev: expected }
      return (await catalog.config.replaceOne(same, document)).matchedCount === 1
    }
    try {
      await catalog.config.insertOne(document)
      return true
    } catch (error) {
      if (isDuplicate(error)) return false
      throw error
    }
  })
}
