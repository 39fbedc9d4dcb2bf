/** The numbers of the last samples, in a ring of fixed size. */
import { closed, integer, listOf, mapOf, type ValueOf } from '../../catalog/entities/json-schema.ts'
import { nullable } from '../http/answer-schema.ts'
import { figure } from './sample-schema.ts'

/** 15 minutes. */
export const HISTORY_SECONDS = 900
/** More names are not kept: file types are configured. */
export const SERIES_MAX = 96

const SECOND_MS = 1_000

export const LIVE_HISTORY = closed('Series with one value per second.', {
  from: nullable(integer('Time of the first values; null without any.')),
  to: nullable(integer('Time of the last values.')),
  step_ms: integer('Milliseconds between two values.'),
  series: mapOf(
    listOf(
      figure('A value, with at least four significant digits; null where there was none.'),
      'Values from `from` to `to`.',
    ),
    'By path in the sample, such as `requests.granted`; for a file type ' +
      '`file_types.NAME.granted`, for checks `health.ready`, `health.redis` and ' +
      '`health.mongo` (1 or 0), `alarms` for their number.',
  ),
})
export type LiveHistory = ValueOf<typeof LIVE_HISTORY>

export class SampleRing {
  /** NaN: no value. */
  readonly #series = new Map<string, Float64Array>()
  #firstSecond = 0
  #lastSecond = -1

  /** Adds the values of a second; those of the newest second may be replaced. */
  add(atMs: number, values: ReadonlyMap<string, number | null>): void {
    const second = Math.floor(atMs / SECOND_MS)
    const isEmpty = this.#lastSecond < 0
    if (!isEmpty && second < this.#lastSecond) return
    if (isEmpty || second - this.#lastSecond >= HISTORY_SECONDS) {
      this.#series.clear()
      this.#firstSecond = second
    }
    const firstNew = Math.max(this.#firstSecond, this.#lastSecond + 1)
    for (let gap = firstNew; gap <= second; gap += 1) this.#erase(gap)
    this.#lastSecond = second
    this.#firstSecond = Math.max(this.#firstSecond, second - HISTORY_SECONDS + 1)
    for (const [name, value] of values) {
      const kept = this.#seriesOf(name)
      if (kept !== undefined) kept[second % HISTORY_SECONDS] = shortened(value ?? Number.NaN)
    }
  }

  /** All values from an instant on. */
  read(fromMs: number): LiveHistory {
    const step = { step_ms: SECOND_MS }
    const first = Math.max(this.#firstSecond, Math.ceil(fromMs / SECOND_MS))
    const last = this.#lastSecond
    if (last < 0 || first > last) return { from: null, to: null, ...step, series: {} }
    const length = last - first + 1
    const series: Record<string, (number | null)[]> = {}
    for (const [name, kept] of this.#series) {
      series[name] = Array.from({ length }, (_, index) => {
        const value = kept[(first + index) % HISTORY_SECONDS] ?? Number.NaN
        return Number.isNaN(value) ? null : value
      })
    }
    return { from: first * SECOND_MS, to: last * SECOND_MS, ...step, series }
  }

  #seriesOf(name: string): Float64Array | undefined {
    const known = this.#series.get(name)
    if (known !== undefined || this.#series.size >= SERIES_MAX) return known
    const added = new Float64Array(HISTORY_SECONDS).fill(Number.NaN)
    this.#series.set(name, added)
    return added
  }

  #erase(second: number): void {
    for (const kept of this.#series.values()) kept[second % HISTORY_SECONDS] = Number.NaN
  }
}

/** With at least four significant digits; integers are exact. More would only be noise to send. */
function shortened(value: number): number {
  const magnitude = Math.abs(value)
  const scale = magnitude >= 1000 ? 1 : magnitude >= 100 ? 10 : magnitude >= 10 ? 100 : 1000
  return Math.round(value * scale) / scale
}
