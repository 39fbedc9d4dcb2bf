import type { SortField } from '../query/sort.ts'
import { type Doc, isArray, isDoc } from '../values/document.ts'
import { FieldNames } from '../values/raw-fields.ts'

/** The parts of an index that determine a layout. */
type IndexFields = {
  readonly fields: readonly SortField[]
  readonly reads: readonly string[]
  readonly unique: boolean
  readonly sparse: boolean
  readonly partial: Doc | undefined
}

/** A unique index that contains all documents, and the slots of its fields. */
export type UniqueSlots = { readonly position: number; readonly slots: readonly number[] }

/** The fields that the indexes of a collection read, so that no others have to be decoded. */
export class IndexLayout {
  readonly fields: FieldNames
  /** For each index the slots of the fields that it reads. */
  readonly reads: readonly (readonly number[])[]
  /** The indexes that identify all documents by top-level fields. */
  readonly identities: readonly UniqueSlots[]
  readonly idSlot: number

  constructor(indexes: readonly IndexFields[]) {
    const fields = new FieldNames(indexes.flatMap(({ reads }) => reads))
    const slotOf = (name: string) => fields.names.indexOf(name)
    this.fields = fields
    this.reads = indexes.map(({ reads }) => reads.map(slotOf))
    this.identities = indexes.flatMap((index, position) => {
      const slots = index.fields.map(({ path }) => slotOf(path))
      const isIdentity = index.unique && !index.sparse && !index.partial
      return isIdentity && !slots.includes(-1) ? [{ position, slots }] : []
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
