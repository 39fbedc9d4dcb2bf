/** A map for few entries: a linear search, with an index only for many entries. */
export class SmallMap<Key, Value> {
  #values: Value[] = []
  #keys: Key[] = []
  #table: Map<Key, number> | null = null

  get values(): Value[] {
    return this.#values
  }

  get(key: Key): Value | undefined {
    const index = this.#indexOf(key)
    return index < 0 ? undefined : this.#values[index]
  }

  set(key: Key, value: Value): void {
    const index = this.#indexOf(key)
    if (index >= 0) {
      this.#values[index] = value
      return
    }
    if (this.#keys.length === 0) {
      // Most have one entry; arrays that grow get room for seventeen.
      this.#keys = [key]
      this.#values = [value]
      return
    }
    this.#keys.push(key)
    this.#values.push(value)
    if (this.#table !== null) this.#table.set(key, this.#keys.length - 1)
    else if (this.#keys.length > LINEAR_MAX) {
      this.#table = new Map(this.#keys.map((known, at) => [known, at]))
    }
  }

  #indexOf(key: Key): number {
    return this.#table === null ? this.#keys.indexOf(key) : (this.#table.get(key) ?? -1)
  }
}

const LINEAR_MAX = 8
