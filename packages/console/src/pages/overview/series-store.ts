/** The values of the last 15 minutes, one a second, for the charts. */
import type { LiveHistory, LiveSample } from '../../api/live.ts'

const SECONDS = 900
const SECOND_MS = 1_000

export type SeriesValue = number | null

/** Values by name; index 0 is the oldest second. */
export interface SeriesWindow {
  /** Time of the last value, ms since 1970; null without any. */
  readonly lastMs: number | null
  readonly values: ReadonlyMap<string, readonly SeriesValue[]>
}

export class SeriesStore {
  #lastMs: number | null = null
  readonly #values = new Map<string, SeriesValue[]>()

  get lastMs(): number | null {
    return this.#lastMs
  }

  /** Adds what is newer than the last value. */
  addHistory({ from, to, step_ms: stepMs, series }: LiveHistory): void {
    if (from === null || to === null) return
    for (let timeMs = from; timeMs <= to; timeMs += stepMs) {
      const index = (timeMs - from) / stepMs
      const names = Object.entries(series)
      this.#add(timeMs, new Map(names.map(([name, all]) => [name, all[index] ?? null])))
    }
  }

  addSample(sample: LiveSample): void {
    this.#add(sample.time, numbersIn(sample))
  }

  /** Seconds without a sample are null: a chart shows a gap. */
  #add(timeMs: number, values: ReadonlyMap<string, SeriesValue>): void {
    const last = this.#lastMs
    if (last !== null && timeMs <= last) return
    const missing = last === null ? 0 : Math.min(SECONDS, (timeMs - last) / SECOND_MS - 1)
    const names = new Set([...this.#values.keys(), ...values.keys()])
    for (const name of names) {
      const kept = this.#values.get(name) ?? this.#emptySeries()
      for (let gap = 0; gap < missing; gap += 1) kept.push(null)
      kept.push(values.get(name) ?? null)
      this.#values.set(name, kept.slice(-SECONDS))
    }
    this.#lastMs = timeMs
  }

  #emptySeries(): SeriesValue[] {
    return Array.from({ length: SECONDS }, () => null)
  }

  window(): SeriesWindow {
    return { lastMs: this.#lastMs, values: new Map(this.#values) }
  }
}

/** Numbers of a sample by the names of the history: `requests.granted`, `file_types.A.denied`. */
function numbersIn(sample: LiveSample): ReadonlyMap<string, SeriesValue> {
  const numbers = new Map<string, SeriesValue>()
  const add = (name: string, value: unknown) => {
    if (value === null || typeof value === 'number') numbers.set(name, value)
  }
  for (const [group, figures] of Object.entries(sample)) {
    if (Array.isArray(figures)) continue
    if (typeof figures !== 'object' || figures === null) add(group, figures)
    else for (const [name, value] of Object.entries(figures)) add(`${group}.${name}`, value)
  }
  for (const { name, granted, denied, failed } of sample.file_types) {
    add(`file_types.${name}.granted`, granted)
    add(`file_types.${name}.denied`, denied)
    add(`file_types.${name}.failed`, failed)
  }
  return numbers
}
