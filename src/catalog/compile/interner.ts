/**
 * One compiled value for equal parts of documents: of a hundred thousand rates most have a price
 * that others have too, and each thread holds them all.
 */
export interface Interner<T> {
  /** What was made of an equal part before, else what `make` makes now. The value is shared. */
  get(part: unknown, make: () => T): T
}

/** `entriesMax`: how many are known at a time; beyond that values are only less shared. */
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
