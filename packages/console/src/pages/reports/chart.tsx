/** A bar chart of one column by another; the table below it has the rows. */
import type { Fields } from '../../api/records.ts'
import { location, setQuery } from '../../frame/routes.ts'
import { Field } from '../../parts/field.tsx'
import { formatNumber, formatShort } from '../../parts/numbers.ts'
import { t } from '../../words/words.ts'
import { figureIn, type RowColumn, textOfCell } from './data.ts'
import { type BarCategory, barsOf, categoriesOf, labelsOf } from './scale.ts'

const SIZE = { width: 640, height: 180 }
/** Room for the texts at the axes. */
const MARGIN = { top: 18, bottom: 32, left: 60 }

interface ChartProps {
  readonly rows: readonly Fields[]
  readonly columns: readonly RowColumn[]
}

export function Chart({ rows, columns }: ChartProps) {
  const { query } = location.value
  const numeric = columns.filter((column) => rows.some((row) => figureIn(row, column) !== null))
  const named = (name: string | undefined) => columns.find((column) => column.name === name)
  const by = named(query['by']) ?? columns.find(({ isGroup }) => isGroup) ?? columns[0]
  const figureColumn =
    named(query['of']) ?? numeric.find((column) => column.isNumber && column !== by)
  if (by === undefined || figureColumn === undefined || rows.length < 2) return null
  const choices = (all: readonly RowColumn[]) =>
    all.map(({ name, label }) => ({ value: name, label }))
  const categories = categoriesOf(
    rows.map((row) => ({ label: textOfCell(row, by), figure: figureIn(row, figureColumn) })),
  )
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
          value={figureColumn.name}
          onValue={(name) => setQuery({ of: name })}
          choices={choices(numeric)}
        />
      </div>
      <Bars categories={categories} by={by} of={figureColumn} />
      <figcaption>
        {t(categories.length < rows.length ? 'reports.chartSum' : 'reports.chart', {
          of: figureColumn.label,
          by: by.label,
        })}
      </figcaption>
    </figure>
  )
}

interface BarsProps {
  readonly categories: readonly BarCategory[]
  readonly by: RowColumn
  readonly of: RowColumn
}

function Bars({ categories, by, of: figureColumn }: BarsProps) {
  const { bars, zero, ticks } = barsOf(
    categories.map(({ figure }) => figure),
    SIZE,
  )
  const texts = categories.map(({ figure }) => (figure === null ? '' : formatNumber(figure)))
  const labels = labelsOf(
    categories.map(({ label }) => label),
    SIZE.width,
  )
  const figures = labelsOf(texts, SIZE.width)
  const [first, last] = [categories[0]?.label ?? '', categories.at(-1)?.label ?? '']
  const names = { of: figureColumn.label, by: by.label, count: categories.length, first, last }
  const height = SIZE.height + MARGIN.top + MARGIN.bottom
  return (
    <svg
      viewBox={`${-MARGIN.left} ${-MARGIN.top} ${SIZE.width + MARGIN.left} ${height}`}
      role="img"
      aria-label={t('reports.chartLabel', names)}
    >
      {ticks.map(({ value, y }) => (
        <g key={value}>
          <line class={value === 0 ? 'zero' : undefined} x1={0} x2={SIZE.width} y1={y} y2={y} />
          <text x={-6} y={y + 4} text-anchor="end">
            {formatShort(value)}
          </text>
        </g>
      ))}
      {bars.map((bar, index) => {
        if (bar === null) return null
        const [middle, isBelow] = [bar.x + bar.width / 2, bar.y >= zero && bar.height > 0]
        return (
          <g key={index}>
            <rect {...bar}>
              <title>{`${categories[index]?.label}: ${texts[index]}`}</title>
            </rect>
            <text x={middle} y={isBelow ? bar.y + bar.height + 12 : bar.y - 4} text-anchor="middle">
              {figures[index]}
            </text>
            <text class="category" x={middle} y={SIZE.height + 26} text-anchor="middle">
              {labels[index]}
            </text>
          </g>
        )
      })}
    </svg>
  )
}
