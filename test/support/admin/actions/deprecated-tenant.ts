/** The tenant of credits with prepaid includes, charging plans and lines of usage. */

import { ACTIONS } from '../../../../src/admin/actions/table.ts'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'
import { insertEntity } from '../../catalog/store.ts'
import { type ActionServer, useActionServer } from './action-server.ts'
import { addTenant, TAXED } from './credit-tenant.ts'

const FROM = { from: '2026-01-01' }
const MEGABYTE = 1024 * 1024
export const CYCLE = '202607'

/** All actions with a ledger; `remove` is enabled. */
export function useDeprecated(env: Record<string, string> = {}): ActionServer {
  return useActionServer(
    ACTIONS,
    { ...TAXED, TOLLGATE_ACTIONS_REMOVE: 'true', ...env },
    { hasLedger: true },
  )
}

export async function addDeprecatedTenant(catalog: Catalog): Promise<void> {
  await addTenant(catalog)
  const money = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', priority: 1 }
  const units = { charging_by: 'usagev', charging_by_usaget: 'data', priority: 50 }
  const includes = [
    { ...money, external_id: 1, name: 'MONEY' },
    { ...units, external_id: 2, name: 'DATA_PACK' },
    { ...units, external_id: 3, name: 'FAMILY_DATA', shared: true },
  ]
  for (const one of includes) await insertEntity(catalog, 'prepaidincludes', { ...one, ...FROM })
  const include = [
    { pp_includes_external_id: 1, cost: -20, operation: 'default' },
    { pp_includes_external_id: 2, usagev: -1000, operation: 'default' },
  ]
  await insertEntity(catalog, 'prepaidgroups', {
    ...FROM,
    name: 'TOPUP',
    external_id: 77,
    operation: 'inc',
    include,
  })
}

/** A line of usage; the given fields replace the defaults. */
export function usageLine(fields: Record<string, unknown>): Record<string, unknown> {
  const _id = new ObjectId()
  return {
    _id,
    stamp: `line-${_id.toHexString()}`,
    type: 'realtime',
    aid: 1001,
    sid: 7,
    plan: 'GOLD',
    billrun: CYCLE,
    usaget: 'call',
    usagev: 60,
    urt: new Date('2026-06-10T10:00:00Z'),
    ...fields,
  }
}

export async function addLines(
  catalog: Catalog,
  ...lines: readonly Record<string, unknown>[]
): Promise<void> {
  await catalog.lines.insertMany(lines.map(usageLine) as never)
}

export function megabytes(count: number): number {
  return count * MEGABYTE
}
