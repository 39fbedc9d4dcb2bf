/** Places of bars in a chart: figures become pixels, and rows of one category their exact sum. */
import { type Figure, sumOf } from '../../api/figures.ts'
import { ticksBetween } from '../../parts/ticks.ts'

export interface BarCategory {
  readonly label: string
  /** Null if none of its rows has one. */
  readonly figure: Figure | null
}

/** In the order of their first rows. */
export function categoriesOf(rows: readonly BarCategory[]): readonly BarCategory[] {
  const figures = new Map<string, Figure[]>()
  for (const { label, figure } of rows) {
    const known = figures.get(label) ?? []
    figures.set(label, figure === null ? known : [...known, figure])
  }
  return [...figures].map(([label, all]) => {
    return { label, figure: all.length === 0 ? null : sumOf(all) }
  })
}

export interface Bar {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Bars {
  readonly bars: readonly (Bar | null)[]
  /** Height of zero. */
  readonly zero: number
  readonly ticks: readonly { readonly value: number; readonly y: number }[]
}

const BAR_WIDTH_MAX = 60

/** Null for categories without a figure. The scale always has zero. */
export function barsOf(
  figures: readonly (Figure | null)[],
  size: { readonly width: number; readonly height: number },
): Bars {
  const values = figures.map((figure) => (figure === null ? null : Number(figure)))
  const known = values.filter((value) => value !== null)
  const [top, bottom] = [Math.max(0, ...known), Math.min(0, ...known)]
  const range = top - bottom || 1
  const y = (value: number) => ((top - value) / range) * size.height
  const step = size.width / Math.max(1, values.length)
  const width = Math.min(step - Math.min(4, step / 4), BAR_WIDTH_MAX)
  const bars = values.map((value, index) => {
    if (value === null) return null
    const [from, to] = [y(Math.max(0, value)), y(Math.min(0, value))]
    return { x: index * step + (step - width) / 2, y: from, width, height: to - from }
  })
  const ticks = ticksBetween(bottom, top).map((value) => ({ value, y: y(value) }))
  return { bars, zero: y(0), ticks }
}

const LABEL_LENGTH_MAX = 20
/** Widths in pixels, estimated: text is not measured. */
const CHARACTER = 7
const LABEL_GAP = 12

/** Texts below bars in a chart of this width; null where one would touch its neighbour. */
export function labelsOf(labels: readonly string[], width: number): readonly (string | null)[] {
  const cut = labels.map((label) => {
    return label.length > LABEL_LENGTH_MAX ? `${label.slice(0, LABEL_LENGTH_MAX - 1)}…` : label
  })
  const widest = Math.max(0, ...cut.map(({ length }) => length)) * CHARACTER + LABEL_GAP
  const every = Math.ceil((widest * labels.length) / width)
  return cut.map((label, index) => (index % every === 0 ? label : null))
}
