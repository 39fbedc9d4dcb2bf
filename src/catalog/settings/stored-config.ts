/**
 * The stored configuration: what operators change while the node runs. One document per category,
 * read and written whole; who changes it says what to make of the value that is there.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Actor } from '../actor.ts'
import type { ConfigDocument } from '../collections.ts'
import type { Catalog } from '../connection.ts'
import { ConfigConflictError } from '../errors.ts'
import { bump, isDuplicate } from '../revisions/revisions.ts'
import { archiveVersion } from './config-history.ts'

/**
 * What charging follows. `file_types`: a list of their documents. `peers`: a list of network
 * elements (peers.ts). `taxation`: an object (taxation-settings.ts).
 */
export const CONFIG_CATEGORIES = ['file_types', 'peers', 'taxation'] as const

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

/** What only the control plane reads: objects. */
const FURTHER_CATEGORIES = [
  'plays',
  'security',
  'auth',
  'shared_secret',
  'permissions',
  'events',
] as const

/** Those whose values have secrets, sealed. */
const SECRET_CATEGORIES: readonly string[] = ['auth', 'shared_secret']

export type StoredCategory = ConfigCategory | FieldCategory | (typeof FURTHER_CATEGORIES)[number]

/**
 * The value of every category as it is stored, empty where nothing ever was. Others may have
 * written it: who uses it checks it.
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
  actor?: Actor
  /**
   * What history keeps of the value that is replaced. If not given all of it; of a category with
   * secrets nothing.
   */
  historyValue?: (value: unknown) => unknown
}

/** What a change has made. */
export interface ConfigChangeResult<Value> {
  value: Value
  rev: number
  /** The value before; empty where nothing was stored. */
  former: unknown
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
    documents.find(({ _id }) => _id === category)?.value ?? emptyValueOf(category)
  const config = {
    file_types: stored('file_types'),
    peers: stored('peers'),
    taxation: stored('taxation'),
  }
  return { config, revision: revisionOf(documents) }
}

/** Rejects with `CatalogUnavailableError`. */
export async function readFieldSettings(catalog: Catalog): Promise<FieldSettings> {
  const documents = await catalog.run('read the configured fields', () =>
    catalog.config.find({ _id: { $in: [...FIELD_CATEGORIES] } }).toArray(),
  )
  const settings = FIELD_CATEGORIES.map((category) => {
    const stored = documents.find(({ _id }) => _id === category)
    return [category, stored?.value ?? emptyValueOf(category)] as const
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

const LISTS: readonly string[] = ['file_types', 'peers', 'shared_secret']

/** What a category holds before anything was stored. */
export function emptyValueOf(category: StoredCategory): unknown {
  return LISTS.includes(category) ? [] : {}
}

/** The value of one category; `rev` 0: nothing was ever stored. */
export async function readCategory(
  catalog: Catalog,
  category: StoredCategory,
): Promise<{ value: unknown; rev: number }> {
  const found = await catalog.run(`read ${category}`, () =>
    catalog.config.findOne({ _id: category }),
  )
  return { value: found?.value ?? emptyValueOf(category), rev: found?.rev ?? 0 }
}

/** As `changeStoredConfig`, and returns the value as written. */
export async function writeStoredConfig<Value>(
  catalog: Catalog,
  category: StoredCategory,
  change: (value: unknown) => Value,
  by: ConfigChange,
): Promise<Value> {
  return (await changeStoredConfig(catalog, category, change, by)).value
}

/**
 * Puts what `change` makes of the value in its place; what it was is kept before that. Of two who
 * write at the same time the second one changes what the first has written: `change` may be called
 * again, and must not touch what it is given. `rev`: of that, 0 where nothing was stored. What it
 * throws is passed on, and nothing is written. Rejects with `ConfigConflictError`, or
 * `CatalogUnavailableError` (then it may have been written all the same).
 */
export async function changeStoredConfig<Value>(
  catalog: Catalog,
  category: StoredCategory,
  change: (value: unknown, rev: number) => Value,
  by: ConfigChange,
): Promise<ConfigChangeResult<Value>> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const found = await catalog.run(`read ${category}`, () =>
      catalog.config.findOne({ _id: category }),
    )
    const former = found?.value ?? emptyValueOf(category)
    const value = change(former, found?.rev ?? 0)
    if (found !== null) await archiveVersion(catalog, found, valueForHistory(category, former, by))
    const rev = await bump(catalog, 'config')
    const who = { changed_by: by.by, ...(by.actor && { actor: by.actor }) }
    const document = { _id: category, rev, value, changed: new Date(by.nowMs), ...who }
    if (await replaceDocument(catalog, document, found?.rev)) return { value, rev, former }
    // Out of step with the others, or the same one may lose again and again.
    await pause(randomInt(2 ** Math.min(attempt, PAUSE_DOUBLINGS)))
  }
  throw new ConfigConflictError(`${category} is being changed by others: nothing was written`)
}

function valueForHistory(
  category: StoredCategory,
  value: unknown,
  { historyValue }: ConfigChange,
): unknown {
  if (historyValue !== undefined) return historyValue(value)
  return SECRET_CATEGORIES.includes(category) ? null : value
}

/** False: somebody else was faster. `expected`: the revision to replace; undefined: none. */
function replaceDocument(
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
