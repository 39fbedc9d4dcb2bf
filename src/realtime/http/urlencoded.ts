/**
 * Reads the parameters of a query or form that control the handling of a request. Texts hold one
 * byte per character (latin1). Linear time; other parameters are ignored.
 */
import type { DecodeError } from '../codecs/codec.ts'

/** As sent, not decoded; '' if absent or empty. */
export interface Parameters {
  readonly fileType: string
  readonly request: string
}

export const NO_PARAMETERS: Parameters = { fileType: '', request: '' }

const FILE_TYPE = 'file_type='
const REQUEST = 'request='

/** Finds both parameters. A repeated parameter is ambiguous and an error. */
export function readParameters(text: string): Parameters | DecodeError {
  const fileType = valueBehind(text, FILE_TYPE)
  if (fileType === null) return { field: 'file_type', why: 'must be given once' }
  const request = valueBehind(text, REQUEST)
  if (request === null) return { field: 'request', why: 'must be given once' }
  return { fileType, request }
}

/** The value after a name with its `=`; '' if absent, null if given several times. */
function valueBehind(text: string, name: string): string | null {
  let value = ''
  // Searching for the name is cheaper than examining each pair.
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + name.length)) {
    if (at > 0 && text.charCodeAt(at - 1) !== AMPERSAND) continue
    if (value !== '') return null
    value = text.slice(at + name.length, endOfPair(text, at))
  }
  return value
}

/**
 * The same for a body declared as a form. `curl -d` declares any data as a form: a body that begins
 * like a document is taken for one, because a form would have escaped that character.
 */
export function readForm(body: Buffer): Parameters | DecodeError {
  return isDocument(body) ? NO_PARAMETERS : readParameters(body.toString('latin1'))
}

/** Whether a body declared as a form is a document. */
export function isDocument(body: Buffer): boolean {
  let start = 0
  while (start < body.length && isBlank(body[start])) start += 1
  const first = body[start]
  return first === BRACE || first === BRACKET || first === LESS_THAN
}

/** The query without the file type parameter. */
export function withoutFileType(query: string): string {
  return withoutParameters(query, FILE_TYPE)
}

/** The query without the parameters of a name, which is given with its `=`. */
export function withoutParameters(query: string, name: string): string {
  let rest = ''
  for (let start = 0; start < query.length; ) {
    const end = endOfPair(query, start)
    if (!query.startsWith(name, start)) {
      rest += rest === '' ? query.slice(start, end) : `&${query.slice(start, end)}`
    }
    start = end + 1
  }
  return rest
}

/** The bytes of a value; null if a `%` is not followed by two hexadecimal digits. */
export function decodeValue(value: string): Buffer | null {
  const bytes = Buffer.allocUnsafe(value.length)
  let length = 0
  for (let index = 0; index < value.length; index += 1) {
    let byte = value.charCodeAt(index)
    if (byte === PLUS) byte = BLANK
    else if (byte === PERCENT) {
      const high = hexDigit(value.charCodeAt(index + 1))
      const low = hexDigit(value.charCodeAt(index + 2))
      if (high < 0 || low < 0) return null
      byte = high * 16 + low
      index += 2
    }
    bytes[length] = byte
    length += 1
  }
  return bytes.subarray(0, length)
}

const BLANK = 0x20
const PERCENT = 0x25
const AMPERSAND = 0x26
const PLUS = 0x2b
const LESS_THAN = 0x3c
const BRACKET = 0x5b
const BRACE = 0x7b

function endOfPair(text: string, start: number): number {
  const end = text.indexOf('&', start)
  return end < 0 ? text.length : end
}

function isBlank(byte: number | undefined): boolean {
  return byte === BLANK || byte === 0x09 || byte === 0x0a || byte === 0x0d
}

/** -1 if it is not a digit, or beyond the end of the text (NaN). */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const letter = code | BLANK
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
