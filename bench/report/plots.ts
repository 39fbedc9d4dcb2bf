/** Assigns curves of the results to plots. */
import type { Curve } from '../scenario.ts'
import { barPlot, linePlot } from './svg.ts'

export interface Plotted {
  /** File name in bench/results. */
  file: string
  svg: string
}

export function plotsOf(curves: Readonly<Record<string, readonly Curve[]>>): Plotted[] {
  return Object.entries(curves).flatMap(([name, own]) => {
    const svg = plotOf(name, own)
    return svg === null ? [] : [{ file: `${name}.svg`, svg }]
  })
}

/** Null if the plot does not exist. */
function plotOf(name: string, curves: readonly Curve[]): string | null {
  switch (name) {
    case 'latency':
      return linePlot(
        {
          title: 'Latency against load, open loop',
          x: 'requests due per second',
          y: 'ms',
          isLogarithmic: true,
        },
        curves,
      )
    case 'overload':
      return linePlot(
        {
          title: 'Goodput against load',
          x: 'load, times saturation',
          y: 'times saturation',
        },
        curves,
      )
    case 'stages': {
      const bars = curves.map(({ name: stage, points }) => [stage, points[0]?.[1] ?? 0] as const)
      return barPlot('Processor time of the stages of one request', 'µs', bars)
    }
    default:
      return null
  }
}
