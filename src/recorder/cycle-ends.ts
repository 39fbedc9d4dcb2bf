/** Which billing cycles are over, so that their invoices may have been computed. */
import type { Catalog } from '../catalog/connection.ts'
import { BILLRUN } from '../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { cycleEndMs } from '../domain/cycle.ts'
import type { Clock } from '../runtime/clock.ts'

/** Settings rarely change. */
const CACHED_MS = 60_000
/** Clocks of processes differ: a cycle counts as over so much earlier. */
const CLOCKS_DIFFER_MS = 3_600_000
const KEYS_MAX = 100

export interface CycleEnds {
  /** To be awaited before each flush. Rejects with `CatalogUnavailableError`. */
  refresh(): Promise<void>
  isOver(key: string): boolean
  nowMs(): number
}

/** Without invoices no cycle is ever over. */
export const NO_CYCLE_ENDS: CycleEnds = {
  refresh: async () => undefined,
  isOver: () => false,
  nowMs: () => 0,
}

/**
 * If accounts have invoicing days of their own, a cycle counts as over on the earliest of them: the
 * keys of usage are those of the installation, and do not tell the day of the account.
 */
export function createCycleEnds(
  catalog: Catalog,
  { timeZone, cycleDay }: Pick<Config['rating'], 'timeZone' | 'cycleDay'>,
  clock: Clock,
  elapsedMs: () => number,
): CycleEnds {
  const endsMs = new Map<string, number>()
  let day = 1
  let freshUntilMs = -1
  return {
    async refresh() {
      if (elapsedMs() < freshUntilMs) return
      const { value } = await readCategory(catalog, 'billrun')
      day = BILLRUN.read(value).multi_day_cycle ? 1 : cycleDay
      endsMs.clear()
      freshUntilMs = elapsedMs() + CACHED_MS
    },
    isOver(key) {
      let endMs = endsMs.get(key)
      if (endMs === undefined) {
        endMs = (cycleEndMs(key, timeZone, day) ?? Number.POSITIVE_INFINITY) - CLOCKS_DIFFER_MS
        if (endsMs.size >= KEYS_MAX) endsMs.clear()
        endsMs.set(key, endMs)
      }
      return clock.nowMs() >= endMs
    },
    nowMs: () => clock.nowMs(),
  }
}
