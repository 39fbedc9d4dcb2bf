/** The one table of the console: rows by key, keys j and k, Enter opens a row. */
import './table.css'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { useShortcuts } from '../frame/keys.ts'
import { linkHere, location } from '../frame/routes.ts'
import { t } from '../words/words.ts'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChildren
  /** Aligned at its end, with digits of one width. */
  readonly isNumber?: boolean
}

export interface TableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** By default rows are known by their place. */
  readonly keyOf?: (row: Row) => string
  /** Opens a row: by Enter, or by a click beside its links. */
  readonly onOpen?: (row: Row) => void
  /** A row that is marked, such as the one whose details are shown. */
  readonly isCurrent?: (row: Row) => boolean
  /** Shows the caption above the table; otherwise only screen readers do. */
  readonly hasCaption?: boolean
}

export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, keyOf, onOpen, isCurrent, hasCaption = false } = props
  const ref = useRef<HTMLDivElement>(null)
  const move = (event: KeyboardEvent) => {
    const isInput =
      event.target instanceof Element && event.target.closest('input, select, textarea')
    const step = STEPS[event.key]
    if (step === undefined || isInput || event.ctrlKey || event.metaKey || event.altKey) return
    const all = [...(ref.current?.querySelectorAll<HTMLElement>('tbody tr') ?? [])]
    const at = all.findIndex((row) => row.contains(document.activeElement))
    const next = all[Math.max(0, Math.min(all.length - 1, at + step))]
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    next.focus()
  }
  const openOf = (row: Row) => {
    if (onOpen === undefined) return {}
    const open = (event: Event) => {
      const isOther = event.target instanceof Element && event.target.closest('a, button, input')
      if (!isOther) onOpen(row)
    }
    const byKey = (event: KeyboardEvent) => {
      if (event.key === 'Enter' && event.target === event.currentTarget) onOpen(row)
    }
    return { onClick: open, onKeyDown: byKey, class: 'opens' }
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: it has no fields.
    <div
      class="table"
      role="group"
      ref={ref}
      onKeyDown={move}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard.
      tabIndex={0}
      aria-label={caption}
    >
      <table>
        <caption class={hasCaption ? undefined : 'hidden'}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr
              key={keyOf?.(row) ?? index}
              tabIndex={-1}
              aria-current={isCurrent?.(row) ? 'true' : undefined}
              {...openOf(row)}
            >
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} class={isNumber ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const STEPS: Readonly<Record<string, number>> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }

/** The page of a list that is read by key: the key after which it begins; null at the begin. */
export function pageKey(): string | null {
  return location.value.query['after'] ?? null
}

/** Keys of a page with one list that is read by key. */
export function usePageKeys(): void {
  useShortcuts([
    {
      keys: 'n',
      title: 'table.next',
      run: () => document.querySelector<HTMLAnchorElement>('a[rel="next"]')?.click(),
    },
    { keys: 'p', title: 'table.previous', run: () => window.history.back() },
  ])
}

/** Links to the begin and to the next page; the way back is that of the browser. */
export function Pager({ next }: { readonly next: string | null }) {
  const after = pageKey()
  if (after === null && next === null) return null
  return (
    <nav class="buttons" aria-label={t('table.pages')}>
      {after !== null && <a href={linkHere({ after: null })}>{t('table.first')}</a>}
      {next !== null && (
        <a rel="next" href={linkHere({ after: next })}>
          {t('table.next')}
        </a>
      )}
    </nav>
  )
}
