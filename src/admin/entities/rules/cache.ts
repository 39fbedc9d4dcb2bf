/** What rules have read of other entities: the rows of an import mostly name the same ones. */

export interface RuleCache {
  /** What was read under the key before, or is being read; else reads it. */
  of<T>(key: string, read: () => Promise<T>): Promise<T>
}

/** Accounts of a large import are many; what is older is read again. */
const ENTRIES_MAX = 10_000

/**
 * To be given with `RuleContext.cache` to all rows of one import, and to be dropped after it: it
 * never looks whether what it holds has changed.
 */
export function createRuleCache(): RuleCache {
  const entries = new Map<string, Promise<unknown>>()
  return {
    of<T>(key: string, read: () => Promise<T>): Promise<T> {
      const known = entries.get(key)
      if (known !== undefined) return known as Promise<T>
      const reading = read()
      entries.set(key, reading)
      // The next row may find the store up again.
      reading.catch(() => entries.delete(key))
      const [oldest] = entries.keys()
      if (entries.size > ENTRIES_MAX && oldest !== undefined) entries.delete(oldest)
      return reading
    },
  }
}
