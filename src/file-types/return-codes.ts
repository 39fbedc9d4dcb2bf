/** Configured return codes of outcomes (`return_codes`). */
import { type Reason, reasons } from '../domain/charge-outcome.ts'
import { FieldError, type Fields, objectAt } from '../domain/fields.ts'

export type ReturnCodes = Readonly<Record<Reason, number>>

/** Reasons by document key; see also `FALLBACK_KEYS`. */
const reasonsOf = {
  ok: ['granted'],
  not_charged: ['notCharged'],
  no_available_balances: ['noCredit'],
  customer: ['unknownSubscriber'],
  rate: ['noRate'],
  blocked: ['blocked'],
  pricing: ['pricing'],
  tax: ['noTax'],
  unknown_session: ['unknownSession'],
  session_closed: ['sessionClosed'],
  out_of_order: ['outOfOrder'],
  number_reused: ['numberReused'],
  barred: ['barred'],
  total_below: ['totalBelow'],
  refund_limit: ['refundLimit'],
  nothing_to_refund: ['nothingToRefund'],
  cap_reached: ['capReached'],
  malformed: ['malformed'],
  overloaded: ['overloaded', 'contention'],
  store_down: ['storeDown', 'corrupt'],
  timed_out: ['timedOut'],
} as const satisfies Record<string, readonly Reason[]>

/** Pairs of a key and the key whose code applies if it is not given. */
const FALLBACK_KEYS: readonly (readonly [Key, Key])[] = [
  ['not_charged', 'ok'],
  ['blocked', 'rate'],
  ['cap_reached', 'no_available_balances'],
]

const NESTED = 'failed_calculator'
/** Keys that may also be nested in `failed_calculator`. */
const NESTED_KEYS = ['customer', 'rate', 'pricing', 'tax'] as const

export const RETURN_CODE_KEYS = Object.keys(reasonsOf)
type Key = keyof typeof reasonsOf

/** The codes of domain/charge-outcome.ts. */
export const builtInReturnCodes: ReturnCodes = Object.fromEntries(
  Object.entries(reasons).map(([reason, { code }]) => [reason, code]),
) as Record<Reason, number>

/**
 * Overrides codes of `base`; an undefined or null document changes nothing. Keys are those above,
 * four of them also within `failed_calculator`; codes are integers. Throws `FieldError`.
 */
export function compileReturnCodes(
  document: unknown,
  path: string,
  base: ReturnCodes,
): Record<Reason, number> {
  const codes = { ...base }
  if (document === undefined || document === null) return codes
  const section = objectAt(document, path, [...RETURN_CODE_KEYS, NESTED])
  const given = codesIn(section, path)
  for (const [key, other] of FALLBACK_KEYS) {
    const code = given.get(other)
    if (code !== undefined && !given.has(key)) given.set(key, code)
  }
  for (const [key, code] of given) {
    for (const reason of reasonsOf[key]) codes[reason] = code
  }
  return codes
}

function codesIn(section: Fields, path: string): Map<Key, number> {
  const codes = new Map<Key, number>()
  for (const [key, code] of Object.entries(section)) {
    if (key !== NESTED) codes.set(key as Key, codeAt(code, `${path}.${key}`))
  }
  if (!Object.hasOwn(section, NESTED)) return codes
  const nestedPath = `${path}.${NESTED}`
  const nested = objectAt(section[NESTED], nestedPath, NESTED_KEYS)
  for (const [key, code] of Object.entries(nested)) {
    const at = `${nestedPath}.${key}`
    if (codes.has(key as Key)) throw new FieldError(at, `is given as ${path}.${key}, too`)
    codes.set(key as Key, codeAt(code, at))
  }
  return codes
}

function codeAt(code: unknown, path: string): number {
  if (typeof code !== 'number' || !Number.isSafeInteger(code)) {
    throw new FieldError(path, 'must be a whole number')
  }
  // Normalises -0.
  return code === 0 ? 0 : code
}
