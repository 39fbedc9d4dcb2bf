/** Finds out which steps of an intent are applied. */
import type { Collection } from '../collections.ts'
import type { RawDocument } from '../compile/document.ts'
import type { Catalog } from '../connection.ts'
import { EntityConflictError } from '../errors.ts'
import type { RevisionWrite, WriteIntent } from './lock-document.ts'

/** Leaves out inserts that are done; replacements check the revision themselves. */
export async function missingSteps(
  catalog: Catalog,
  { collection, steps: all }: WriteIntent,
): Promise<RevisionWrite[]> {
  const ids = all.flatMap(({ mode, document }) => (mode === 'insert' ? document._id : []))
  if (ids.length === 0) return all
  const documents = catalog[collection] as unknown as Collection<RawDocument>
  const found = await catalog.run(`read ${collection}`, () =>
    documents.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray(),
  )
  const existing = new Set(found.map(({ _id }) => _id.toHexString()))
  return all.filter(
    ({ mode, document }) => mode !== 'insert' || !existing.has(document._id.toHexString()),
  )
}

/** Whether no step of the intent was applied. All writes must have been answered. */
export async function isUnapplied(
  catalog: Catalog,
  { collection, steps }: WriteIntent,
): Promise<boolean> {
  const documents = catalog[collection] as unknown as Collection<RawDocument>
  const ids = steps.map(({ document }) => document._id)
  const found = await catalog.run(`read ${collection}`, () =>
    documents.find({ _id: { $in: ids } }, { projection: { rev: 1 } }).toArray(),
  )
  const revs = new Map(found.map(({ _id, rev }) => [_id.toHexString(), rev]))
  const isAsBefore = (step: RevisionWrite) => {
    const rev = revs.get(step.document._id.toHexString())
    return step.mode === 'insert' ? rev === undefined : rev === step.expectedRev
  }
  return steps.length > 0 && steps.every(isAsBefore)
}

/** The stored document of a step. Rejects with `EntityConflictError` if it is gone. */
export async function reread(
  catalog: Catalog,
  { collection, steps }: WriteIntent,
  index: number,
): Promise<RawDocument> {
  const document = steps[index]?.document
  const documents = catalog[collection] as unknown as Collection<RawDocument>
  const found = await catalog.run(`read ${collection}`, () =>
    documents.findOne({ _id: document?._id } as object),
  )
  if (found === null)
    throw new EntityConflictError(`${collection}: a revision was removed meanwhile`)
  return found as RawDocument
}
