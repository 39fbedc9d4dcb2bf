/** Lengths of the pieces of bars. They are for drawing only. */

/** `debt` is drawn left of zero, the others from zero in their order. */
export type BarKind = 'used' | 'reserved' | 'free' | 'debt'

export interface BarPiece {
  readonly kind: BarKind
  /** Magnitude of the amount, for drawing. */
  readonly size: number
}

/** The scale of all bars of one unit, so that they can be compared. */
export interface BarScale {
  readonly left: number
  readonly right: number
}

/** The scale on which all of these bars fit. */
export function scaleOf(bars: readonly (readonly BarPiece[])[]): BarScale {
  const lengths = (isLeft: boolean) =>
    bars.map((pieces) => {
      const selected = pieces.filter(({ kind }) => (kind === 'debt') === isLeft)
      return selected.reduce((length, { size }) => length + size, 0)
    })
  return { left: Math.max(0, ...lengths(true)), right: Math.max(0, ...lengths(false)) }
}

export interface Drawn {
  readonly kind: BarKind
  readonly x: number
  readonly width: number
}

/** Positions in percent; what is not nothing is at least visible. */
export function drawn(pieces: readonly BarPiece[], { left, right }: BarScale): Drawn[] {
  const whole = left + right
  if (whole === 0) return []
  const zero = (left / whole) * 100
  let at = zero
  return pieces
    .filter(({ size }) => size > 0)
    .map(({ kind, size }) => {
      const width = Math.max((size / whole) * 100, 0.4)
      if (kind === 'debt') return { kind, x: Math.max(0, zero - width), width }
      const piece = { kind, x: Math.min(at, 100 - width), width }
      at += width
      return piece
    })
}
