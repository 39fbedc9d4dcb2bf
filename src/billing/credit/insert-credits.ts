/** Writes lines of credits with their audit records, in a transaction. */
import type { Actor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { CreditLineDocument } from '../../catalog/records/credit-line.ts'
import { sessionOption } from '../idempotency.ts'

export interface AuditedStores {
  readonly catalog: Catalog
  readonly actor: Actor
  readonly nowMs: number
}

/** Inserts the lines of one or more credits; each credit has one audit record. */
export async function insertCredits(
  { catalog, actor, nowMs }: AuditedStores,
  session: ClientSession,
  lines: readonly CreditLineDocument[],
): Promise<void> {
  if (lines.length === 0) return
  // The driver adds an `_id` to what it inserts, and the transaction may be repeated.
  const documents = lines.map((line) => ({ ...line }))
  await catalog.run('write lines of credits', () =>
    catalog.lines.insertMany(documents, sessionOption(session)),
  )
  const credits = lines.filter(({ installment_no: number = 1 }) => number === 1)
  const entries = credits.map((line) => {
    const { stamp, ...written } = line
    return { collection: 'lines', type: 'credit', key: stamp, old: null, new: written }
  })
  appendAudit(session, actor, nowMs, ...entries)
}
