/** `revision_info`: the actions that are allowed on a revision. */
import type { Catalog } from '../../catalog/connection.ts'
import type { Fields } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { type CollectionDefinition, isRecord } from '../definitions/definition.ts'
import type { ReadRequest } from '../requests/entity-request.ts'
import { versionOf } from '../requests/versions.ts'
import { documentsOf, NOT_DELETED } from '../revisions.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import { OPEN_ENDED_MS } from '../timeline/edits.ts'
import { STATE, stateAt } from './current-revision.ts'

const STATUS = { [STATE.active]: 'active', [STATE.future]: 'future', [STATE.expired]: 'expired' }

export interface RevisionTimes {
  nowMs: number
  /** Changes of a revision before it are refused. */
  minimumMs(row: Fields): number
}

/** True if the rows of the response have `revision_info`. */
export function wantsRevisionInfo({ definition, project }: ReadRequest): boolean {
  if (isRecord(definition)) return false
  return project === null || Object.keys(project).length === 0 || project['revision_info'] === 1
}

/** Adds `revision_info` to rows; rows without `from` and `to` are returned unchanged. */
export async function withRevisionInfo(
  catalog: Catalog,
  definition: CollectionDefinition,
  rows: readonly Fields[],
  times: RevisionTimes,
): Promise<Fields[]> {
  const lastEnds = await lastEndsOf(catalog, definition, rows)
  return rows.map((row) => {
    if (!(row['from'] instanceof Date && row['to'] instanceof Date)) return row
    const endMs = lastEnds.get(row[definition.keyField]) ?? toOf(row)
    return { ...row, revision_info: infoOf(row, endMs <= toOf(row), times) }
  })
}

function infoOf(
  row: Fields,
  isLast: boolean,
  { nowMs, minimumMs: minimum }: RevisionTimes,
): Fields {
  const minimumMs = minimum(row)
  const version = versionOf(row)
  const state = stateAt(row, nowMs)
  const isOpen = state === STATE.future || (state === STATE.active && isLast)
  const isChangeable = fromOf(row) >= minimumMs
  return {
    status: STATUS[state],
    is_last: isLast,
    early_expiration: isOpen && toOf(row) < nowMs + OPEN_ENDED_MS,
    updatable: isChangeable,
    closeandnewable: isChangeable,
    movable: isChangeable,
    removable: isChangeable,
    movable_from: isChangeable,
    movable_to: toOf(row) >= minimumMs,
    ...(version !== null && { version }),
  }
}

/** End of the last revision of each entity, by key. */
async function lastEndsOf(
  catalog: Catalog,
  definition: CollectionDefinition,
  rows: readonly Fields[],
): Promise<ReadonlyMap<unknown, number>> {
  const { keyField, fixed } = definition
  // There is no revision after one without an end.
  const bounded = rows.filter(({ to }) => !(to instanceof Date && to.getTime() >= FOREVER_MS))
  const keys = [...new Set(bounded.map((row) => row[keyField]))].filter((key) => key !== undefined)
  const ends = new Map<unknown, number>()
  if (keys.length === 0) return ends
  const filter = { ...fixed, [keyField]: { $in: keys }, ...NOT_DELETED }
  const found = await documentsOf(catalog, definition)
    .find(filter as object, { projection: { [keyField]: 1, to: 1 } })
    .toArray()
  for (const one of found as Fields[]) {
    ends.set(one[keyField], Math.max(ends.get(one[keyField]) ?? 0, toOf(one)))
  }
  return ends
}
