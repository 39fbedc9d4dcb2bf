/** A balance as a bar. Sizes are for drawing only: the numbers stand beside the bar, as text. */
import './bar.css'
import { useId } from 'preact/hooks'

/** `debt` is drawn left of zero, the others from zero in their order. */
export type BarKind = 'used' | 'reserved' | 'free' | 'debt'

export interface BarPiece {
  readonly kind: BarKind
  /** Magnitude of the amount, for drawing. */
  readonly size: number
}

/** What all bars of one unit share, so that they can be compared. */
export interface BarScale {
  readonly left: number
  readonly right: number
}

export interface BarProps {
  readonly pieces: readonly BarPiece[]
  readonly scale: BarScale
  /** The same in words, with the amounts. */
  readonly label: string
  /** Whether it ends soon. */
  readonly isExpiring?: boolean
}

/** The scale on which all of these bars fit. */
export function scaleOf(bars: readonly (readonly BarPiece[])[]): BarScale {
  const lengths = (isLeft: boolean) =>
    bars.map((pieces) => {
      const wanted = pieces.filter(({ kind }) => (kind === 'debt') === isLeft)
      return wanted.reduce((length, { size }) => length + size, 0)
    })
  return { left: Math.max(0, ...lengths(true)), right: Math.max(0, ...lengths(false)) }
}

interface Drawn {
  readonly kind: BarKind
  readonly x: number
  readonly width: number
}

/** Positions in percent; what is not nothing is at least visible. */
function drawn(pieces: readonly BarPiece[], { left, right }: BarScale): Drawn[] {
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

export function Bar({ pieces, scale, label, isExpiring = false }: BarProps) {
  const hatch = useId()
  const shown = drawn(pieces, scale)
  const last = shown.filter(({ kind }) => kind !== 'debt').at(-1)
  const whole = scale.left + scale.right
  return (
    <svg class="bar" role="img" aria-label={label}>
      <defs>
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse">
          <rect class="bar-hatch-ground" width="6" height="6" />
          <path class="bar-hatch" d="M-1 7 7 -1M-4 4 4 -4M2 10 10 2" />
        </pattern>
      </defs>
      {shown.map(({ kind, x, width }) => (
        <rect
          key={kind}
          class={`bar-${kind}`}
          x={`${x}%`}
          y="1"
          width={`${width}%`}
          height="14"
          {...(kind === 'reserved' && { fill: `url(#${hatch})` })}
        />
      ))}
      {scale.left > 0 && whole > 0 && (
        <line
          class="bar-zero"
          x1={`${(scale.left / whole) * 100}%`}
          x2={`${(scale.left / whole) * 100}%`}
          y1="0"
          y2="16"
        />
      )}
      {isExpiring && last !== undefined && (
        <line
          class="bar-expiring"
          x1={`${last.x + last.width}%`}
          x2={`${last.x + last.width}%`}
          y1="0"
          y2="16"
        />
      )}
    </svg>
  )
}
