/** Commits loads to the ledger, and what such a call answers. */
import type { BalanceLineDocument } from '../../catalog/records/usage/documents.ts'
import { InsufficientBalanceError } from '../../domain/credit.ts'
import type { OperationLine } from '../../domain/line.ts'
import { type CreditOperation, OperationReusedError } from '../../ledger/operations.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { findInFormerAccounts } from './former-accounts.ts'
import { bucketAt, documentsOf, type LiveBalance } from './live.ts'
import { type BalanceDeps, toEntityError } from './loads.ts'

export interface BalanceUpdated {
  /** False if refused: it would deduct more than is available or exceed the plan's limit. */
  details: boolean
  /** Current balance; a list if several were loaded, null if none was. */
  entity: LiveBalance | LiveBalance[] | null
  /** CDR of the operation; for several loads the CDR of the heading. */
  line: BalanceLineDocument | null
  /** Operations executed by the ledger, one per balance. */
  operations: readonly OperationLine[]
}

export const REFUSED: BalanceUpdated = { details: false, entity: null, line: null, operations: [] }

export async function wasDone(
  deps: BalanceDeps,
  operation: Pick<CreditOperation, 'aid' | 'sid' | 'mode' | 'operationId'>,
): Promise<boolean> {
  const { aid, operationId } = operation
  if ((await deps.ledger.findOperation(aid, operationId)) !== null) return true
  return (await findInFormerAccounts(deps, operation)) !== null
}

/**
 * Null if it is refused because of a concurrent change after the check. Throws `EntityRuleError`
 * for other refusals.
 */
export async function nullIfRefused<T>(run: Promise<T>): Promise<T | null> {
  try {
    return await run
  } catch (error) {
    if (error instanceof InsufficientBalanceError) return null
    if (error instanceof OperationReusedError) throw new EntityRuleError(error.message, 'refused')
    throw toEntityError(error)
  }
}

export async function balancesAfter(
  deps: BalanceDeps,
  lines: readonly OperationLine[],
): Promise<LiveBalance[]> {
  const found = await Promise.all(lines.map((line) => bucketAt(deps.ledger, line)))
  return documentsOf(
    deps,
    found.filter((one) => one !== null),
  )
}
