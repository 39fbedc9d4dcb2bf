/** Operations that were executed, also those whose results the ledger has forgotten. */
import { operationStamp } from '../../ledger/operations.ts'
import { accountsOf } from './former-accounts.ts'
import type { BalanceDeps } from './loads.ts'

/**
 * Whether the ledger has the result of an operation, or its line is recorded: in the account, or in
 * another one of the subscriber. An operation that is repeated after `ledger.operationKeepMs` would
 * be executed again: those who may be that late ask before.
 */
export async function wasExecuted(
  { catalog, ledger }: Pick<BalanceDeps, 'catalog' | 'ledger'>,
  { aid, sid, operationId }: { aid: number; sid: number; operationId: string },
): Promise<boolean> {
  const accounts = [...new Set(sid === 0 ? [] : await accountsOf(catalog, sid)).add(aid)]
  for (const account of accounts) {
    if ((await ledger.findOperation(account, operationId)) !== null) return true
  }
  const stamps = accounts.map((account) => operationStamp(account, operationId))
  const line = await catalog.lines.findOne({ stamp: { $in: stamps } }, { projection: { _id: 1 } })
  return line !== null
}
