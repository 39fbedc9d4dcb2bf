/** Earliest dates at which entities may change or begin: invoiced periods are immutable. */
import type { Catalog } from '../../../catalog/connection.ts'
import type { Config } from '../../../config/schema.ts'
import { cycleEndMs } from '../../../domain/cycle.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'

/** The key of the newest billing cycle with a confirmed invoice; null without one. */
export async function lastConfirmedKey(catalog: Catalog): Promise<string | null> {
  const [newest] = await catalog.run('find the last confirmed cycle', () =>
    catalog.billrun
      // Keys of invoices outside of cycles are longer.
      .find({ billed: 1, billrun_key: /^\d{6}$/ }, { projection: { billrun_key: 1 } })
      .sort({ billed: -1, billrun_key: -1 })
      .limit(1)
      .toArray(),
  )
  return newest === undefined ? null : String(newest.billrun_key)
}

/**
 * End of the newest billing cycle with a confirmed invoice, epoch ms; 0 without such a cycle, and
 * for collections that confirmed cycles do not restrict.
 */
export async function minimumDateMs(
  catalog: Catalog,
  { hasMinimumDate }: CollectionDefinition,
  { rating, entities }: Pick<Config, 'rating' | 'entities'>,
): Promise<number> {
  if (!hasMinimumDate || entities.closedCycleChanges) return 0
  const key = await lastConfirmedKey(catalog)
  return key === null ? 0 : (cycleEndMs(key, rating.timeZone, rating.cycleDay) ?? 0)
}

/** End of the newest confirmed invoice of an account, epoch ms; 0 without one. */
export async function confirmedUntilMs(
  catalog: Catalog,
  aid: number,
  { rating, entities }: Pick<Config, 'rating' | 'entities'>,
): Promise<number> {
  if (entities.closedCycleChanges) return 0
  const [newest] = await catalog.run('find the last confirmed invoice', () =>
    catalog.billrun
      .find({ aid, billed: 1 }, { projection: { billrun_key: 1, end_date: 1 } })
      .sort({ billrun_key: -1 })
      .limit(1)
      .toArray(),
  )
  if (newest === undefined) return 0
  const { end_date: end, billrun_key: key } = newest
  if (end instanceof Date) return end.getTime()
  return cycleEndMs(String(key), rating.timeZone, rating.cycleDay) ?? 0
}
