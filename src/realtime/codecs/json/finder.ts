/**
 * Finds repeated occurrences of a text from non-decreasing positions. Each position is searched
 * once, so the total time is linear for any input.
 */
export class Finder {
  #found = -1
  readonly #text: string
  readonly #pattern: string

  constructor(text: string, pattern: string) {
    this.#text = text
    this.#pattern = pattern
  }

  /** The first occurrence from `at` on, or the end of the text. */
  from(at: number): number {
    if (this.#found >= at) return this.#found
    const found = this.#text.indexOf(this.#pattern, at)
    this.#found = found < 0 ? this.#text.length : found
    return this.#found
  }
}
