/** Cache for reads of other entities in rules: rows of an import usually refer to the same ones. */

export interface RuleCache {
  /** The cached or pending read with this key; otherwise starts it. */
  of<T>(key: string, read: () => Promise<T>): Promise<T>
}

/** Imports can have many accounts; the oldest entries are evicted. */
const ENTRIES_MAX = 10_000

/**
 * Passed as `RuleContext.cache` to all rows of one import and dropped afterwards, because it is
 * never invalidated.
 */
export function createRuleCache(): RuleCache {
  const entries = new Map<string, Promise<unknown>>()
  return {
    of<T>(key: string, read: () => Promise<T>): Promise<T> {
      const known = entries.get(key)
      if (known !== undefined) return known as Promise<T>
      const reading = read()
      entries.set(key, reading)
      // A failed read is not cached: the store may be available for the next row.
      reading.catch(() => entries.delete(key))
      const [oldest] = entries.keys()
      if (entries.size > ENTRIES_MAX && oldest !== undefined) entries.delete(oldest)
      return reading
    },
  }
}
