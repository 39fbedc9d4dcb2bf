/** Where a byte of a message is. The API counts bytes of UTF-8, readers count lines and columns. */

export interface MarkedText {
  readonly before: string
  /** The character of the byte; empty at the end of the text. */
  readonly marked: string
  readonly after: string
  /** From 1; columns are characters. */
  readonly line: number
  readonly column: number
}

/** `offset`: in bytes; beyond the text is its end. */
export function markedText(text: string, offset: number): MarkedText {
  const at = indexOf(text, offset)
  const marked = String.fromCodePoint(...[text.codePointAt(at)].flatMap((code) => code ?? []))
  const before = text.slice(0, at)
  const lines = before.split('\n')
  return {
    before,
    marked,
    after: text.slice(at + marked.length),
    line: lines.length,
    column: [...(lines.at(-1) ?? '')].length + 1,
  }
}

/** Index of the character that has the byte; the length of the text if none has. */
function indexOf(text: string, offset: number): number {
  let bytes = 0
  let at = 0
  for (const character of text) {
    bytes += bytesOf(character)
    if (bytes > offset) return at
    at += character.length
  }
  return text.length
}

/** A half of a pair is sent as U+FFFD, which also has 3 bytes. */
function bytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x80) return 1
  if (code < 0x800) return 2
  return code < 0x10000 ? 3 : 4
}

const SIGNS: Readonly<Record<string, string>> = { '\n': '↵', '\r': '␍', '\t': '⇥', ' ': '␣' }

/** A sign for a character that cannot be seen; the character itself if it can. */
export function visibleCharacter(character: string): string {
  const sign = SIGNS[character]
  if (sign !== undefined) return sign
  if (!/^[\p{C}\p{Z}]$/u.test(character)) return character
  const code = character.codePointAt(0) ?? 0
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
