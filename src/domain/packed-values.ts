/** Numbers and texts of a batch (hand-over.ts), written and read in the same order. */

/** Fields in the order in which they are read again; a text is a number, its place in `texts`. */
export interface Packed {
  numbers: Float64Array
  texts: string[]
}

/** Where there is room for a batch of the usual size; it grows once, if ever. */
const NUMBERS_FIRST = 4096

export class TaskWriter {
  texts: string[] = []
  #numbers = new Float64Array(NUMBERS_FIRST)
  #length = 0
  /** Places of texts that are likely to come again. */
  readonly #places = new Map<string, number>()

  begin(): void {
    // The first is the empty one, which most texts are.
    this.texts = ['']
    this.#length = 0
    this.#places.clear()
  }

  number(value: number): void {
    if (this.#length === this.#numbers.length) this.#grow()
    this.#numbers[this.#length] = value
    this.#length += 1
  }

  /** A text that is hardly ever that of another request. */
  text(text: string): void {
    this.number(text === '' ? 0 : this.texts.push(text) - 1)
  }

  /** A text that others are likely to have, too. */
  name(text: string): void {
    if (text === '') {
      this.number(0)
      return
    }
    let place = this.#places.get(text)
    if (place === undefined) {
      place = this.texts.push(text) - 1
      this.#places.set(text, place)
    }
    this.number(place)
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

  /** Small integers as such: as floating point each would be an object on the heap. */
  number(): number {
    const value = this.#numbers[this.#at] as number
    this.#at += 1
    const small = value | 0
    return small === value ? small : value
  }

  text(): string {
    const place = this.#numbers[this.#at] as number
    this.#at += 1
    return this.#texts[place] as string
  }
}
