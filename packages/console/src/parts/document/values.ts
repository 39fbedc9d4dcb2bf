/** Values in documents by path, and three versions of one document. */
import { type Difference, differences } from '../differences.ts'

export type ValuePath = readonly (string | number)[]

export function valueAt(document: unknown, path: ValuePath): unknown {
  return path.reduce<unknown>((value, name) => {
    return typeof value === 'object' && value !== null
      ? (value as Record<string | number, unknown>)[name]
      : undefined
  }, document)
}

/** A copy with another value; undefined removes the member. */
export function withValue(document: unknown, path: ValuePath, value: unknown): unknown {
  const [name, ...rest] = path
  if (name === undefined) return value
  const next = withValue(valueAt(document, [name]), rest, value)
  if (Array.isArray(document) && typeof name === 'number') {
    return next === undefined ? document.toSpliced(name, 1) : document.toSpliced(name, 1, next)
  }
  const old = (typeof document === 'object' && document !== null ? document : {}) as object
  const entries = Object.entries({ ...old, [name]: next })
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined))
}

/** Path of a message or a difference: `rates.call.BASE.rate.0.price`. */
export function textOf(path: ValuePath): string {
  return path.join('.')
}

export function pathOf(text: string): ValuePath {
  return text.split('.').map((name) => (/^\d+$/.test(name) ? Number(name) : name))
}

export type Document = Readonly<Record<string, unknown>>

/** The fields of `draft` that differ from `base`, whole: what a write has to send. */
export function changedFields(base: Document, draft: Document): Record<string, unknown> {
  const changed = Object.entries(draft).filter(([name, value]) => {
    return differences({ value: base[name] }, { value }).length > 0
  })
  return Object.fromEntries(changed)
}

/** A field that two people have set, to different values. */
export interface Clash {
  /** Path. */
  readonly field: string
  readonly mine: string
  readonly theirs: string
}

export interface Merge {
  /** `mine`, with the fields that only the other one has changed. */
  readonly merged: Document
  readonly clashes: readonly Clash[]
  /** Fields that only the other one has changed. */
  readonly theirs: readonly Difference[]
}

/** Merges two edits of `base`: `mine` is not saved, `stored` is what was saved meanwhile. */
export function mergeOf(base: Document, mine: Document, stored: Document): Merge {
  const own = new Map(differences(base, mine).map((each) => [each.field, each]))
  const other = differences(base, stored)
  const isFree = ({ field }: Difference) => {
    return ![...own.keys()].some((path) => overlaps(path, field))
  }
  const theirs = other.filter(isFree)
  const paths = new Set(theirs.map(({ field }) => textOf(presentPath(stored, pathOf(field)))))
  // From the end, so that removed members of a list do not shift the others.
  const merged = [...paths].reduceRight<unknown>((document, text) => {
    return withValue(document, pathOf(text), valueAt(stored, pathOf(text)))
  }, mine) as Document
  const clashes = other
    .filter((each) => !isFree(each) && own.get(each.field)?.after !== each.after)
    .map(({ field, after }) => {
      return { field, mine: own.get(field)?.after ?? '', theirs: after ?? '' }
    })
  return { merged, clashes, theirs }
}

export type Choice = 'mine' | 'theirs'

/** The path, or the shortest part of it that the document does not have. */
function presentPath(document: Document, path: ValuePath): ValuePath {
  const at = path.findIndex((_, index) => valueAt(document, path.slice(0, index + 1)) === undefined)
  return at < 0 ? path : path.slice(0, at + 1)
}

/** Whether one path is the other, or contains it. */
function overlaps(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`)
}
