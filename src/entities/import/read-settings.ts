/** Settings of an import, with the fields that are configured now. */
import type { EntityApi, EntityCall } from '../api.ts'
import { DEFINITIONS } from '../definitions/collections.ts'
import { type ImportSettings, importSettings } from './settings.ts'

/** Throws `ExecutionError` for settings that are invalid or inconsistent. */
export async function readSettings(
  { stores, fields }: EntityApi['batch'],
  definition: EntityCall['definition'],
  update: Readonly<Record<string, unknown>>,
  operation: string,
): Promise<ImportSettings> {
  const accounts = DEFINITIONS.get('accounts')
  const accountFields = accounts === undefined ? [] : await fields.of(accounts)
  const { timeZone } = stores.config.rating
  const context = { definition, accountFields, timeZone, nowMs: stores.clock.nowMs() }
  return importSettings(update, operation, context)
}
