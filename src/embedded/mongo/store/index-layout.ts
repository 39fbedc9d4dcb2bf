import type { SortField } from '../query/sort.ts'
import { type Doc, isArray, isDoc } from '../values/document.ts'
import { FieldNames } from '../values/raw-fields.ts'

/** What a layout needs to know about an index. */
type IndexFields = {
  readonly fields: readonly SortField[]
  readonly reads: readonly string[]
}

/** The fields that the indexes of a collection read, so that no others have to be decoded. */
export class IndexLayout {
  readonly fields: FieldNames
  /** For each index the slots of the fields that it reads. */
  readonly reads: readonly (readonly number[])[]
  /**
   * For each index the slots of its key, in order; undefined if a part of it is inside a field.
   */
  readonly keys: readonly (readonly number[] | undefined)[]
  readonly idSlot: number

  constructor(indexes: readonly IndexFields[]) {
    const fields = new FieldNames(indexes.flatMap(({ reads }) => reads))
    const slotOf = (name: string) => fields.names.indexOf(name)
    this.fields = fields
    this.reads = indexes.map(({ reads }) => reads.map(slotOf))
    this.keys = indexes.map((index) => {
      const isFlat = index.fields.every(({ parts }) => parts.length === 1)
      return isFlat ? index.fields.map(({ path }) => slotOf(path)) : undefined
    })
    this.idSlot = slotOf('_id')
  }
}

/** Top-level fields of the paths of an index and of its partial filter. */
export function topLevelFields(fields: readonly SortField[], partial: Doc | undefined): string[] {
  const names = new Set(fields.map(({ parts }) => parts[0]!))
  if (partial) collectFields(partial, names)
  return [...names]
}

/** Filters of indexes have no other top-level operators than those with clauses. */
function collectFields(filter: Doc, names: Set<string>): void {
  for (const path of Object.keys(filter)) {
    const operand = filter[path]
    if (!path.startsWith('$')) names.add(path.split('.')[0]!)
    else if (isArray(operand)) {
      for (const clause of operand) if (isDoc(clause)) collectFields(clause, names)
    }
  }
}
