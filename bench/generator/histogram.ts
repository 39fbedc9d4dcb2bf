/**
 * Counts latencies by size with constant memory: exact to a microsecond below 128 µs, and to less
 * than 1.6 percent above.
 */

/** Buckets per power of two. */
const STEPS = 64
const EXACT_BELOW = 2 * STEPS
/** An hour, in µs; longer latencies count as an hour. */
const LONGEST = 3_600_000_000
const SIZE = indexOf(LONGEST) + 1

/** JSON form between processes: alternating buckets and counts, without empty buckets. */
export interface PackedHistogram {
  counts: number[]
  longest: number
}

export class Histogram {
  readonly #counts = new Float64Array(SIZE)
  #longestMicros = 0
  #total = 0

  /** In µs; negative values count as 0. */
  record(micros: number): void {
    const whole = micros <= 0 ? 0 : micros >= LONGEST ? LONGEST : Math.floor(micros)
    const at = indexOf(whole)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#total += 1
    if (whole > this.#longestMicros) this.#longestMicros = whole
  }

  get count(): number {
    return this.#total
  }

  /** In µs; 0 if nothing was recorded. */
  get longest(): number {
    return this.#longestMicros
  }

  /** The least latency not exceeded by at least this share of all, µs: the end of its bucket. */
  quantile(share: number): number {
    if (this.#total === 0) return 0
    const expected = Math.max(1, Math.ceil(this.#total * share))
    let seen = 0
    for (let at = 0; at < SIZE; at += 1) {
      seen += this.#counts[at] ?? 0
      if (seen >= expected) return Math.min(endOf(at), this.#longestMicros)
    }
    return this.#longestMicros
  }

  add({ counts, longest }: PackedHistogram): void {
    for (let at = 0; at + 1 < counts.length; at += 2) {
      const bucket = counts[at] ?? 0
      const count = counts[at + 1] ?? 0
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
      this.#total += count
    }
    if (longest > this.#longestMicros) this.#longestMicros = longest
  }

  pack(): PackedHistogram {
    const counts: number[] = []
    this.#counts.forEach((count, at) => {
      if (count > 0) counts.push(at, count)
    })
    return { counts, longest: this.#longestMicros }
  }
}

export function histogramOf(...packed: readonly PackedHistogram[]): Histogram {
  const all = new Histogram()
  for (const one of packed) all.add(one)
  return all
}

function indexOf(whole: number): number {
  if (whole < EXACT_BELOW) return whole
  // From 2 STEPS to 4 STEPS - 1 every second value has a bucket, in the next power every fourth,
  // and so on.
  const power = Math.floor(Math.log2(whole)) - Math.log2(STEPS)
  return power * STEPS + Math.floor(whole / 2 ** power)
}

/** The greatest latency of a bucket, µs. */
function endOf(at: number): number {
  if (at < EXACT_BELOW) return at
  const power = Math.floor(at / STEPS) - 1
  return (at - power * STEPS + 1) * 2 ** power - 1
}
