/** A bar chart of one column by another; the table beside it has the same figures. */
import type { Fields } from '../../api/records.ts'
import { location, setQuery } from '../../frame/routes.ts'
import { Field } from '../../parts/field.tsx'
import { formatNumber } from '../../parts/numbers.ts'
import { t } from '../../words/words.ts'
import { figureIn, type RowColumn, textOfCell } from './data.ts'
import { scaled } from './scale.ts'

const SIZE = { width: 640, height: 180 }
/** Room for the texts at the axes. */
const MARGIN = { top: 18, bottom: 20 }

interface ChartProps {
  readonly rows: readonly Fields[]
  readonly columns: readonly RowColumn[]
}

export function Chart({ rows, columns }: ChartProps) {
  const { query } = location.value
  const numeric = columns.filter((column) => rows.some((row) => figureIn(row, column) !== null))
  const named = (name: string | undefined) => columns.find((column) => column.name === name)
  const by = named(query['by']) ?? columns.find(({ isGroup }) => isGroup) ?? columns[0]
  const of = named(query['of']) ?? numeric.find((column) => column.isNumber && column !== by)
  if (by === undefined || of === undefined || rows.length < 2) return null
  const choices = (all: readonly RowColumn[]) =>
    all.map(({ name, label }) => ({ value: name, label }))
  return (
    <figure class="report-chart">
      <div class="filter">
        <Field
          label={t('reports.by')}
          value={by.name}
          onValue={(name) => setQuery({ by: name })}
          choices={choices(columns)}
        />
        <Field
          label={t('reports.of')}
          value={of.name}
          onValue={(name) => setQuery({ of: name })}
          choices={choices(numeric)}
        />
      </div>
      <Bars rows={rows} by={by} of={of} />
      <figcaption>{t('reports.chart', { of: of.label, by: by.label })}</figcaption>
    </figure>
  )
}

interface BarsProps {
  readonly rows: readonly Fields[]
  readonly by: RowColumn
  readonly of: RowColumn
}

function Bars({ rows, by, of }: BarsProps) {
  const figures = rows.map((row) => figureIn(row, of))
  const { bars, zero, highest } = scaled(figures, SIZE)
  const labelAt = (index: number) => textOfCell(rows[index] ?? {}, by)
  const figureAt = (index: number) => formatNumber(figures[index] ?? 0)
  const [first, last] = [labelAt(0), labelAt(rows.length - 1)]
  const names = { of: of.label, by: by.label, count: rows.length, first, last }
  const height = SIZE.height + MARGIN.top + MARGIN.bottom
  return (
    <svg
      viewBox={`0 ${-MARGIN.top} ${SIZE.width} ${height}`}
      role="img"
      aria-label={t('reports.chartLabel', names)}
    >
      {bars.map((bar, index) => {
        return bar === null ? null : (
          <rect key={index} {...bar}>
            <title>{`${labelAt(index)}: ${figureAt(index)}`}</title>
          </rect>
        )
      })}
      <line x1={0} x2={SIZE.width} y1={zero} y2={zero} />
      {highest !== null && (
        <text x={0} y={-6}>
          {figureAt(highest)}
        </text>
      )}
      <text x={0} y={SIZE.height + 16}>
        {first}
      </text>
      <text x={SIZE.width} y={SIZE.height + 16} text-anchor="end">
        {last}
      </text>
    </svg>
  )
}
