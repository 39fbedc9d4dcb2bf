/** A live chart with its last values as text, and the same values as a table. */
import './series.css'
import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { language, t } from '../words/words.ts'
import type { Plot, PlotLine } from './plot.ts'
import { type Column, Table } from './table.tsx'
import { formatClock, timeHeader, zoneName } from './time.tsx'

export interface SeriesLine extends PlotLine {
  readonly values: readonly (number | null)[]
}

export interface SeriesView {
  /** Time of the last value, ms since 1970; null without any. */
  readonly lastMs: number | null
  /** One value a second, all of the same length. */
  readonly lines: readonly SeriesLine[]
}

interface SeriesProps {
  readonly title: string
  readonly view: ReadonlySignal<SeriesView>
  readonly format: (value: number) => string
  readonly formatAxis: (value: number) => string
}

const ROWS_MAX = 60

export function Series({ title, view, format, formatAxis }: SeriesProps) {
  const isTable = useSignal(false)
  const id = useId()
  const { lines } = view.value
  const toggle = () => {
    isTable.value = !isTable.peek()
  }
  return (
    <section class="series" aria-labelledby={id}>
      <header>
        <h3 id={id}>{title}</h3>
        <button type="button" class="plain" aria-pressed={isTable.value} onClick={toggle}>
          {t('series.table')}
        </button>
      </header>
      <ul class="legend">
        {lines.map((line) => (
          <li key={line.label}>
            <LineMark line={line} /> {line.label} <strong>{lastOf(line, format)}</strong>
          </li>
        ))}
      </ul>
      {isTable.value ? (
        <SeriesTable title={title} view={view.value} format={format} />
      ) : (
        <Canvas title={title} view={view} format={format} formatAxis={formatAxis} />
      )}
    </section>
  )
}

function LineMark({ line: { color, dash } }: { readonly line: PlotLine }) {
  return (
    <svg width="22" height="8" aria-hidden="true">
      <line
        x1="0"
        x2="22"
        y1="4"
        y2="4"
        stroke={`var(--${color})`}
        stroke-width="2"
        stroke-dasharray={dash.join(' ')}
      />
    </svg>
  )
}

function lastOf({ values }: SeriesLine, format: (value: number) => string): string {
  const last = values.at(-1)
  return last === null || last === undefined ? '–' : format(last)
}

function Canvas({ title, view, format, formatAxis }: SeriesProps) {
  const ref = useRef<HTMLDivElement>(null)
  // Names, colours and language are drawn: another plot shows them.
  const names = view.value.lines.map(({ label }) => label).join()
  const drawn = `${names} ${language.value} ${zoneName()}`
  useEffect(() => {
    const target = ref.current
    if (target === null) return
    return drawInto(target, view, formatAxis)
  }, [drawn])
  return <div ref={ref} class="canvas" role="img" aria-label={summary(title, view.value, format)} />
}

/** Draws until the returned function is called. */
function drawInto(
  target: HTMLElement,
  view: ReadonlySignal<SeriesView>,
  formatValue: (value: number) => string,
): () => void {
  const isDark = matchMedia('(prefers-color-scheme: dark)')
  let plot: Plot | null = null
  let isEnded = false
  let createPlot: typeof import('./plot.ts').createPlot | null = null
  const show = () => {
    const { lastMs, lines } = view.peek()
    const length = lines[0]?.values.length ?? 0
    const last = (lastMs ?? 0) / 1000
    const xs = Array.from({ length }, (_, index) => last - length + 1 + index)
    plot?.show(
      xs,
      lines.map(({ values }) => values),
    )
  }
  const create = () => {
    plot?.destroy()
    const { lines } = view.peek()
    plot =
      createPlot?.(target, { lines, formatValue, formatTime: (ms) => formatClock(ms, false) }) ??
      null
    show()
  }
  const unsubscribe = view.subscribe(show)
  const resize = new ResizeObserver(() => plot?.resize())
  void import('./plot.ts').then((loaded) => {
    if (isEnded) return
    createPlot = loaded.createPlot
    create()
    resize.observe(target)
    isDark.addEventListener('change', create)
  })
  return () => {
    isEnded = true
    unsubscribe()
    resize.disconnect()
    isDark.removeEventListener('change', create)
    plot?.destroy()
  }
}

/** Last, lowest and highest value of each line, for readers who do not see the chart. */
function summary(title: string, { lines }: SeriesView, format: (value: number) => string): string {
  const parts = lines.map((line) => {
    const known = line.values.filter((value) => value !== null)
    const min = format(known.length === 0 ? 0 : Math.min(...known))
    const max = format(known.length === 0 ? 0 : Math.max(...known))
    return t('series.summary', { name: line.label, last: lastOf(line, format), min, max })
  })
  return `${title}: ${parts.join('; ')}`
}

interface SeriesTableProps {
  readonly title: string
  readonly view: SeriesView
  readonly format: (value: number) => string
}

function SeriesTable({ title, view, format }: SeriesTableProps) {
  const { lastMs, lines } = view
  const length = lines[0]?.values.length ?? 0
  const ages = Array.from({ length: Math.min(ROWS_MAX, length) }, (_, age) => age)
  const columns: Column<number>[] = [
    {
      title: timeHeader(t('series.time')),
      cell: (age) => formatClock((lastMs ?? 0) - age * 1000),
    },
    ...lines.map((line) => ({
      title: line.label,
      isNumber: true,
      cell: (age: number) => {
        const value = line.values[length - 1 - age]
        return value === null || value === undefined ? '–' : format(value)
      },
    })),
  ]
  const caption = t('series.caption', { title })
  return <Table caption={caption} columns={columns} rows={ages} />
}
