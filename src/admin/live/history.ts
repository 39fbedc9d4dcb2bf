/** The numbers of the last samples, in a ring of fixed size. */

/** 15 minutes. */
export const HISTORY_SECONDS = 900
/** More names are not kept: file types are configured. */
export const SERIES_MAX = 96

const SECOND_MS = 1_000

export interface LiveHistory {
  /** Time of the first and the last value of each series, ms since 1970; null without samples. */
  readonly from: number | null
  readonly to: number | null
  readonly step_ms: number
  /** By path in the sample; null where there was no sample, or no value in it. */
  readonly series: Readonly<Record<string, readonly (number | null)[]>>
}

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
