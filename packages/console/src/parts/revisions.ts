/** Revisions of a document: texts for the timeline, and which of them is valid. */
import type { Fields } from '../api/records.ts'
import { revisionDifferences, textIn } from './differences.ts'

export interface Revision {
  readonly _id: { readonly $id: string }
  readonly from: string
  readonly to: string
  readonly [field: string]: unknown
}

export interface RevisionView {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly plan: string
  /** Fields that differ from the previous revision. */
  readonly changed: readonly string[]
  readonly isAfterGap: boolean
}

/**
 * Whether confirmed cycles permit an edit: `update` needs an end that is not before the last of
 * them, `closeandnew` a new begin before that end.
 */
export function isEditable(revision: Revision): boolean {
  return infoOf(revision)['movable_to'] !== false
}

/** Whether confirmed cycles permit what changes the begin: `move` of it, and `delete`. */
export function isBeginChangeable(revision: Revision): boolean {
  return infoOf(revision)['movable'] !== false
}

/** `revision_info`: by the clock of the node. */
export function infoOf(revision: Revision): Fields {
  return (revision['revision_info'] ?? {}) as Fields
}

/** Whether it is valid at a local time of the node: `2026-03-03` or `2026-03-03 10:00:00`. */
export function isValidAt({ from, to }: Pick<Revision, 'from' | 'to'>, at: string): boolean {
  const local = at.length === 10 ? `${at}T00:00:00` : at.replace(' ', 'T')
  return from.slice(0, 19) <= local && local < to.slice(0, 19)
}

/** `revisions`: ordered by `from`. */
export function revisionViews(revisions: readonly Revision[]): readonly RevisionView[] {
  return revisions.map((revision, index) => {
    const previous = revisions[index - 1]
    const fields = previous === undefined ? [] : revisionDifferences(previous, revision)
    return {
      id: revision._id.$id,
      from: revision.from,
      to: revision.to,
      plan: textIn(revision, 'plan'),
      changed: [...new Set(fields.map(({ field }) => field.split('.')[0] ?? ''))],
      isAfterGap: previous !== undefined && previous.to !== revision.from,
    }
  })
}
