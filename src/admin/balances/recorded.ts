/** Operations whose results the ledger has forgotten. */

import { operationStamp } from '../../ledger/operations.ts'
import { accountsOf } from './former-accounts.ts'
import type { BalanceDeps } from './loads.ts'

/**
 * Whether the line of an operation is recorded, in the account or in another one of the subscriber.
 * Repeating an operation after `ledger.operationKeepMs` would execute it again: who may be that late
 * asks before.
 */
export async function wasRecorded(
  { catalog }: Pick<BalanceDeps, 'catalog'>,
  { aid, sid, operationId }: { aid: number; sid: number; operationId: string },
): Promise<boolean> {
  const accounts = new Set(sid === 0 ? [] : await accountsOf(catalog, sid)).add(aid)
  const stamps = [...accounts].map((account) => operationStamp(account, operationId))
  const line = await catalog.run('find the line of an operation', () =>
    catalog.lines.findOne({ stamp: { $in: stamps } }, { projection: { _id: 1 } }),
  )
  return line !== null
}
