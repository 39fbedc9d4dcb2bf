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
  const cache = new Map<string, T>()
  return {
    get(part, make) {
      const text = JSON.stringify(part)
      const cached = cache.get(text)
      if (cached !== undefined) return cached
      const made = make()
      if (cache.size >= entriesMax) cache.clear()
      cache.set(text, made)
      return made
    },
  }
}
