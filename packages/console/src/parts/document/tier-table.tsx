/** Tiers of a price as a table: what is shown, what is edited, and the text of their plot. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { errorAt, type Issue } from '../../api/errors.ts'
import { t } from '../../words/words.ts'
import { leafText } from '../differences.ts'
import { followed, withTier } from './tiers.ts'
import type { Document } from './values.ts'

const COLUMNS = ['from', 'to', 'interval', 'price'] as const
type Column = (typeof COLUMNS)[number]

interface TierTableProps {
  readonly caption: string
  /** Path of the list, for messages. */
  readonly path: string
  readonly tiers: readonly Document[]
  /** Null if they are only shown. */
  readonly onChange: ((tiers: readonly Document[]) => void) | null
  readonly errors: readonly Issue[]
}

export function TierTable({ caption, path, tiers, onChange, errors }: TierTableProps) {
  // Prices of cycles have no interval.
  const columns = COLUMNS.filter((name) => {
    return name !== 'interval' || tiers.some((tier) => tier[name] !== undefined)
  })
  const set = (index: number, column: Column, text: string) => {
    const changed = tiers.with(index, { ...tiers[index], [column]: text })
    onChange?.(column === 'to' ? followed(tiers, changed, index) : changed)
  }
  const { body, announce } = useFocusOfAdded(tiers)
  const add = () => {
    announce()
    onChange?.(withTier(tiers))
  }
  return (
    <div>
      <table class="tier-table">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
            {onChange !== null && <td />}
          </tr>
        </thead>
        <tbody ref={body}>
          {tiers.map((tier, index) => (
            <tr key={index}>
              {columns.map((column) => (
                <td key={column} class="number">
                  <Cell
                    label={t('document.tierCell', { column, tier: index + 1 })}
                    text={tier[column] === undefined ? '' : leafText(tier[column])}
                    error={errorAt(errors, `${path}.${index}.${column}`)}
                    onText={onChange && ((text) => set(index, column, text))}
                  />
                </td>
              ))}
              {onChange !== null && (
                <td>
                  <button
                    type="button"
                    class="plain"
                    aria-label={t('document.removeTier', { tier: index + 1 })}
                    onClick={() => onChange(tiers.toSpliced(index, 1))}
                  >
                    ✕
                  </button>
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {onChange !== null && (
        <button type="button" onClick={add}>
          {t('document.addTier')}
        </button>
      )}
    </div>
  )
}

interface CellProps {
  readonly label: string
  readonly text: string
  readonly error: string | null
  readonly onText: ((text: string) => void) | null
}

function Cell({ label, text, error, onText }: CellProps) {
  if (onText === null) return <>{text}</>
  const id = `error ${label}`.replaceAll(' ', '-')
  return (
    <>
      <input
        aria-label={label}
        value={text}
        inputMode="decimal"
        autocomplete="off"
        maxLength={40}
        aria-invalid={error !== null}
        aria-describedby={error === null ? undefined : id}
        onInput={(event) => onText(event.currentTarget.value.trim())}
      />
      {error !== null && (
        <small id={id} class="error">
          {error}
        </small>
      )}
    </>
  )
}

/** Moves the focus to the last row of `body` once the announced tier is there. */
function useFocusOfAdded(tiers: readonly Document[]) {
  const body = useRef<HTMLTableSectionElement>(null)
  const isAdded = useRef(false)
  useLayoutEffect(() => {
    if (!isAdded.current) return
    isAdded.current = false
    body.current?.querySelector<HTMLInputElement>('tr:last-child input')?.focus()
  }, [tiers])
  const announce = () => {
    isAdded.current = true
  }
  return { body, announce }
}
