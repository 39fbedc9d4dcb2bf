/**
 * Of each entity the revision that represents it, as `uniqueget` chooses it (spec/entity-api.md
 * 2.3), in the order of the keys. Each page begins behind the key that was last: a reader may take
 * as long as it likes.
 */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { Catalog } from '../../../catalog/connection.ts'
import { documentsOf, NOT_DELETED } from '../actions/revisions.ts'
import { stateAt } from '../actions/uniqueget.ts'
import type { CollectionDefinition } from '../definition.ts'
import { type Fields, toOf } from '../timeline/draft.ts'

export interface RepresentativesOptions {
  definition: CollectionDefinition
  filter: Fields
  states: readonly number[]
  nowMs: number
}

const PAGE_MAX = 500
/** Revisions of one entity; more are no page any more. */
const REVISIONS_MAX = 100_000

/** Pages of documents, none of them empty. Rejects with `CatalogUnavailableError`. */
export async function* representatives(
  catalog: Catalog,
  options: RepresentativesOptions,
): AsyncGenerator<RawDocument[]> {
  const { keyField } = options.definition
  let last: unknown
  let size = PAGE_MAX
  for (;;) {
    const found = await readPage(catalog, options, last, size)
    const isEnd = found.length < size
    // Further revisions of the last key may be on the next page.
    const cut = isEnd ? undefined : found.at(-1)?.[keyField]
    const whole = found.filter((document) => isEnd || document[keyField] !== cut)
    if (!isEnd && whole.length === 0 && size < REVISIONS_MAX) {
      size *= 2
      continue
    }
    const chosen = chosenOf(whole.length === 0 ? found : whole, options)
    if (chosen.length > 0) yield chosen
    if (isEnd) return
    last = (whole.at(-1) ?? found.at(-1))?.[keyField]
    size = PAGE_MAX
  }
}

function readPage(
  catalog: Catalog,
  { definition, filter }: RepresentativesOptions,
  last: unknown,
  size: number,
): Promise<RawDocument[]> {
  const { keyField, fixed, name } = definition
  const wanted = [fixed, filter, NOT_DELETED].filter((part) => Object.keys(part).length > 0)
  const behind = last === undefined ? [] : [{ [keyField]: { $gt: last } }]
  return catalog.run(`read ${name}`, () =>
    documentsOf(catalog, definition)
      .find({ $and: [...wanted, ...behind] } as object)
      .sort({ [keyField]: 1, from: 1 })
      .limit(size)
      .toArray(),
  ) as Promise<RawDocument[]>
}

function chosenOf(
  documents: readonly RawDocument[],
  { definition: { keyField }, states, nowMs }: RepresentativesOptions,
): RawDocument[] {
  const best = new Map<unknown, RawDocument>()
  for (const document of documents) {
    const other = best.get(document[keyField])
    if (other === undefined || isBefore(document, other, nowMs)) {
      best.set(document[keyField], document)
    }
  }
  return [...best.values()].filter((document) => states.includes(stateAt(document, nowMs)))
}

/** Active before future before expired; of those the one that lasts longest. */
function isBefore(one: Fields, other: Fields, nowMs: number): boolean {
  const difference = stateAt(one, nowMs) - stateAt(other, nowMs)
  return difference === 0 ? toOf(one) > toOf(other) : difference < 0
}
