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

/** `file_types`: a list of their documents. `peers`: a list of network elements (peers.ts). */
export const CONFIG_CATEGORIES = ['file_types', 'peers'] as const

export type ConfigCategory = (typeof CONFIG_CATEGORIES)[number]

/**
 * The value of every category as it is stored, an empty list where nothing ever was. Others may
 * have written it: who uses it checks it.
 */
export type StoredConfig = Readonly<Record<ConfigCategory, unknown>>

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
  const stored = (category: ConfigCategory) => valueIn(documents.find((d) => d._id === category))
  const config = { file_types: stored('file_types'), peers: stored('peers') }
  return { config, revision: revisionOf(documents) }
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

function valueIn(document: ConfigDocument | null | undefined): unknown {
  return document?.value ?? []
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
  category: ConfigCategory,
  change: (value: unknown) => Value,
  { nowMs, by }: ConfigChange,
): Promise<Value> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const found = await catalog.run(`read ${category}`, () =>
      catalog.config.findOne({ _id: category }),
    )
    const value = change(valueIn(found))
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
