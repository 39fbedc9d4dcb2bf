/** Where the pieces of a band are drawn, and which are lit together. */
import type { Piece } from './explain.ts'

export interface Placed {
  readonly piece: Piece
  /** Percent. */
  readonly x: number
  readonly width: number
}

const WIDTH_MIN = 6

/** By their sizes, but none too small to be pointed at. */
export function placed(pieces: readonly Piece[]): Placed[] {
  const whole = pieces.reduce((length, { size }) => length + size, 0)
  const wide = pieces.map(({ size }) => Math.max(whole === 0 ? 0 : size / whole, WIDTH_MIN / 100))
  const sum = wide.reduce((length, width) => length + width, 0)
  let x = 0
  return pieces.map((piece, index) => {
    const width = ((wide[index] ?? 0) / sum) * 100
    const place = { piece, x, width }
    x += width
    return place
  })
}

/** Whether a piece belongs to the active one. */
export function isLit({ key, related }: Piece, active: Piece | null): boolean {
  return active !== null && (key === active.key || related.includes(active.key))
}
