/** Operations on balances of a subscriber that has moved from another account. */
import type { Catalog } from '../../catalog/connection.ts'
import type { OperationLine } from '../../domain/line.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { CreditOperation } from '../../ledger/operations.ts'
import { EntityRuleError } from '../../requests/errors.ts'

interface Stores {
  ledger: Ledger
  catalog: Catalog
}

/**
 * Operation ids are per account, and credit loaded in a former account has moved with the
 * subscriber: executing the operation here would repeat it. Null if it was not executed there.
 * Throws `EntityRuleError` if the id was used there for a different operation.
 */
export async function findInFormerAccounts(
  { ledger, catalog }: Stores,
  operation: Pick<CreditOperation, 'aid' | 'sid' | 'mode' | 'operationId'>,
): Promise<OperationLine | null> {
  const { aid, sid, mode, operationId } = operation
  if (sid === 0) return null
  for (const other of await accountsOf(catalog, sid)) {
    const done = other === aid ? null : await ledger.findOperation(other, operationId)
    if (done === null || done.sid !== sid) continue
    if (done.operation === mode) return done
    throw new EntityRuleError(
      `operation id ${operationId} was used for another operation`,
      'refused',
    )
  }
  return null
}

/** Past, current and future accounts of the subscriber. */
export async function accountsOf(catalog: Catalog, sid: number): Promise<Set<number>> {
  const filter = { type: 'subscriber' as const, sid }
  const found = await catalog.subscribers.find(filter, { projection: { _id: 0, aid: 1 } }).toArray()
  return new Set(found.map(({ aid }) => Number(aid)).filter(Number.isSafeInteger))
}
