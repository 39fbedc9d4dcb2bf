/**
 * Shares one compiled value between equal parts of documents: most of a hundred thousand rates have
 * a price in common with others, and each thread holds all of them.
 */
export interface Interner<T> {
  /** Returns the shared value of an equal part, or creates it with `make`. */
  get(part: unknown, make: () => T): T
}

/** `entriesMax`: size of the cache; beyond it, fewer values are shared. */
export function createInterner<T>(entriesMax: number): Interner<T> {
  const known = new Map<string, T>()
  return {
    get(part, make) {
      const text = JSON.stringify(part)
      const found = known.get(text)
      if (found !== undefined) return found
      const made = make()
      if (known.size >= entriesMax) known.clear()
      known.set(text, made)
      return made
    },
  }
}
