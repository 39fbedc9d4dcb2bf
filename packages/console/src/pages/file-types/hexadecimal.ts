/** Messages as hexadecimal bytes, for those that are not text. */

export type HexText =
  | { readonly bytes: Uint8Array; readonly wrong: null }
  /** `wrong`: the first character that is no hexadecimal digit; empty if a digit is missing. */
  | { readonly bytes: null; readonly wrong: string }

/** Blanks, line ends, `:`, `-` and `,` may stand between bytes, and `0x` before each. */
export function bytesOfHex(text: string): HexText {
  const digits = text.replaceAll(/0x|[\s:,-]/gi, '')
  const wrong = /[^0-9a-f]/iu.exec(digits)
  if (wrong !== null) return { bytes: null, wrong: wrong[0] }
  if (digits.length % 2 === 1) return { bytes: null, wrong: '' }
  const pairs = digits.match(/../g) ?? []
  return { bytes: Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)), wrong: null }
}

export function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

export function hexOfBase64(text: string): string {
  const bytes = Array.from(atob(text), (byte) => byte.charCodeAt(0).toString(16).padStart(2, '0'))
  return bytes.join(' ')
}

export const ROW_BYTES = 8
/** Rows that are shown before and after that of the wrong byte. */
const ROWS_AROUND = 16

export interface HexRow {
  /** The offset of its first byte. */
  readonly offset: number
  readonly cells: readonly { readonly hex: string; readonly isMarked: boolean }[]
  /** Printable ASCII, otherwise dots. */
  readonly text: string
}

/** The rows around a byte; at the end of the message the last cell of the last row is empty. */
export function hexRows(bytes: Uint8Array, marked: number): readonly HexRow[] {
  const at = Math.min(marked, bytes.length)
  const row = Math.floor(at / ROW_BYTES)
  const first = Math.max(0, row - ROWS_AROUND)
  const last = Math.min(Math.floor((bytes.length - 1) / ROW_BYTES), row + ROWS_AROUND)
  return Array.from({ length: Math.max(last, row) - first + 1 }, (_, index) => {
    const offset = (first + index) * ROW_BYTES
    const part = [...bytes.slice(offset, offset + ROW_BYTES)]
    const cells = part.map((byte, place) => {
      return { hex: byte.toString(16).padStart(2, '0'), isMarked: offset + place === at }
    })
    const end = at === bytes.length && Math.floor(at / ROW_BYTES) * ROW_BYTES === offset
    return {
      offset,
      cells: end ? [...cells, { hex: '', isMarked: true }] : cells,
      text: part
        .map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.'))
        .join(''),
    }
  })
}
