/** Dependencies of charges on a store; also loaded by child processes of tests. */
import { createGateways } from '../../../src/billing/cards/gateways.ts'
import type { AccountRun } from '../../../src/billing/charges/account-run.ts'
import type { ChargeDeps } from '../../../src/billing/charges/attempt.ts'
import { createPaymentBooks } from '../../../src/billing/charges/payment-books.ts'
import { createSandboxStore } from '../../../src/billing/charges/sandbox-store.ts'
import { moneyFormat } from '../../../src/billing/currency.ts'
import { type CustomerLookup, STORED_CUSTOMERS } from '../../../src/billing/customer-lookup.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { createSealer } from '../../../src/catalog/sealing/sealing.ts'
import { createCurrentSettings } from '../../../src/catalog/settings/current-settings.ts'
import { mergeGateways } from '../../../src/catalog/settings/money/payment-secrets.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { createLogger, type Logger } from '../../../src/runtime/log.ts'

export const NOW_MS = Date.UTC(2026, 5, 15, 12)
export const DAY_MS = 86_400_000
export const SEALER = createSealer('test key of the charge fixture')
export const ACTOR = { by: 'cli', id: '', name: 'tester', address: '' } as const
/** EUR. */
const CURRENCY = 978
const SILENT = createLogger({ name: 'test', level: 'silent' })

export interface DepsOptions {
  catalog: Catalog
  now(): number
  log?: Pick<Logger, 'warn'>
  lookup?: CustomerLookup
}

export function chargeDeps({
  catalog,
  now,
  log = SILENT,
  lookup = STORED_CUSTOMERS,
}: DepsOptions): ChargeDeps {
  const clock = { nowMs: now }
  const settings = createCurrentSettings(catalog, clock, 1)
  const sandboxStore = createSandboxStore(catalog)
  const gateways = createGateways({ settings, sealer: SEALER, sandboxStore })
  const books = createPaymentBooks(catalog, CURRENCY)
  return {
    catalog,
    clock,
    settings,
    gateways,
    money: moneyFormat(CURRENCY),
    books,
    sealer: SEALER,
    log,
    lookup,
  }
}

export async function storeGateways(
  catalog: Catalog,
  list: readonly Record<string, unknown>[],
): Promise<void> {
  const change = () => mergeGateways([], list, SEALER)
  await writeStoredConfig(catalog, 'payment_gateways', change, { nowMs: NOW_MS, by: 'test' })
}

export function runOf(aid: number, more: Partial<AccountRun> = {}): AccountRun {
  const common = { selection: {}, payMode: 'one_payment', isNamed: false, run: '' } as const
  return { aid, ...common, actor: ACTOR, reason: '', ...more }
}
