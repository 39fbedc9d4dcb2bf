/** Filters for revisions by their validity. Deleted revisions are never valid. */
import type { Fields } from '../../domain/fields.ts'

export const NOT_DELETED = { deleted: { $ne: true } } as const

/** Filter for revisions whose validity overlaps that of the revision. */
export function validDuring(revision: Fields): Fields {
  const { from, to } = revision
  return { from: { $lt: to }, to: { $gt: from }, ...NOT_DELETED }
}

/** Filter for revisions that are valid at an instant. */
export function validAt(atMs: number): Fields {
  const at = new Date(atMs)
  return { from: { $lte: at }, to: { $gt: at }, ...NOT_DELETED }
}
