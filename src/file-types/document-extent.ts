/**
 * How large and how deep a document may be, before anything in it is looked at: what compiles it
 * goes as deep as the document does, and a document in YAML may even contain itself.
 */
import { FieldError } from '../domain/fields.ts'

/** Records and lists within each other. */
const DEPTH_MAX = 32
/** Fields of records and elements of lists, in all. The largest real ones have some hundreds. */
const MEMBERS_MAX = 20_000

/** Throws `FieldError` for a document beyond the limits. */
export function checkExtent(document: unknown, path: string): void {
  let members = 0
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null) return
    if (depth > DEPTH_MAX) throw new FieldError(path, `is nested deeper than ${DEPTH_MAX}`)
    const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
    members += inner.length
    if (members > MEMBERS_MAX) throw new FieldError(path, `has more than ${MEMBERS_MAX} values`)
    for (const each of inner) visit(each, depth + 1)
  }
  visit(document, 1)
}
