/** The text of a request that is signed, and its signature (spec/entity-api.md 5.4). */
import { createHmac } from 'node:crypto'

/**
 * By name, in the order of sending: texts as they came, maps for what brackets nest, other values
 * where the body was JSON. Names in the body take the place of those in the address.
 */
export type SentParameters = ReadonlyMap<string, unknown>

/** The parameter of the signature, in order of preference: existing clients', the interface's. */
const SIGNATURE_NAMES = ['_sig_', 'signature'] as const
/** The time of the request, unix seconds. It is signed with all the others. */
export const TIME_NAME = '_t_'

/**
 * The parameter that has the signature; null: the request is not signed. Beside `_sig_`, one that
 * is called `signature` is a parameter as any other, and signed.
 */
export function signatureParameter(sent: SentParameters): string | null {
  return SIGNATURE_NAMES.find((name) => sent.has(name)) ?? null
}

/**
 * JSON of all parameters but the signature, byte for byte as `json_encode` of PHP writes it: no
 * blanks; `/` as `\/`; what is not ASCII as `\uXXXX` in lower case; a map whose keys count from 0
 * is a list, and an empty one `[]`. Numbers are there only where the body was JSON: integers with
 * all digits, others with as few as tell them apart, from 17 places on as `1.0e+25`.
 */
export function signedText(sent: SentParameters): string {
  const signature = signatureParameter(sent)
  return mapText([...sent].filter(([name]) => name !== signature))
}

/** HMAC-SHA512 in lower-case hex, with the text of the key as its bytes. */
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

/** JSON.stringify escapes controls as PHP does, and half surrogates; it leaves the rest. */
function stringText(text: string): string {
  return JSON.stringify(text).replace(/[/\u0080-\uffff]/g, (character) =>
    character === '/' ? '\\/' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Beyond so many places before the point, PHP writes an exponent. */
const PLACES_MAX = 17
/** And so behind it, before the first digit. */
const ZEROS_MAX = 3

function numberText(value: number): string {
  if (!Number.isFinite(value)) return '0'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  // The shortest digits that are this number and no other.
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
