/**
 * Finds a text in another one, again and again, from places that do not go back. Nothing is looked
 * at twice, whoever writes the text: in all it takes as long as one look at it.
 */
export class Finder {
  #found = -1
  readonly #text: string
  readonly #wanted: string

  constructor(text: string, wanted: string) {
    this.#text = text
    this.#wanted = wanted
  }

  /** The first place from `at` on, or the end of the text. */
  from(at: number): number {
    if (this.#found >= at) return this.#found
    const found = this.#text.indexOf(this.#wanted, at)
    this.#found = found < 0 ? this.#text.length : found
    return this.#found
  }
}
