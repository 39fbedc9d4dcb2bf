/** Common parts of compiling entities. */
import type { Facts, Revision } from '../../domain/catalogue.ts'
import { entriesAt, FieldError, type Fields } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import type { StoredFields } from '../entities/entity.ts'

/** A document as read from the store, unchecked except for its stored fields. */
export type RawDocument = StoredFields & Record<string, unknown>

export interface CompileOptions {
  /** For documents being written: also reject values that are usable but certainly a mistake. */
  isStrict: boolean
  /** Units are counted in 10^-unitDigits of the documents' units; 0 except for `quote`. */
  unitDigits: number
}

export const LENIENT: CompileOptions = { isStrict: false, unitDigits: 0 }
export const STRICT: CompileOptions = { isStrict: true, unitDigits: 0 }

/**
 * The revision id includes the write number: a revision edited in place is a different revision for
 * sessions, so they close the segment with the old price.
 */
export function revisionOf(document: StoredFields & { from: Date; to: Date }): Revision {
  const fromMs = document.from.getTime()
  const toMs = Math.min(document.to.getTime(), FOREVER_MS)
  if (!(toMs > fromMs)) throw new FieldError('to', 'must be after from')
  return { id: `${document._id.toHexString()}.${document.rev ?? 0}`, fromMs, toMs }
}

/** Usage types become parts of field paths in balances, so they must not contain path syntax. */
export function checkUsageType(usaget: string, path: string): void {
  if (!/^[A-Za-z0-9_-]+$/.test(usaget)) {
    throw new FieldError(path, 'must be named with letters, digits, _ and - only')
  }
}

/** Internal fields and dates, which rules do not compare. */
const INTERNAL_FIELDS = new Set([
  '_id',
  'rev',
  'deleted',
  'deleted_at',
  'from',
  'to',
  'creation_time',
])

/** The scalar fields of a document, except `without`. */
export function factsOf(document: Fields, without?: Fields): Facts {
  const facts: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(document)) {
    if (INTERNAL_FIELDS.has(name) || (without !== undefined && name in without)) continue
    const type = typeof value
    if (type === 'string' || type === 'number' || type === 'boolean') {
      facts[name] = value as string | number | boolean
    }
  }
  return Object.freeze(facts)
}

/**
 * Values that rules compare: the members of `params`, and all other fields except `without`. Deeply
 * frozen.
 */
export function paramsOf(
  document: RawDocument,
  without: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const params: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(document)) {
    if (name !== 'params' && !INTERNAL_FIELDS.has(name) && !without.has(name))
      params[name] = deepFreeze(value)
  }
  for (const [name, value] of entriesAt(document['params'], 'params'))
    params[name] = deepFreeze(value)
  return Object.freeze(params)
}

/** Dates cannot be frozen, and BSON types of the driver need not be. */
function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(value.map(deepFreeze))
  if (Object.getPrototypeOf(value) !== Object.prototype) return value
  const entries = Object.entries(value).map(([key, part]) => [key, deepFreeze(part)] as const)
  return Object.freeze(Object.fromEntries(entries))
}
