/** The instants at which revisions of rates begin, epoch ms: few, since many begin together. */
import type { RateRevision } from '../../domain/catalogue.ts'

export class RateBegins {
  /** Sorted, with the number of revisions that begin at each. */
  readonly #instants: number[] = []
  readonly #counts = new Map<number, number>()
  /** Nothing begins within (since, until), as last asked. */
  #sinceMs = 0
  #untilMs = 0

  replace(before: readonly RateRevision[], revisions: readonly RateRevision[]): void {
    for (const { fromMs } of revisions) this.#count(fromMs, 1)
    for (const { fromMs } of before) this.#count(fromMs, -1)
  }

  /** The first begin after an instant; Infinity if none follows. */
  after(atMs: number): number {
    if (atMs >= this.#sinceMs && atMs < this.#untilMs) return this.#untilMs
    const index = this.#indexAfter(atMs)
    this.#sinceMs = this.#instants[index - 1] ?? Number.NEGATIVE_INFINITY
    this.#untilMs = this.#instants[index] ?? Number.POSITIVE_INFINITY
    return this.#untilMs
  }

  #count(fromMs: number, by: 1 | -1): void {
    const count = (this.#counts.get(fromMs) ?? 0) + by
    if (count > 0) this.#counts.set(fromMs, count)
    else this.#counts.delete(fromMs)
    if (count === 1 && by === 1) this.#instants.splice(this.#indexAfter(fromMs), 0, fromMs)
    if (count === 0) this.#instants.splice(this.#indexAfter(fromMs) - 1, 1)
    this.#untilMs = this.#sinceMs
  }

  #indexAfter(atMs: number): number {
    let low = 0
    let high = this.#instants.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#instants[middle] as number) <= atMs) low = middle + 1
      else high = middle
    }
    return low
  }
}
