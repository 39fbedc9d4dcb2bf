/** The signed text of a request, and its signature. */
import { createHmac } from 'node:crypto'

/**
 * Parameters by name, in the order sent: strings, maps for bracket notation, other values from JSON
 * bodies. Parameters of the body override those of the query string.
 */
export type OrderedParameters = ReadonlyMap<string, unknown>

/**
 * Parameters that can hold the signature, in order of preference; existing clients send the first
 * one.
 */
const SIGNATURE_NAMES = ['_sig_', 'signature'] as const
/** The time of the request in unix seconds, which is signed with the other parameters. */
export const TIME_NAME = '_t_'

/**
 * The parameter that holds the signature; null if the request is not signed. If `_sig_` is sent,
 * `signature` is an ordinary, signed parameter.
 */
export function signatureParameter(parameters: OrderedParameters): string | null {
  return SIGNATURE_NAMES.find((name) => parameters.has(name)) ?? null
}

/**
 * JSON of all parameters except the signature, identical to the output of PHP's `json_encode`: no
 * whitespace; `/` as `\/`; non-ASCII characters as `\uXXXX` in lower case; a map whose keys count
 * from 0 is a list, and an empty one `[]`. Numbers only come from JSON bodies: integers with all
 * digits, others with the fewest digits that identify them, from 17 places on as `1.0e+25`.
 */
export function signedText(parameters: OrderedParameters): string {
  const signature = signatureParameter(parameters)
  return mapText([...parameters].filter(([name]) => name !== signature))
}

/** HMAC-SHA512 in lower-case hex; the key is the UTF-8 encoding of its text. */
export function signatureOf(text: string, key: string): string {
  return createHmac('sha512', key).update(text).digest('hex')
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return stringText(value)
  if (typeof value === 'number') return numberText(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Map) return mapText([...(value as Map<string, unknown>)])
  if (Array.isArray(value)) return `[${value.map(valueText).join()}]`
  if (typeof value === 'object' && value !== null) return mapText(Object.entries(value))
  return 'null'
}

function mapText(entries: readonly (readonly [string, unknown])[]): string {
  if (entries.every(([key], index) => key === String(index))) {
    return `[${entries.map(([, value]) => valueText(value)).join()}]`
  }
  return `{${entries.map(([key, value]) => `${stringText(key)}:${valueText(value)}`).join()}}`
}

/** JSON.stringify escapes control characters and lone surrogates as PHP does, but no others. */
function stringText(text: string): string {
  return JSON.stringify(text).replace(/[/\u0080-\uffff]/g, (character) =>
    character === '/' ? '\\/' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** With more digits before the point, PHP writes an exponent. */
const PLACES_MAX = 17
/** With more zeros after the point, PHP writes an exponent. */
const ZEROS_MAX = 3

function numberText(value: number): string {
  if (!Number.isFinite(value)) return '0'
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  // The shortest digits that identify the number.
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const places = Number(exponent) + 1
  if (places > PLACES_MAX || places < -ZEROS_MAX) {
    const power = `${places > 0 ? '+' : '-'}${Math.abs(places - 1)}`
    return `${sign}${digits[0]}.${digits.slice(1) || '0'}e${power}`
  }
  if (places <= 0) return `${sign}0.${'0'.repeat(-places)}${digits}`
  const whole = digits.slice(0, places).padEnd(places, '0')
  const rest = digits.slice(places)
  return `${sign}${whole}${rest === '' ? '' : `.${rest}`}`
}
