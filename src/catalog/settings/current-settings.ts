/** Caches stored settings, and reads them again when they are older than the poll interval. */
import type { Clock } from '../../runtime/clock.ts'
import type { Catalog } from '../connection.ts'

/** One category, and how its value is read. */
export interface StoredSetting<T> {
  readonly category: string
  /** `value` is undefined if nothing was stored. Never throws: invalid values are left out. */
  read(value: unknown): T
}

export interface CurrentSettings {
  /**
   * The setting, at most one poll interval old; the last one read while MongoDB is unavailable.
   * Rejects with `CatalogUnavailableError` if it was never read.
   */
  get<T>(setting: StoredSetting<T>): Promise<T>
}

export interface SettingsCache extends CurrentSettings {
  /** This process has changed the category: the next `get` reads it. */
  forget(category: string): void
}

interface CachedCategory {
  value: unknown
  readMs: number
  parsed: Map<StoredSetting<unknown>, unknown>
}

export function createCurrentSettings(
  catalog: Catalog,
  clock: Clock,
  pollMs: number,
): SettingsCache {
  const cache = new Map<string, CachedCategory>()
  const readCategory = async (category: string): Promise<CachedCategory> => {
    const found = cache.get(category)
    const nowMs = clock.nowMs()
    if (found !== undefined && Math.abs(nowMs - found.readMs) < pollMs) return found
    try {
      const stored = await catalog.config.findOne({ _id: category })
      const fresh = { value: stored?.value, readMs: nowMs, parsed: new Map() }
      cache.set(category, fresh)
      return fresh
    } catch (error) {
      if (found === undefined) throw error
      found.readMs = nowMs
      return found
    }
  }
  return {
    forget: (category) => void cache.delete(category),
    async get<T>(setting: StoredSetting<T>) {
      const { value, parsed } = await readCategory(setting.category)
      if (!parsed.has(setting)) parsed.set(setting, setting.read(value))
      return parsed.get(setting) as T
    },
  }
}
