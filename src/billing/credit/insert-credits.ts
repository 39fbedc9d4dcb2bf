/** Writes lines of credits with their audit records, in a transaction. */
import type { Actor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { CreditLineDocument } from '../../catalog/records/usage/credit-line.ts'
import { stateOf } from '../../catalog/transactions/state.ts'
import { type LastKeys, readLastKeys } from './credit-data.ts'

export interface AuditedStores {
  readonly catalog: Catalog
  readonly actor: Actor
  readonly nowMs: number
}

/** A cycle has got invoices since the credits were prepared; they must be prepared again. */
export class CycleMovedError extends Error {
  override name = 'CycleMovedError'
}

/** In the memory of the transaction, by account, for several credits. */
const LAST_KEYS = 'closed cycles'

/**
 * Inserts the lines of one or more credits; each credit has one audit record. `lastKeys`: the
 * closed cycles by which the lines were prepared. Rejects with `CycleMovedError`.
 */
export async function insertCredits(
  { catalog, actor, nowMs }: AuditedStores,
  session: ClientSession,
  { lines, lastKeys }: { lines: readonly CreditLineDocument[]; lastKeys: LastKeys },
): Promise<void> {
  if (lines.length === 0) return
  const { memory, writes } = stateOf(session)
  const aids = [...new Set(lines.map(({ aid }) => aid))]
  const known = (memory.get(LAST_KEYS) ?? new Map()) as Map<number, string | null>
  memory.set(LAST_KEYS, known)
  const unknown = aids.filter((aid) => !known.has(aid))
  if (unknown.length > 0) {
    const now = await readLastKeys(catalog, unknown)
    for (const aid of unknown) known.set(aid, now(aid))
  }
  if (aids.some((aid) => known.get(aid) !== lastKeys(aid))) {
    throw new CycleMovedError('the cycle has ended')
  }
  // The driver adds an `_id` to what it inserts, and the transaction may be repeated.
  writes.add(
    'lines',
    lines.map((line) => ({ ...line })),
  )
  const credits = lines.filter(({ installment_no: number = 1 }) => number === 1)
  const entries = credits.map((line) => {
    const { stamp, ...written } = line
    return { collection: 'lines', type: 'credit', key: stamp, old: null, new: written }
  })
  appendAudit(session, actor, nowMs, ...entries)
}

const ATTEMPTS_MAX = 5

/** Prepares and writes credits, again if a cycle has ended meanwhile. */
export async function withCurrentCycle<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = ATTEMPTS_MAX; ; left -= 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof CycleMovedError) || left === 1) throw error
    }
  }
}
