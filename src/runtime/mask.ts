import { redactUrl } from '../config/error.ts'

export const MASK = '***'
const DEPTH_MAX = 6
const ITEMS_MAX = 100

/** Names (letters only, lower case) whose values are never written. */
const SECRETS: ReadonlySet<string> = new Set([
  'password',
  'passphrase',
  'secret',
  'clientsecret',
  'token',
  'accesstoken',
  'refreshtoken',
  'authorization',
  'cookie',
  'setcookie',
  'apikey',
])

/** Names whose values tell who somebody is. */
const SUBSCRIBER: ReadonlySet<string> = new Set([
  'msisdn',
  'imsi',
  'imei',
  'sid',
  'callednumber',
  'called_number',
  'callingnumber',
  'calling_number',
])

export type Masker = {
  /** A copy of a value, fit to be written; `req` and `res` in it are left to their serializers. */
  readonly value: (value: unknown) => unknown
  /** Names of which no value is written. */
  readonly names: readonly string[]
}

/**
 * Masks secrets in what is about to be logged, and, unless `showSubscribers`, what tells who a
 * subscriber is. Errors are cut to type, message, stack, code and cause: drivers attach whole
 * commands and documents to theirs.
 */
export function createMasker(options: { readonly showSubscribers: boolean }): Masker {
  const hidden = options.showSubscribers ? SECRETS : new Set([...SECRETS, ...SUBSCRIBER])

  const text = (value: string): string => value.replace(/\S+:\/\/\S+@\S+/g, redactUrl)
  // Long numbers in the message of an error may be a subscriber's, as in a duplicate key.
  const errorText = (value: string): string =>
    options.showSubscribers ? text(value) : text(value).replace(/\d{10,}/g, MASK)

  const error = (value: Error, depth: number): Record<string, unknown> => ({
    type: value.name,
    message: errorText(value.message),
    stack: errorText(value.stack ?? ''),
    ...('code' in value ? { code: mask(value.code, 'code', depth + 1) } : {}),
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
      // Sockets, connections and the like hold half the process.
      if (typeof toJson !== 'function') return `[${value.constructor.name}]`
      return mask(toJson.call(value), name, depth + 1)
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, child]) => [key, mask(child, key, depth + 1)]),
    )
  }

  return { value: (value) => mask(value, '', 0), names: [...hidden] }
}

/** `called_number`, `calledNumber` and `Called-Number` are one name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '')
}
