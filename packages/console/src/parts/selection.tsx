/** Rows of a list that are selected by their boxes. */
import { useEffect, useState } from 'preact/hooks'
import type { WordKey } from '../words/en.ts'
import { textColumn } from './columns.tsx'
import type { Column } from './table.tsx'

export interface Selection<Row> {
  has(row: Row): boolean
  toggle(row: Row): void
  /** Selects all of these rows, or none if all are. */
  toggleAll(rows: readonly Row[]): void
  clear(): void
  /** The boxes; `labelOf` says which row one selects. */
  column(title: WordKey, labelOf: (row: Row) => string): Column<Row>
}

/** Another list, as its address says, begins without a selected row. */
export function useSelection<Row>(address: string, keyOf: (row: Row) => string): Selection<Row> {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const clear = () => setKeys(new Set())
  useEffect(clear, [address])
  const has = (row: Row) => keys.has(keyOf(row))
  const toggle = (row: Row) => {
    const others = [...keys].filter((key) => key !== keyOf(row))
    setKeys(new Set(has(row) ? others : [...others, keyOf(row)]))
  }
  return {
    has,
    toggle,
    toggleAll: (rows) => setKeys(new Set(rows.every(has) ? [] : rows.map(keyOf))),
    clear,
    column: (title, labelOf) =>
      textColumn(title, (row) => (
        <input
          type="checkbox"
          checked={has(row)}
          aria-label={labelOf(row)}
          onChange={() => toggle(row)}
        />
      )),
  }
}
