/** Which fields are personal data, and taking them out of documents. Pure. */

import { ERASED } from '../../catalog/audit/chain.ts'
import type { Fields } from '../../domain/fields.ts'
import type { FieldDefinition } from '../entities/fields/field-definition.ts'

/**
 * What accounts and subscribers of existing installations have, also where it is not configured as
 * a field. Fields that are configured say so themselves (`personal`).
 */
const ENTITY_NAMES: readonly string[] = [
  'company_name',
  'contact_name',
  'phone',
  'mobile',
  'fax',
  'street',
  'city',
  'account_import_id',
]

/** Names under which records have personal data, wherever they stand in them. */
const RECORD_NAMES: readonly string[] = [
  'firstname',
  'lastname',
  'fullname',
  'payer_name',
  'email',
  'phone',
  'address',
  'zip_code',
  'street',
  'city',
  'aaddress',
  'azip',
  'acity',
  'personal_id',
  'salutation',
  'company_name',
  'msisdn',
  'imsi',
  'called_number',
  'calling_number',
  'session_id',
  'additional',
  'uf',
  'payment_details',
  'payment_gateway',
  'gateway_details',
  'bank_name',
  'BIC',
  'IBAN',
  'RUM',
]

/**
 * Dotted paths of the personal fields of a collection: those that are marked so, and those that
 * subscribers are found by, for such a value names one person.
 */
export function personalPaths(
  fields: readonly FieldDefinition[],
  identifiers: readonly string[],
): string[] {
  const denied = fields.filter(({ personal }) => personal === false)
  const known = [
    ...fields.filter(({ personal }) => personal === true).map(({ field_name: name }) => name),
    ...ENTITY_NAMES,
    ...identifiers.filter((name) => name !== 'sid' && name !== 'aid'),
  ]
  const kept = new Set(denied.map(({ field_name: name }) => name))
  return [...new Set(known)].filter((name) => !kept.has(name))
}

/** Names that are erased in records: of configured fields the last part of the path. */
export function personalNames(paths: readonly string[]): ReadonlySet<string> {
  return new Set([...RECORD_NAMES, ...paths.map((path) => path.split('.').at(-1) ?? path)])
}

/** A copy without the paths; null if it has none of them. */
export function withoutPaths<T extends Fields>(document: T, paths: readonly string[]): T | null {
  let copy: Fields = document
  for (const path of paths) copy = without(copy, path.split('.'))
  return copy === document ? null : (copy as T)
}

/** The same object if the path leads nowhere. */
function without(document: Fields, [name = '', ...rest]: readonly string[]): Fields {
  if (!Object.hasOwn(document, name)) return document
  if (rest.length === 0) {
    const { [name]: _, ...others } = document
    return others
  }
  const value = document[name]
  if (!isPlain(value)) return document
  const inner = without(value, rest)
  return inner === value ? document : { ...document, [name]: inner }
}

/** The texts under the paths, which may stand elsewhere as texts, too. */
export function textsUnder(document: Fields, paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    let value: unknown = document
    for (const step of path.split('.')) value = isPlain(value) ? value[step] : undefined
    const values = Array.isArray(value) ? value : [value]
    return values.filter((one): one is string => typeof one === 'string')
  })
}

/**
 * A copy in which members of these names are erased at any depth: texts become `(erased)`, all else
 * goes. The same object if there is none.
 */
export function withoutNames(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) {
    const members = value.map((one) => withoutNames(one, names))
    return members.every((one, index) => one === value[index]) ? value : members
  }
  if (!isPlain(value)) return value
  let isSame = true
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    if (names.has(name) && !isEmpty(member)) {
      isSame = false
      return typeof member === 'string' ? [[name, ERASED]] : []
    }
    const kept = withoutNames(member, names)
    isSame &&= kept === member
    return [[name, kept]]
  })
  return isSame ? value : Object.fromEntries(members)
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || value === ERASED
}

function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !(value instanceof Date) && !('_bsontype' in value) && !ArrayBuffer.isView(value)
}
