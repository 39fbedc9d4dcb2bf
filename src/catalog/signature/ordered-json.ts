/** A JSON parser that keeps the order of members; `JSON.parse` reorders numeric names. */

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/**
 * Objects become maps in the order of the text; for a repeated name, the position of the first and
 * the value of the last one count. Integers that a double cannot represent become bigints, up to 64
 * bits. Throws `SyntaxError` if the text is not JSON, or nested deeper than `depthMax`.
 */
export function parseOrdered(json: string, depthMax: number): unknown {
  // Validates the text with good messages; the reader below need not check it.
  JSON.parse(json)
  return new Reader(json, depthMax).value(1)
}

class Reader {
  readonly #json: string
  readonly #depthMax: number
  #at = 0

  constructor(json: string, depthMax: number) {
    this.#json = json
    this.#depthMax = depthMax
  }

  value(depth: number): unknown {
    const first = this.#peek()
    if ((first === '{' || first === '[') && depth > this.#depthMax) {
      throw new SyntaxError(`nested deeper than ${this.#depthMax} levels`)
    }
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#list(depth)
    if (first === '"') return this.#string()
    return this.#literal()
  }

  #object(depth: number): Map<string, unknown> {
    const members = new Map<string, unknown>()
    this.#at += 1
    while (this.#peek() !== '}') {
      const name = this.#string()
      this.#peek()
      this.#at += 1
      members.set(name, this.value(depth + 1))
      if (this.#peek() === ',') this.#at += 1
    }
    this.#at += 1
    return members
  }

  #list(depth: number): unknown[] {
    const members: unknown[] = []
    this.#at += 1
    while (this.#peek() !== ']') {
      members.push(this.value(depth + 1))
      if (this.#peek() === ',') this.#at += 1
    }
    this.#at += 1
    return members
  }

  #string(): string {
    this.#peek()
    const from = this.#at
    this.#at += 1
    let isPlain = true
    for (let code = this.#code(); code !== QUOTE; code = this.#code()) {
      if (code === BACKSLASH) isPlain = false
      this.#at += code === BACKSLASH ? 2 : 1
    }
    this.#at += 1
    if (isPlain) return this.#json.slice(from + 1, this.#at - 1)
    return JSON.parse(this.#json.slice(from, this.#at))
  }

  #literal(): unknown {
    const from = this.#at
    while (this.#at < this.#json.length && !isEnd(this.#code())) this.#at += 1
    const word = this.#json.slice(from, this.#at)
    if (word.length <= EXACT_LENGTH && /^[1-9]\d*$/.test(word)) return Number(word)
    const value: unknown = JSON.parse(word)
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(word)) {
      return value
    }
    const whole = BigInt(word)
    return whole >= INT64_MIN && whole <= INT64_MAX ? whole : value
  }

  /** Skips whitespace and returns the next character. */
  #peek(): string {
    while (isBlank(this.#code())) this.#at += 1
    return this.#json[this.#at] ?? ''
  }

  /** NaN behind the end. */
  #code(): number {
    return this.#json.charCodeAt(this.#at)
  }
}

/** Integers of so many digits are exact. */
const EXACT_LENGTH = 15
const codeOf = (character: string) => character.charCodeAt(0)
const [QUOTE, BACKSLASH, COMMA] = [codeOf('"'), codeOf('\\'), codeOf(',')]
const [BLANK, TAB, LINE, RETURN] = [codeOf(' '), codeOf('\t'), codeOf('\n'), codeOf('\r')]
const [LIST_END, OBJECT_END] = [codeOf(']'), codeOf('}')]

function isBlank(code: number): boolean {
  return code === BLANK || code === TAB || code === LINE || code === RETURN
}

function isEnd(code: number): boolean {
  return code === COMMA || code === LIST_END || code === OBJECT_END || isBlank(code)
}
