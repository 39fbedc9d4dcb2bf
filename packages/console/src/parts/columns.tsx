/** Columns of tables, by the kind of what they show. */
import type { Figure } from '../api/figures.ts'
import { link } from '../frame/routes.ts'
import type { WordKey } from '../words/en.ts'
import { t } from '../words/words.ts'
import { moneyHeader } from './numbers.ts'
import type { Column } from './table.tsx'
import { Time, type TimePrecision, timeHeader } from './time.tsx'

export function textColumn<Row>(title: WordKey, cell: Column<Row>['cell']): Column<Row> {
  return { title: t(title), cell }
}

export function numberColumn<Row>(title: WordKey, cell: Column<Row>['cell']): Column<Row> {
  return { title: t(title), cell, isNumber: true }
}

/** Its cells are formatted amounts; the currency is in its head. */
export function moneyColumn<Row>(title: WordKey, cell: Column<Row>['cell']): Column<Row> {
  return { title: moneyHeader(t(title)), cell, isNumber: true }
}

/** Times that are null are shown as a dash, empty ones are left out. */
export function timeColumn<Row>(
  title: WordKey,
  timeOf: (row: Row) => string | number | null,
  precision?: TimePrecision,
): Column<Row> {
  const cell = (row: Row) => {
    const value = timeOf(row)
    if (value === null || value === '') return value ?? '–'
    return <Time value={value} {...(precision && { precision })} />
  }
  return { title: timeHeader(t(title)), cell }
}

/** Links to the page of an account (`aid`) or a subscriber (`sid`). */
export function customerColumn<Row>(
  title: WordKey,
  of: 'aid' | 'sid',
  numberOf: (row: Row) => Figure | string,
): Column<Row> {
  const cell = (row: Row) => {
    const id = String(numberOf(row))
    return <a href={link(`customer/${of}/${id}`)}>{id}</a>
  }
  return { title: t(title), cell }
}
