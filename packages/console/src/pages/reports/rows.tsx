/** Rows of a report as a table. */
import type { Fields } from '../../api/records.ts'
import { formatNumber } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { t } from '../../words/words.ts'
import { columnsOf, figureIn, type RowColumn, textOfCell } from './data.ts'

interface RowTableProps {
  readonly name: string
  readonly report: Fields
  readonly rows: readonly Fields[]
}

export function RowTable({ name, report, rows }: RowTableProps) {
  const columns = columnsOf(report, rows).map(
    (column): Column<Fields> => ({
      title: column.label,
      isNumber: column.isNumber,
      cell: (row) => cellText(row, column),
    }),
  )
  return <Table caption={t('reports.rows', { name })} columns={columns} rows={rows} />
}

function cellText(row: Fields, column: RowColumn): string {
  const figure = column.isNumber ? figureIn(row, column) : null
  return figure === null ? textOfCell(row, column) : formatNumber(figure)
}
