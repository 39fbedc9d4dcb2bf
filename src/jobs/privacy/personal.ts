/** Definition of personal data, and its removal from documents. Pure. */
import { ERASED } from '../../catalog/transactions/audit-chain.ts'
import type { Fields } from '../../domain/fields.ts'
import type { FieldDefinition } from '../../entities/fields/field-definition.ts'

/**
 * Personal fields of accounts and subscribers in existing installations, even if they are not
 * configured. Configured fields are marked by `personal`.
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

/** Names of personal data in records, at any depth. */
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

/** Names of free texts in credit lines and bills, which may name people. */
const FREE_TEXTS: readonly string[] = ['label', 'invoice_label', 'reason', 'note']

/** Adds the names of free-text fields. */
export function withFreeTexts(names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names, ...FREE_TEXTS])
}

/**
 * Dotted paths of a collection's personal fields: those marked as personal, and those that identify
 * subscribers.
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

/** Names that are erased in records: for configured fields the last segment of the path. */
export function personalNames(paths: readonly string[]): ReadonlySet<string> {
  return new Set([...RECORD_NAMES, ...paths.map((path) => path.split('.').at(-1) ?? path)])
}

/** A copy without the paths; null if the document has none of them. */
export function withoutPaths<T extends Fields>(document: T, paths: readonly string[]): T | null {
  let copy: Fields = document
  for (const path of paths) copy = without(copy, path.split('.'))
  return copy === document ? null : (copy as T)
}

/** Returns the same object if the path does not exist. */
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

/** Texts under the paths, which may be quoted in other documents. */
export function textsUnder(document: Fields, paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    let value: unknown = document
    for (const step of path.split('.')) value = isPlain(value) ? value[step] : undefined
    const values = Array.isArray(value) ? value : [value]
    return values.filter((one): one is string => typeof one === 'string')
  })
}

/**
 * A copy in which members of these names are erased at any depth: texts become `(erased)`, other
 * values are removed. Returns the same object if there is nothing to erase.
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
