/** Redacts secrets in audit records. This file is the only list of what is secret. */
import type { Fields } from '../../domain/fields.ts'

/** Replaces a secret; the second one if the secret differs from the one before. */
export const SECRET = '(secret)'
export const CHANGED_SECRET = '(secret, changed)'

/** Complete field names, in lower case without `_` and `-`: `card_token` is `cardtoken`. */
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

/** Substrings of secret field names. */
const SECRET_PARTS = /pass(?:word|wd|phrase)|secret|credential|token/

/** Suffixes of dates and numbers that describe a secret but are not secret themselves. */
const SECRET_METADATA = /(?:time|date|seconds|minutes|attempts|min|max|count|at)$/

/**
 * Values that are secret in any field: password hashes, sealed values (sealing.ts), PEM keys, JWTs.
 */
const SECRET_TEXT = new RegExp(
  [
    String.raw`^(?:\$argon2|\$2[aby]\$|plain:|v1:[\w-]{38,}$|v2:[0-9a-f]{8}:|eyJ[\w-]+\.eyJ)`,
    '-----BEGIN [A-Z ]*PRIVATE KEY',
  ].join('|'),
)

/**
 * Fields of payment gateways that may be recorded. All other fields are card data, or give access
 * to it. The list applies at every nesting level.
 */
const PAYMENT = 'paymentgateway'
const PAYMENT_NAMES: ReadonlySet<string> = new Set([
  'active',
  'former',
  'name',
  'generatetokentime',
  'transactionexhausted',
])

/** Further secret fields by collection of the API, as dotted paths. */
const SECRET_PATHS: Readonly<Record<string, ReadonlySet<string>>> = {
  users: new Set(['password']),
  cards: new Set(['secret']),
  peers: new Set(['key', 'keys']),
  oauth: new Set(['key']),
}

/**
 * Returns a copy of the document with secrets replaced by marks. `before` is the document that it
 * replaced; a secret that differs from it is marked as changed. Values of BSON types are left as
 * they are.
 */
export function redactSecrets(collection: string, document: Fields, before?: unknown): Fields {
  const paths = SECRET_PATHS[collection] ?? new Set()
  return redactMembers(document, { paths, path: '', kind: 'plain' }, before)
}

/** Context of a value: below a secret field, below a payment gateway, or neither. */
interface RedactionContext {
  readonly paths: ReadonlySet<string>
  readonly path: string
  readonly kind: 'plain' | 'payment' | 'secret'
}

function redactMembers(document: Fields, context: RedactionContext, before: unknown): Fields {
  const members = Object.entries(document).map(([name, member]): [string, unknown] => {
    const path = context.path === '' ? name : `${context.path}.${name}`
    const within = { ...context, path, kind: kindOf(name, path, context) }
    // A field name can be secret, too.
    const safeName = SECRET_TEXT.test(name) ? SECRET : name
    return [safeName, redactValue(member, name, within, memberOf(before, name))]
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
  const cached = kinds.get(name)
  if (cached !== undefined) return cached
  const found = kindOfName(plainName(name))
  if (kinds.size < KINDS_MAX) kinds.set(name, found)
  return found
}

/** Cache: most documents have the same field names. */
const kinds = new Map<string, RedactionContext['kind']>()
const KINDS_MAX = 10_000

function kindOfName(plain: string): RedactionContext['kind'] {
  if (plain === PAYMENT) return 'payment'
  return SECRET_NAMES.has(plain) || SECRET_PARTS.test(plain) ? 'secret' : 'plain'
}

/** `name`: the field that holds the value, or the array that contains it. */
function redactValue(
  value: unknown,
  name: string,
  context: RedactionContext,
  before: unknown,
): unknown {
  if (value === null || value === undefined || value === '') return value
  if (Array.isArray(value)) {
    return value.map((each, index) => {
      return redactValue(each, name, context, memberOf(before, String(index)))
    })
  }
  if (isPlain(value)) return redactMembers(value, context, before)
  const isHidden = isSecret(name, value, context)
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

/** Neither a BSON type of the driver nor a date. */
function isPlain(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || value instanceof Date) return false
  return !('_bsontype' in value) && !ArrayBuffer.isView(value)
}
