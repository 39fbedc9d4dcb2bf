/** Numbers and texts of a batch (worker-protocol.ts), written and read in the same order. */

/** Fields in the order of reading. A text is represented by its index in `texts`. */
export interface Packed {
  numbers: Float64Array
  texts: string[]
}

/** Initial capacity, enough for a typical batch. */
const NUMBERS_FIRST = 4096

export class TaskWriter {
  texts: string[] = []
  #numbers = new Float64Array(NUMBERS_FIRST)
  #length = 0
  /** Indexes of texts that are likely to recur. */
  readonly #indexes = new Map<string, number>()

  begin(): void {
    // Index 0 is the empty text, the most frequent one.
    this.texts = ['']
    this.#length = 0
    this.#indexes.clear()
  }

  number(value: number): void {
    if (this.#length === this.#numbers.length) this.#grow()
    this.#numbers[this.#length] = value
    this.#length += 1
  }

  /** Writes a text that rarely recurs in other requests. */
  text(text: string): void {
    this.number(text === '' ? 0 : this.texts.push(text) - 1)
  }

  /** Writes a text that is likely to recur; it is stored once. */
  name(text: string): void {
    if (text === '') {
      this.number(0)
      return
    }
    let index = this.#indexes.get(text)
    if (index === undefined) {
      index = this.texts.push(text) - 1
      this.#indexes.set(text, index)
    }
    this.number(index)
  }

  numbers(): Float64Array {
    return this.#numbers.slice(0, this.#length)
  }

  #grow(): void {
    const grown = new Float64Array(this.#numbers.length * 2)
    grown.set(this.#numbers)
    this.#numbers = grown
  }
}

export class TaskReader {
  readonly #numbers: Float64Array
  readonly #texts: readonly string[]
  #at = 0

  constructor({ numbers, texts }: Packed) {
    this.#numbers = numbers
    this.#texts = texts
  }

  /**
   * Returns small integers as such, because each floating-point number would be an object on the
   * heap.
   */
  number(): number {
    const value = this.#numbers[this.#at] as number
    this.#at += 1
    const small = value | 0
    return small === value ? small : value
  }

  text(): string {
    const index = this.#numbers[this.#at] as number
    this.#at += 1
    return this.#texts[index] as string
  }
}
