/**
 * Three bands of one usage: units, money, payers. The pieces that belong together are lit together,
 * by the pointer or by the arrow keys; the table of steps beside it has the same as text.
 */
import './steps-chart.css'
import { useState } from 'preact/hooks'
import { WHY } from '../words/en/why.ts'
import { addWords, t } from '../words/words.ts'
import type { Explanation, Piece } from './explain/explain.ts'
import { isLit, lengthsOf } from './explain/placing.ts'

addWords(WHY)

export function StepsChart({ explanation }: { readonly explanation: Explanation }) {
  const { units, money, payers } = explanation
  const all = [...units, ...money, ...payers]
  const [index, setIndex] = useState<number | null>(null)
  const active = index === null ? null : (all[index] ?? null)
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
    if (step === undefined || all.length === 0) return
    event.preventDefault()
    setIndex((from) => ((from ?? (step > 0 ? -1 : 0)) + step + all.length) % all.length)
  }
  const band = (title: string, pieces: readonly Piece[]) =>
    pieces.length > 0 && (
      <Band
        title={title}
        pieces={pieces}
        active={active}
        onPoint={(piece) => setIndex(piece === null ? null : all.indexOf(piece))}
      />
    )
  return (
    // biome-ignore lint/a11y/useSemanticElements: it has no fields.
    <div
      class="steps-chart"
      role="group"
      aria-label={t('why.chart')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move between its pieces.
      tabIndex={0}
      onKeyDown={move}
      onBlur={() => setIndex(null)}
    >
      {band(t('why.bandUnits'), units)}
      {band(t('why.bandMoney'), money)}
      {band(t('why.bandPayers'), payers)}
      <p class="steps-said" aria-live="polite">
        {active === null ? t('why.point') : active.sentence}
      </p>
    </div>
  )
}

interface BandProps {
  readonly title: string
  readonly pieces: readonly Piece[]
  readonly active: Piece | null
  readonly onPoint: (piece: Piece | null) => void
}

function Band({ title, pieces, active, onPoint }: BandProps) {
  const lengths = lengthsOf(pieces)
  return (
    <div>
      <h3>{title}</h3>
      <ol class="steps-band">
        {pieces.map((piece, index) => (
          <li
            key={piece.key}
            class={isLit(piece, active) ? 'lit' : undefined}
            data-mark={piece.mark}
            style={{ flexGrow: lengths[index] ?? 1 }}
            onPointerEnter={() => onPoint(piece)}
            onPointerLeave={() => onPoint(null)}
          >
            <span class="number">{piece.amount}</span> <span dir="auto">{piece.name}</span>
          </li>
        ))}
      </ol>
    </div>
  )
}
