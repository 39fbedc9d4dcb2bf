/** Former values of the stored configuration: what a category was before each change. */
import type { IndexDescription } from 'mongodb'
import type { Actor } from '../actor.ts'
import type { ConfigDocument } from '../collections.ts'
import type { Catalog } from '../connection.ts'
import { isDuplicate } from '../revisions/revisions.ts'

/** What a category was, as its document had it then. */
export interface ConfigVersionDocument {
  /** Category and revision. */
  _id: string
  category: string
  rev: number
  /** Of a category with secrets without them. */
  value: unknown
  changed: Date
  changed_by: string
  /** Null where only `changed_by` is known. */
  actor: Actor | null
}

/** One that is kept, or the one that holds now; which revision, by whom and when. */
export type ConfigVersion = Omit<ConfigVersionDocument, '_id' | 'category' | 'value'>

export const CONFIG_HISTORY_INDEXES: readonly IndexDescription[] = [
  { key: { category: 1, rev: 1 }, unique: true },
]

/** Of each category; older ones are dropped. */
export const VERSIONS_MAX = 100

/**
 * Keeps what is about to be replaced. Safe to repeat: a writer who is killed behind it has kept a
 * version that still holds, and the next one finds it kept. `value`: what is kept of the value.
 * Rejects with `CatalogUnavailableError`.
 */
export async function archiveVersion(
  catalog: Catalog,
  former: ConfigDocument,
  value: unknown,
): Promise<void> {
  const { _id: category, rev, changed, changed_by, actor = null } = former
  const version = { category, rev, value, changed, changed_by, actor }
  await catalog.run(`keep a version of ${category}`, async () => {
    try {
      await catalog.confighistory.insertOne({ _id: `${category} ${rev}`, ...version })
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
  })
  await deleteOldVersions(catalog, category)
}

async function deleteOldVersions(catalog: Catalog, category: string): Promise<void> {
  await catalog.run(`drop old versions of ${category}`, async () => {
    const [oldest] = await catalog.confighistory
      .find({ category }, { sort: { rev: -1 }, skip: VERSIONS_MAX - 1, limit: 1 })
      .project<{ rev: number }>({ rev: 1 })
      .toArray()
    if (oldest === undefined) return
    await catalog.confighistory.deleteMany({ category, rev: { $lt: oldest.rev } })
  })
}

/**
 * Which versions of a category there are, the newest first; the first one holds. Empty where
 * nothing was ever stored. Rejects with `CatalogUnavailableError`.
 */
export async function readConfigVersions(
  catalog: Catalog,
  category: string,
): Promise<ConfigVersion[]> {
  const projection = { value: 0 }
  const [now, former] = await catalog.run(`read the versions of ${category}`, () =>
    Promise.all([
      catalog.config.findOne({ _id: category }, { projection }),
      catalog.confighistory
        .find({ category }, { projection })
        .sort({ rev: -1 })
        .limit(VERSIONS_MAX)
        .toArray(),
    ]),
  )
  const others = former.filter(({ rev }) => rev !== now?.rev)
  return [...(now === null ? [] : [now]), ...others].map((version) => {
    const { rev, changed, changed_by, actor = null } = version
    return { rev, changed, changed_by, actor }
  })
}

/** The value of a version; undefined: there is none. Rejects with `CatalogUnavailableError`. */
export async function readConfigVersion(
  catalog: Catalog,
  category: string,
  rev: number,
): Promise<{ value: unknown } | undefined> {
  const [now, former] = await catalog.run(`read a version of ${category}`, () =>
    Promise.all([
      catalog.config.findOne({ _id: category, rev }),
      catalog.confighistory.findOne({ category, rev }),
    ]),
  )
  const found = now ?? former
  return found === null ? undefined : { value: found.value }
}
