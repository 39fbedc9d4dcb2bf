import { redactUrl } from '../config/error.ts'
import { withSources } from './source-places.ts'

export const MASK = '***'
const DEPTH_MAX = 6
const ITEMS_MAX = 100

/** Names whose values are never logged. */
const SECRETS = [
  'password',
  'passphrase',
  'secret',
  'client_secret',
  'token',
  'access_token',
  'refresh_token',
  'authorization',
  'cookie',
  'set_cookie',
  'api_key',
]

/** Names whose values identify a subscriber. */
const SUBSCRIBER = ['msisdn', 'imsi', 'imei', 'sid', 'aid', 'called_number', 'calling_number']

/** Fields of errors that are logged: the product's own, or known to be harmless. */
const ERROR_FIELDS = ['code', 'aid', 'sid'] as const

/** Such a name in a text with its value: `{ sid: 51 }`, `msisdn="33600000001"`. */
const NAMED_VALUE = new RegExp(
  `\\b(${SUBSCRIBER.flatMap(spellings).join('|')})(["']?\\s*[:=]\\s*["']?)[^\\s"',;{}]+`,
  'gi',
)

export type Masker = {
  /** A masked copy of a value; `req` and `res` in it are left to their serializers. */
  readonly value: (value: unknown) => unknown
  /** Masked names in all their spellings. */
  readonly names: readonly string[]
}

/**
 * Masks secrets in log records and, unless `showSubscribers`, subscriber identities. Errors are
 * reduced to type, message, stack, code and cause: drivers attach whole commands and documents to
 * theirs.
 */
export function createMasker(options: { readonly showSubscribers: boolean }): Masker {
  const names = options.showSubscribers ? SECRETS : [...SECRETS, ...SUBSCRIBER]
  const hidden = new Set(names.map(plain))

  const text = (value: string): string => value.replace(/\S+:\/\/\S+@\S+/g, redactUrl)
  // Error messages may quote subscriber data, such as the message of a duplicate key.
  const errorText = (value: string): string =>
    options.showSubscribers
      ? text(value)
      : text(value)
          .replace(NAMED_VALUE, `$1$2${MASK}`)
          .replace(/\d{10,}/g, MASK)

  const error = (value: Error, depth: number): Record<string, unknown> => ({
    type: value.name,
    message: errorText(value.message),
    stack: errorText(withSources(value.stack ?? '')),
    ...Object.fromEntries(
      ERROR_FIELDS.flatMap((name) =>
        name in value ? [[name, mask(Reflect.get(value, name), name, depth + 1)]] : [],
      ),
    ),
    ...(value.cause === undefined ? {} : { cause: mask(value.cause, 'cause', depth + 1) }),
  })

  const mask = (value: unknown, name: string, depth: number): unknown => {
    if (hidden.has(plain(name)) && value !== null && value !== undefined) return MASK
    if (typeof value === 'string') return text(value)
    if (typeof value !== 'object' || value === null || value instanceof Date) return value
    if (depth >= DEPTH_MAX) return '[deeper]'
    if (value instanceof Error) return error(value, depth)
    if (Array.isArray(value)) {
      return value.slice(0, ITEMS_MAX).map((item) => mask(item, '', depth + 1))
    }
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
    if (depth === 1 && (name === 'req' || name === 'res')) return value
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) {
      const toJson = 'toJSON' in value ? value.toJSON : undefined
      // Sockets, connections and the like refer to large object graphs.
      if (typeof toJson !== 'function') return `[${value.constructor.name}]`
      return mask(toJson.call(value), name, depth + 1)
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [key, mask(child, key, depth + 1)]),
    )
  }

  return { value: (value) => mask(value, '', 0), names: names.flatMap(spellings) }
}

/** `called_number`, `calledNumber` and `Called-Number` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '')
}

/** `called_number`, `called-number`, `calledNumber` and `callednumber`. */
function spellings(name: string): string[] {
  const camel = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return [...new Set([name, name.replaceAll('_', '-'), camel, plain(name)])]
}
