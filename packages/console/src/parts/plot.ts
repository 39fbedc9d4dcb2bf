/** Lines over time on a canvas, by uPlot: loaded only by pages with live series. */
import 'uplot/dist/uPlot.min.css'
import uPlot from 'uplot'

export interface PlotLine {
  readonly label: string
  /** Name of a colour in tokens.css. */
  readonly color: string
  /** Lengths of dashes and gaps, px; lines differ not by colour alone. */
  readonly dash: readonly number[]
}

export interface PlotOptions {
  readonly lines: readonly PlotLine[]
  /** Texts of axes and of the cursor. */
  readonly formatValue: (value: number) => string
  readonly formatTime: (ms: number) => string
}

export interface Plot {
  /** `xs`: seconds since 1970; a null value is a gap. */
  show(xs: readonly number[], ys: readonly (readonly (number | null)[])[]): void
  /** Fits the element again. */
  resize(): void
  destroy(): void
}

const WIDTH_PX_MIN = 200
const AXIS_FONT = '11px system-ui, sans-serif'

export function createPlot(target: HTMLElement, options: PlotOptions): Plot {
  const { lines, formatValue, formatTime } = options
  const colorOf = (token: string) => colorIn(target, token)
  const axis = {
    stroke: colorOf('muted'),
    font: AXIS_FONT,
    grid: { stroke: colorOf('line'), width: 1 },
    ticks: { show: false },
  }
  const plot = new uPlot(
    {
      ...sizeOf(target),
      legend: { show: false },
      cursor: { y: false, points: { size: 5 } },
      scales: { y: { range: (_, __, max) => [0, topOf(max)] } },
      axes: [
        {
          ...axis,
          size: 24,
          space: 90,
          values: (_, ticks) => ticks.map((x) => formatTime(x * 1000)),
        },
        { ...axis, size: 52, space: 28, values: (_, ticks) => ticks.map(formatValue) },
      ],
      series: [
        {},
        ...lines.map(({ label, color, dash }) => ({
          label,
          stroke: colorOf(color),
          width: 1.5,
          dash: [...dash],
          spanGaps: false,
          points: { show: false },
        })),
      ],
    },
    [[], ...lines.map(() => [])],
    target,
  )
  return {
    show: (xs, ys) => plot.setData([[...xs], ...ys.map((values) => [...values])]),
    resize: () => plot.setSize(sizeOf(target)),
    destroy: () => plot.destroy(),
  }
}

function sizeOf({ clientWidth, clientHeight }: HTMLElement) {
  return { width: Math.max(WIDTH_PX_MIN, clientWidth), height: clientHeight }
}

/** A flat line at zero is drawn at the bottom. */
function topOf(max: number | null): number {
  return max === null || max <= 0 ? 1 : max * 1.1
}

/** The canvas knows no variables of CSS. */
function colorIn(element: HTMLElement, token: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(--${token})`
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
