/** Distinguished names of directory entries (RFC 4514), and values in search filters (RFC 4515). */

/** Escapes a value for use in a DN. */
export function escapedInName(value: string): string {
  const escaped = value.replace(/[\\,+"<>;=#]/g, (character) => `\\${character}`)
  return escaped.replace(/^ | $/g, '\\ ').replaceAll('\0', '\\00')
}

/** Escapes a value for use in a filter. */
export function escapedInFilter(value: string): string {
  return value.replace(
    /[\\*()\0]/g,
    (character) => `\\${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

/**
 * Normal form of a DN: ignores case, blanks, escapes and the order inside an RDN. Other text is
 * only converted to lower case.
 */
export function comparableName(text: string): string {
  const parts = split(text, /[,;]/).map((part) => split(part, /\+/).map(pairOf))
  if (parts.some((pairs) => pairs.includes(null))) return text.trim().toLowerCase()
  return JSON.stringify(parts.map((pairs) => pairs.map((pair) => JSON.stringify(pair)).sort()))
}

function pairOf(text: string): [type: string, value: string] | null {
  const equals = text.indexOf('=')
  const type = text.slice(0, equals).trim().toLowerCase()
  if (equals < 1 || !/^[a-z][a-z0-9-]*$|^\d+(\.\d+)+$/.test(type)) return null
  // An escaped blank at the end is part of the value.
  const value = text.slice(equals + 1).replace(/^\s+|(?<!\\)\s+$/g, '')
  return [type, unescaped(value).toLowerCase().replace(/\s+/g, ' ')]
}

/** Hexadecimal pairs are UTF-8 bytes; several may form one character. */
function unescaped(value: string): string {
  return value.replace(/(?:\\[0-9a-f]{2})+|\\(.)/gi, (pairs, character?: string) =>
    character === undefined
      ? Buffer.from(pairs.replaceAll('\\', ''), 'hex').toString('utf8')
      : character,
  )
}

/** Splits at unescaped separators. */
function split(text: string, separator: RegExp): string[] {
  const parts: string[] = []
  let start = 0
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1
    else if (separator.test(text[index] ?? '')) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)]
}
