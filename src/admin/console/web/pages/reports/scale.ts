/** Places of bars in a chart: figures are turned into pixels, never into other figures. */
import type { Figure } from '../../api/figures.ts'

export interface Bar {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Scaled {
  readonly bars: readonly (Bar | null)[]
  /** Height of zero. */
  readonly zero: number
  /** Indexes of the highest and the lowest bar; null without any. */
  readonly highest: number | null
  readonly lowest: number | null
}

const BAR_WIDTH_MAX = 60

/** Null for rows without a figure. The scale always has zero. */
export function scaled(
  figures: readonly (Figure | null)[],
  size: { readonly width: number; readonly height: number },
): Scaled {
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
  const indexOf = (wanted: number) => {
    const found = values.indexOf(wanted)
    return found < 0 ? null : found
  }
  return {
    bars,
    zero: y(0),
    highest: known.length === 0 ? null : indexOf(Math.max(...known)),
    lowest: known.length === 0 ? null : indexOf(Math.min(...known)),
  }
}
