/** How long the pieces of a band are drawn, and which are lit together. */
import type { Piece } from './explain.ts'

/** Percent: each piece is long enough to be pointed at. */
const LENGTH_MIN = 6

/** By their sizes, in percent of the band. */
export function lengthsOf(pieces: readonly Piece[]): readonly number[] {
  const whole = pieces.reduce((length, { size }) => length + size, 0)
  return pieces.map(({ size }) => Math.max(whole === 0 ? 0 : (size / whole) * 100, LENGTH_MIN))
}

/** Whether a piece belongs to the active one. */
export function isLit({ key, related }: Piece, active: Piece | null): boolean {
  return active !== null && (key === active.key || related.includes(active.key))
}
