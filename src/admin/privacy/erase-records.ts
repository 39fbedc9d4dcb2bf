/** Removes personal data from lines, bills, invoice documents and rows of imports. */
import { ERASED } from '../../catalog/audit/chain.ts'
import type { Collection, WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { withoutNames } from './personal.ts'

type Fields = Record<string, unknown>

const BATCH = 500
/** Shorter texts occur in others by chance. */
const TEXT_LENGTH_MIN = 4

/** Called after each batch with the number of changed documents. */
export type OnBatch = (changed: number) => Promise<void>

/**
 * Erases members of these names in all documents that match the filter. Charging rewrites lines of
 * the sessions that it still stores. Throws `CatalogUnavailableError`, or errors of `onBatch`.
 */
export async function eraseRecords(
  catalog: Catalog,
  name: 'lines' | 'bills' | 'billrun',
  filter: Fields,
  names: ReadonlySet<string>,
  onBatch: OnBatch,
): Promise<void> {
  const documents = catalog[name] as unknown as Collection<Fields>
  const cursor = documents.find(filter, { batchSize: BATCH })
  for (;;) {
    const batch = await catalog.run(`read ${name}`, () => nextOf(cursor))
    const operations = batch.flatMap((document) => {
      const update = changesOf(document, names)
      return update === null ? [] : [{ updateOne: { filter: { _id: document._id }, update } }]
    })
    if (operations.length > 0) {
      await catalog.run(`erase in ${name}`, () => documents.bulkWrite(operations))
    }
    await onBatch(operations.length)
    if (batch.length < BATCH) return
  }
}

async function nextOf<T>(cursor: { next(): Promise<T | null> }): Promise<T[]> {
  const batch: T[] = []
  while (batch.length < BATCH) {
    const document = await cursor.next()
    if (document === null) break
    batch.push(document)
  }
  return batch
}

/** Field by field, because the recorder may write the other fields concurrently. */
function changesOf(document: WithId<Fields>, names: ReadonlySet<string>): Fields | null {
  const erased = withoutNames(document, names) as Fields
  if (erased === document) return null
  const $set: Fields = {}
  const $unset: Fields = {}
  for (const [name, value] of Object.entries(document)) {
    if (!Object.hasOwn(erased, name)) $unset[name] = ''
    else if (erased[name] !== value) $set[name] = erased[name]
  }
  return {
    ...(Object.keys($set).length > 0 && { $set }),
    ...(Object.keys($unset).length > 0 && { $unset }),
  }
}

/** Replaces the reasons of the account's postings; the rest of a posting never changes. */
export async function eraseReasons(catalog: Catalog, aid: number, onBatch: OnBatch): Promise<void> {
  for (;;) {
    const found = await catalog.run('read the journal', () =>
      catalog.journal
        .find({ aid, reason: { $exists: true, $ne: ERASED } }, { projection: { _id: 1 } })
        .limit(BATCH)
        .toArray(),
    )
    if (found.length > 0) {
      const filter = { _id: { $in: found.map(({ _id }) => _id) } }
      await catalog.run('erase in the journal', () =>
        catalog.journal.updateMany(filter, { $set: { reason: ERASED } }),
      )
    }
    await onBatch(found.length)
    if (found.length < BATCH) return
  }
}

/** Reports of failed rows quote the invalid values. */
export async function eraseInImports(
  catalog: Catalog,
  texts: readonly string[],
  onBatch: OnBatch,
): Promise<void> {
  const wanted = [...new Set(texts)].filter(({ length }) => length >= TEXT_LENGTH_MIN)
  if (wanted.length === 0) return
  const cursor = catalog.imports.find({ kind: 'failures' }, { batchSize: 1 })
  for (;;) {
    const found = await catalog.run('read failed rows', () => cursor.next())
    if (found === null) return
    if (found.kind !== 'failures') continue
    const failures = found.failures.map((one) => ({ ...one, text: textWithout(one.text, wanted) }))
    const changed = failures.filter(({ text }, index) => text !== found.failures[index]?.text)
    if (changed.length > 0) {
      await catalog.run('erase in failed rows', () =>
        catalog.imports.updateOne({ _id: found._id }, { $set: { failures } }),
      )
    }
    await onBatch(changed.length)
  }
}

function textWithout(text: string, wanted: readonly string[]): string {
  return wanted.reduce((left, one) => left.replaceAll(one, ERASED), text)
}
