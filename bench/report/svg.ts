/** Plots as SVG, plain enough for any viewer, readable on light and dark pages. */
import type { Curve } from '../scenario.ts'

const WIDTH = 720
const HEIGHT = 400
const LEFT = 70
const RIGHT = 130
const TOP = 40
const BOTTOM = 55
const COLOURS = ['#2f6fb3', '#c65d21', '#3b8a4c', '#8a4ca8', '#a8863b', '#4c8a8a']
const TEXT = 'font-family="sans-serif" font-size="12" fill="#555"'

export interface Axes {
  title: string
  x: string
  y: string
  /** True for powers of ten on the y axis. */
  isLogarithmic?: boolean
}

export function escapeXml(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&apos;',
  }
  return text.replace(/[&<>"']/g, (sign) => names[sign] ?? sign)
}

/** Lines through the points of each curve. Without points only the axes are drawn. */
export function linePlot(axes: Axes, curves: readonly Curve[]): string {
  const points = curves.flatMap((curve) => curve.points)
  const xMax = niceAbove(Math.max(0, ...points.map(([x]) => x)))
  const ys = points.map(([, y]) => y).filter((y) => y > 0)
  const scale = axes.isLogarithmic === true ? logScale(ys) : linearScale(ys)
  const at = ([x, y]: readonly [number, number]) =>
    `${fixed(LEFT + (x / xMax) * (WIDTH - LEFT - RIGHT))},${fixed(yOf(scale.share(y)))}`
  const drawn = curves.flatMap(({ name, points: own }, index) => {
    const colour = COLOURS[index % COLOURS.length] ?? ''
    const path = own.map(at).join(' ')
    const dots = own.map((point) => {
      const [x, y] = at(point).split(',')
      return `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`
    })
    const line = `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`
    return [line, ...dots, legend(name, index, colour)]
  })
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const x = LEFT + share * (WIDTH - LEFT - RIGHT)
    return label(x, HEIGHT - BOTTOM + 18, shown(share * xMax), 'middle')
  })
  return page(axes, [...scale.ticks.map(gridLine(scale)), ...ticks, ...drawn])
}

/** One bar per value, with the value and its name next to it. */
export function barPlot(title: string, unit: string, bars: readonly (readonly [string, number])[]) {
  const most = Math.max(1e-9, ...bars.map(([, value]) => value))
  const height = TOP + bars.length * 24 + 20
  const from = 220
  const drawn = bars.flatMap(([name, value], index) => {
    const y = TOP + index * 24
    const width = Math.max(1, (value / most) * (WIDTH - from - 90))
    const colour = COLOURS[index % COLOURS.length] ?? ''
    return [
      label(from - 8, y + 13, name, 'end'),
      `<rect x="${from}" y="${y}" width="${fixed(width)}" height="17" fill="${colour}"/>`,
      label(from + width + 6, y + 13, `${shown(value)} ${unit}`, 'start'),
    ]
  })
  return svg(height, [label(WIDTH / 2, 22, title, 'middle'), ...drawn])
}

interface Scale {
  /** From 0 at the bottom to 1 at the top. */
  share(y: number): number
  ticks: readonly number[]
}

function linearScale(ys: readonly number[]): Scale {
  const most = niceAbove(Math.max(0, ...ys))
  return { share: (y) => y / most, ticks: [0, 0.25, 0.5, 0.75, 1].map((part) => part * most) }
}

function logScale(ys: readonly number[]): Scale {
  const low = Math.floor(Math.log10(Math.min(1, ...ys)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(1, ...ys))))
  const share = (y: number) => (Math.log10(Math.max(y, 10 ** low)) - low) / (high - low)
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index))
  return { share, ticks }
}

const yOf = (share: number) => HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

function gridLine(scale: Scale) {
  return (tick: number): string => {
    const y = fixed(yOf(scale.share(tick)))
    const ends = `x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}"`
    return `<line ${ends} stroke="#999" stroke-opacity="0.35"/>${label(
      LEFT - 8,
      Number(y) + 4,
      shown(tick),
      'end',
    )}`
  }
}

function legend(name: string, index: number, colour: string): string {
  const y = TOP + 10 + index * 20
  const x = WIDTH - RIGHT + 14
  const mark = `<rect x="${x}" y="${y - 9}" width="12" height="10" fill="${colour}"/>`
  return `${mark}${label(x + 18, y, name, 'start')}`
}

function page({ title, x, y }: Axes, parts: readonly string[]): string {
  const middle = (HEIGHT - BOTTOM + TOP) / 2
  return svg(HEIGHT, [
    label(WIDTH / 2, 22, title, 'middle'),
    label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x, 'middle'),
    `<text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle" ${TEXT}>` +
      `${escapeXml(y)}</text>`,
    ...parts,
  ])
}

function svg(height: number, parts: readonly string[]): string {
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`
  const ground = `<rect width="${WIDTH}" height="${height}" fill="#fdfdfb"/>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size}>`,
    ...[ground, ...parts].map((part) => `  ${part}`),
    '</svg>\n',
  ].join('\n')
}

function label(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string {
  const place = `x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}"`
  return `<text ${place} ${TEXT}>${escapeXml(text)}</text>`
}

const fixed = (value: number) => value.toFixed(1)

/** The least of 1, 2, 2.5 and 5 times a power of ten that is not below the value. */
export function niceAbove(value: number): number {
  if (!(value > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10
  return step * power
}

function shown(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.01) return value.toExponential(0)
  return String(Number(value.toFixed(Math.abs(value) < 10 ? 2 : 0)))
}
