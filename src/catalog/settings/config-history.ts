import type { ClientSession } from 'mongodb'
import type { Catalog } from '../connection.ts'
import type { ConfigDocument, ConfigVersionDocument } from '../records/config-document.ts'

/** Metadata of a version, archived or current: revision, author and time. */
export type ConfigVersion = Omit<ConfigVersionDocument, '_id' | 'category' | 'value'>

/** Per category; older versions are deleted. */
export const VERSIONS_MAX = 100

/**
 * Archives the document that the session's transaction replaces, and deletes the oldest versions.
 * `value`: the value to archive. Rejects with `CatalogUnavailableError`.
 */
export async function archiveVersion(
  catalog: Catalog,
  session: ClientSession,
  former: ConfigDocument,
  value: unknown,
): Promise<void> {
  const { _id: category, rev, changed, changed_by, actor = null } = former
  const version = { category, rev, value, changed, changed_by, actor }
  // A document that was restored by hand may have a number that is archived already.
  const options = { upsert: true, session }
  await catalog.confighistory.replaceOne({ _id: `${category} ${rev}` }, version, options)
  // Read without the session: the version above is not among them.
  const [oldest] = await catalog.confighistory
    .find({ category }, { sort: { rev: -1 }, skip: VERSIONS_MAX - 2, limit: 1 })
    .project<{ rev: number }>({ rev: 1 })
    .toArray()
  if (oldest === undefined) return
  await catalog.confighistory.deleteMany({ category, rev: { $lt: oldest.rev } }, { session })
}

/**
 * The versions of a category, newest first; the first one is current. Empty if nothing was ever
 * stored. Rejects with `CatalogUnavailableError`.
 */
export async function readConfigVersions(
  catalog: Catalog,
  category: string,
): Promise<ConfigVersion[]> {
  const projection = { value: 0 }
  const [now, former] = await Promise.all([
    catalog.config.findOne({ _id: category }, { projection }),
    catalog.confighistory
      .find({ category }, { projection })
      .sort({ rev: -1 })
      .limit(VERSIONS_MAX)
      .toArray(),
  ])
  const others = former.filter(({ rev }) => rev !== now?.rev)
  return [...(now === null ? [] : [now]), ...others].map((version) => {
    const { rev, changed, changed_by, actor = null } = version
    return { rev, changed, changed_by, actor }
  })
}

/**
 * The value of a version; undefined if it does not exist. Rejects with `CatalogUnavailableError`.
 */
export async function readConfigVersion(
  catalog: Catalog,
  category: string,
  rev: number,
): Promise<{ value: unknown } | undefined> {
  const [now, former] = await Promise.all([
    catalog.config.findOne({ _id: category, rev }),
    catalog.confighistory.findOne({ category, rev }),
  ])
  const found = now ?? former
  return found === null ? undefined : { value: found.value }
}
