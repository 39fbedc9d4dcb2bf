/** The charts of the overview. */
import { useComputed } from '@preact/signals'
import { formatDuration, formatShort } from '../../parts/numbers.ts'
import { Series, type SeriesLine } from '../../parts/series.tsx'
import type { WordKey } from '../../words/en.ts'
import { t } from '../../words/words.ts'
import type { OverviewData } from './data.ts'
import type { SeriesValue, SeriesWindow } from './series-store.ts'

interface ChartLine {
  readonly label: WordKey
  readonly name: string
}

interface Chart {
  readonly title: WordKey
  readonly lines: readonly ChartLine[]
  readonly format: (value: number) => string
  readonly formatAxis?: (value: number) => string
}

/** Lines differ by colour and dashes. */
const STYLES = [
  { color: 'good', dash: [] },
  { color: 'warn', dash: [6, 3] },
  { color: 'bad', dash: [2, 2] },
  { color: 'used', dash: [8, 2, 2, 2] },
  { color: 'accent', dash: [12, 4] },
  { color: 'muted', dash: [1, 3] },
] as const

const perSecond = (value: number) => t('overview.perSecond', { value: formatShort(value) })
/** Percentiles are the upper bounds of buckets. */
const atMost = (value: number) => `≤ ${formatDuration(value, 'millisecond')}`
const percent = (value: number) => `${formatShort(Math.round(value * 100))} %`

const CHARTS: readonly Chart[] = [
  {
    title: 'overview.requests',
    lines: [
      { label: 'overview.granted', name: 'requests.granted' },
      { label: 'overview.denied', name: 'requests.denied' },
      { label: 'overview.failed', name: 'requests.failed' },
      { label: 'overview.refused', name: 'requests.refused' },
    ],
    format: perSecond,
  },
  {
    title: 'overview.latency',
    lines: [
      { label: 'overview.p50', name: 'latency.p50_ms' },
      { label: 'overview.p99', name: 'latency.p99_ms' },
    ],
    format: atMost,
    formatAxis: (value) => formatDuration(value, 'millisecond'),
  },
  {
    title: 'overview.sessions',
    lines: [{ label: 'overview.open', name: 'sessions.open' }],
    format: formatShort,
  },
  {
    title: 'overview.reservations',
    lines: [{ label: 'overview.granted', name: 'reservations' }],
    format: perSecond,
  },
  {
    title: 'overview.backlog',
    lines: [{ label: 'overview.waiting', name: 'recorder.backlog' }],
    format: formatShort,
  },
  {
    title: 'overview.load',
    lines: [{ label: 'overview.busy', name: 'loops.busy' }],
    format: percent,
    formatAxis: percent,
  },
]

export function Charts({ data }: { readonly data: OverviewData }) {
  return (
    <div class="charts">
      {CHARTS.map((chart) => (
        <LineChart key={chart.title} chart={chart} data={data} />
      ))}
      <FileTypeChart data={data} />
    </div>
  )
}

function LineChart({ chart, data }: { readonly chart: Chart; readonly data: OverviewData }) {
  const { title, lines, format, formatAxis = formatShort } = chart
  const view = useComputed(() => {
    const { lastMs, values } = data.series.value
    const drawn = lines.map(({ label, name }, index): SeriesLine => {
      return { ...styleOf(index), label: t(label), values: values.get(name) ?? [] }
    })
    return { lastMs, lines: drawn }
  })
  return <Series title={t(title)} view={view} format={format} formatAxis={formatAxis} />
}

/** Requests by dialect: the busiest file types. */
function FileTypeChart({ data }: { readonly data: OverviewData }) {
  const view = useComputed(() => {
    const { series } = data
    const drawn = fileTypesIn(series.value).map(({ name, values }, index): SeriesLine => {
      return { ...styleOf(index), label: name, values }
    })
    return { lastMs: series.value.lastMs, lines: drawn }
  })
  if (view.value.lines.length === 0) return null
  return (
    <Series
      title={t('overview.dialects')}
      view={view}
      format={perSecond}
      formatAxis={formatShort}
    />
  )
}

function styleOf(index: number) {
  return STYLES[index % STYLES.length] ?? STYLES[0]
}

function fileTypesIn({ values }: SeriesWindow) {
  const names = new Set(
    [...values.keys()].flatMap((key) => /^file_types\.(.+)\.granted$/.exec(key)?.[1] ?? []),
  )
  const all = [...names].map((name) => {
    const outcomes = ['granted', 'denied', 'failed'].map((each) => {
      return values.get(`file_types.${name}.${each}`) ?? []
    })
    return { name, values: addedUp(outcomes) }
  })
  const busiest = all.sort((a, b) => highest(b.values) - highest(a.values))
  return busiest.slice(0, STYLES.length).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function addedUp(all: readonly (readonly SeriesValue[])[]): readonly SeriesValue[] {
  const [first = []] = all
  return first.map((_, index) => {
    const values = all.map((each) => each[index] ?? null)
    const known = values.filter((value) => value !== null)
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
  })
}

function highest(values: readonly SeriesValue[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)
}
