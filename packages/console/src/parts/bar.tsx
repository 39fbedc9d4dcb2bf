/** A balance as a bar. Sizes are for drawing only: the numbers stand beside the bar, as text. */
import './bar.css'
import { useId } from 'preact/hooks'
import { type BarPiece, type BarScale, drawn } from './bar-scale.ts'

export interface BarProps {
  readonly pieces: readonly BarPiece[]
  readonly scale: BarScale
  /** The same in words, with the amounts. */
  readonly label: string
  /** Whether it ends soon. */
  readonly isExpiring?: boolean
}

export function Bar({ pieces, scale, label, isExpiring = false }: BarProps) {
  const hatch = useId()
  const visible = drawn(pieces, scale)
  const last = visible.filter(({ kind }) => kind !== 'debt').at(-1)
  const whole = scale.left + scale.right
  return (
    <svg class="bar" role="img" aria-label={label}>
      <defs>
        <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse">
          <rect class="bar-hatch-ground" width="6" height="6" />
          <path class="bar-hatch" d="M-1 7 7 -1M-4 4 4 -4M2 10 10 2" />
        </pattern>
      </defs>
      {visible.map(({ kind, x, width }) => (
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
