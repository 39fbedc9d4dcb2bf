/** What no record may hold: the one list of it. */
import type { Fields } from '../../domain/fields.ts'

/** In place of a secret; the second one where it is another than before. */
export const SECRET = '(secret)'
export const CHANGED_SECRET = '(secret, changed)'

/** Whole names, in small letters without `_` and `-`: `card_token` is `cardtoken`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'apikey',
  'accesskey',
  'clientkey',
  'privatekey',
  'signingkey',
  'encryptionkey',
  'sharedkey',
  'pin',
  'puk',
  'cvv',
  'cvc',
  'pan',
  'cardnumber',
  'creditcard',
  'iban',
  'authnumber',
  'authorization',
  'cookie',
  'setcookie',
  'assertion',
  'samlresponse',
  'signature',
  'sig',
  'salt',
  'hash',
  'sha256',
  'sha512',
  'bindpw',
])

/** Parts of such names. */
const SECRET_PARTS = /pass(?:word|wd|phrase)|secret|credential|token/

/** Dates and numbers that are about a secret, and none. */
const SECRET_METADATA = /(?:time|date|seconds|minutes|attempts|min|max|count|at)$/

/**
 * Texts that are secrets wherever they stand: hashes of passwords, sealed texts (sealing.ts), keys
 * in PEM, tokens of JWT.
 */
const SECRET_TEXT = new RegExp(
  [
    String.raw`^(?:\$argon2|\$2[aby]\$|plain:|v1:[\w-]{38,}$|v2:[0-9a-f]{8}:|eyJ[\w-]+\.eyJ)`,
    '-----BEGIN [A-Z ]*PRIVATE KEY',
  ].join('|'),
)

/**
 * What may be recorded of the ways in which an account pays: all else is card data, or leads to it
 * (spec/entity-api.md 4.1). Also what lies deeper goes by these names.
 */
const PAYMENT = 'paymentgateway'
const PAYMENT_NAMES: ReadonlySet<string> = new Set([
  'active',
  'former',
  'name',
  'generatetokentime',
  'transactionexhausted',
])

/** By collection of the API: further fields that are never shown, as dotted paths. */
const SECRET_PATHS: Readonly<Record<string, ReadonlySet<string>>> = {
  users: new Set(['password']),
  cards: new Set(['secret']),
  peers: new Set(['key', 'keys']),
  oauth: new Set(['key']),
}

/**
 * A copy of a document without secrets. `before`: the one that it has taken the place of; where a
 * secret is another one there, that is told. Values of the driver stay as they are.
 */
export function redactSecrets(collection: string, document: Fields, before?: unknown): Fields {
  const paths = SECRET_PATHS[collection] ?? new Set()
  return redactMembers(document, { paths, path: '', kind: 'plain' }, before)
}

/** Where a value stands: below a secret name, below ways to pay, or anywhere else. */
interface RedactionContext {
  readonly paths: ReadonlySet<string>
  readonly path: string
  readonly kind: 'plain' | 'payment' | 'secret'
}

function redactMembers(document: Fields, place: RedactionContext, before: unknown): Fields {
  const members = Object.entries(document).map(([name, member]): [string, unknown] => {
    const path = place.path === '' ? name : `${place.path}.${name}`
    const within = { ...place, path, kind: kindOf(name, path, place) }
    // What may not stand as a text may not stand as a name, either.
    const shown = SECRET_TEXT.test(name) ? SECRET : name
    return [shown, redactValue(member, name, within, memberOf(before, name))]
  })
  return Object.fromEntries(members)
}

function kindOf(
  name: string,
  path: string,
  { kind, paths }: RedactionContext,
): RedactionContext['kind'] {
  if (kind === 'secret' || paths.has(path)) return 'secret'
  if (kind === 'payment') return PAYMENT_NAMES.has(plainName(name)) ? 'payment' : 'secret'
  const known = kinds.get(name)
  if (known !== undefined) return known
  const found = kindOfName(plainName(name))
  if (kinds.size < KINDS_MAX) kinds.set(name, found)
  return found
}

/** Most documents have the same names. */
const kinds = new Map<string, RedactionContext['kind']>()
const KINDS_MAX = 10_000

function kindOfName(plain: string): RedactionContext['kind'] {
  if (plain === PAYMENT) return 'payment'
  return SECRET_NAMES.has(plain) || SECRET_PARTS.test(plain) ? 'secret' : 'plain'
}

/** `name`: that under which it stands, or the list of which it is a member. */
function redactValue(
  value: unknown,
  name: string,
  place: RedactionContext,
  before: unknown,
): unknown {
  if (value === null || value === undefined || value === '') return value
  if (Array.isArray(value)) {
    return value.map((each, index) => {
      return redactValue(each, name, place, memberOf(before, String(index)))
    })
  }
  if (isPlain(value)) return redactMembers(value, place, before)
  const isHidden = isSecret(name, value, place)
  return isHidden ? secretMark(value, before) : value
}

function isSecret(name: string, value: unknown, { kind }: RedactionContext): boolean {
  if (kind === 'secret') return !isSecretMetadata(name, value)
  if (typeof value !== 'string') return false
  return (kind === 'payment' && name !== 'name') || SECRET_TEXT.test(value)
}

function isSecretMetadata(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return true
  const isMeasure = typeof value === 'number' || value instanceof Date
  return isMeasure && SECRET_METADATA.test(plainName(name))
}

function secretMark(value: unknown, before: unknown): string {
  if (before === undefined) return SECRET
  return JSON.stringify(before) === JSON.stringify(value) ? SECRET : CHANGED_SECRET
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Fields)[name]
}

/** Not one of the driver's values, and no date. */
function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || value instanceof Date) return false
  return !('_bsontype' in value) && !ArrayBuffer.isView(value)
}
