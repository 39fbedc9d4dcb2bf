/** Revisions of an entity from left to right; the one of the chosen instant is marked. */
import './timeline.css'

export interface TimelineEntry {
  readonly key: string
  /** `1 Jan 2026 – 3 Mar 2026`. */
  readonly period: string
  /** Its differences: the plan, and the fields that changed. */
  readonly text: string
  readonly isCurrent: boolean
  /** Whether there is a gap before it. */
  readonly isAfterGap: boolean
}

export interface TimelineProps {
  readonly label: string
  readonly entries: readonly TimelineEntry[]
  readonly onChoose: (key: string) => void
}

export function Timeline({ label, entries, onChoose }: TimelineProps) {
  return (
    <ol class="timeline" aria-label={label}>
      {entries.map(({ key, period, text, isCurrent, isAfterGap }) => (
        <li key={key} class={isAfterGap ? 'gap' : undefined}>
          <button
            type="button"
            aria-current={isCurrent ? 'true' : undefined}
            onClick={() => onChoose(key)}
          >
            <span>{period}</span>
            <span>{text}</span>
          </button>
        </li>
      ))}
    </ol>
  )
}
