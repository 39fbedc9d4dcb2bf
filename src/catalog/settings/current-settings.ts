/** Stored settings as they are now, read again when they are older than a poll. */
import type { Clock } from '../../runtime/clock.ts'
import type { Catalog } from '../connection.ts'

/** One category, and what is made of its value. */
export interface StoredSetting<T> {
  readonly category: string
  /** `value`: undefined where nothing was stored. Never throws: what is of no use is left out. */
  read(value: unknown): T
}

export interface CurrentSettings {
  /**
   * What was stored a poll ago at most; the last that was read while MongoDB is away. Rejects with
   * `CatalogUnavailableError` if it never was.
   */
  get<T>(setting: StoredSetting<T>): Promise<T>
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
): CurrentSettings {
  const known = new Map<string, CachedCategory>()
  const readCategory = async (category: string): Promise<CachedCategory> => {
    const found = known.get(category)
    const nowMs = clock.nowMs()
    if (found !== undefined && Math.abs(nowMs - found.readMs) < pollMs) return found
    try {
      const stored = await catalog.run(`read ${category}`, () =>
        catalog.config.findOne({ _id: category }),
      )
      const fresh = { value: stored?.value, readMs: nowMs, parsed: new Map() }
      known.set(category, fresh)
      return fresh
    } catch (error) {
      if (found === undefined) throw error
      found.readMs = nowMs
      return found
    }
  }
  return {
    async get<T>(setting: StoredSetting<T>) {
      const { value, parsed: made } = await readCategory(setting.category)
      if (!made.has(setting)) made.set(setting, setting.read(value))
      return made.get(setting) as T
    },
  }
}
