/**
 * Where the parts of a message are, for `tollgate filetype check`: which byte is wrong. Not used in
 * charging, so it reads the message once more.
 */
import type { ParserSettings } from '../../file-types/file-type.ts'
import type { DecodeError, Place, Places } from './codec.ts'
import { jsonPlaces } from './json/places.ts'
import { keyValuePlaces } from './key-value/parser.ts'
import { xmlPlaces } from './xml/parser.ts'

/**
 * Offset of the first wrong byte; the length of the message if it ends too early, null if no byte
 * is wrong, as for a field that is missing.
 */
export function offsetOf(
  body: Buffer,
  settings: ParserSettings,
  { field }: Pick<DecodeError, 'field'>,
): number | null {
  const text = body.toString('utf8')
  const invalid = invalidAt(body, text)
  if (invalid !== null) return invalid
  const { root, errorAt } = placesOf(text, settings)
  const at = errorAt ?? placeOf(root, field)
  return at === null ? null : Buffer.byteLength(text.slice(0, at))
}

function placesOf(text: string, settings: ParserSettings): Places {
  switch (settings.type) {
    case 'json':
    case 'diameter':
      return jsonPlaces(text)
    case 'key_value':
      return keyValuePlaces(text, settings)
    case 'xml':
      return xmlPlaces(text)
  }
}

const REPLACEMENT = '\ufffd'
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT)

/** Offset of the first byte that is not UTF-8, which decodes to U+FFFD; null if all are. */
function invalidAt(body: Buffer, text: string): number | null {
  let offset = 0
  let from = 0
  for (let at = text.indexOf(REPLACEMENT); at >= 0; at = text.indexOf(REPLACEMENT, from)) {
    offset += Buffer.byteLength(text.slice(from, at))
    const end = offset + REPLACEMENT_BYTES.length
    if (!body.subarray(offset, end).equals(REPLACEMENT_BYTES)) return offset
    offset = end
    from = at + 1
  }
  return null
}

/** Names may contain dots. Null if the message has no such field. */
function placeOf(place: Place, path: string): number | null {
  if (path === '' || path === 'body') return path === '' ? place.at : bodyAt(place)
  const direct = place.members.get(path)
  if (direct !== undefined) return direct.at
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const member = place.members.get(path.slice(0, dot))
    const found = member === undefined ? null : placeOf(member, path.slice(dot + 1))
    if (found !== null) return found
  }
  return null
}

/** An error of the whole message concerns a field only if there is one of that name. */
function bodyAt({ at, members }: Place): number {
  return members.get('body')?.at ?? at
}
