/** Loads the buckets of a charging plan: all of them in one commit of the ledger, or none. */
import type { PrepaidGroupDocument } from '../../catalog/entities/prepaid-group.ts'
import { balanceLineDocument } from '../../catalog/records/usage/documents.ts'
import type { OperationLine, OperationNote } from '../../domain/line.ts'
import type { SessionLocation } from '../../ledger/ledger.ts'
import { creditBuckets, type OperationGroup, operationStamp } from '../../ledger/operations.ts'
import { loadsOfPlan, type PlanLoadRequest } from './charging-plan.ts'
import { type BalanceUpdated, balancesAfter, nullIfRefused, REFUSED, wasDone } from './committed.ts'
import { findInFormerAccounts } from './former-accounts.ts'
import { type BalanceDeps, isRefused, type Load } from './loads.ts'

export interface PlanLoad extends PlanLoadRequest {
  plan: PrepaidGroupDocument
  /** Id of the heading; the buckets have `/1`, `/2`, … after it. */
  operationId: string
  /** Recorded in every line. */
  note: OperationNote
  /** Recorded in the line of the heading. */
  additional?: OperationNote['additional'] | undefined
}

/** Repeating it under its operation id moves nothing. Rejects like `updateBalance`. */
export async function loadPlan(
  deps: BalanceDeps,
  load: PlanLoad,
  nowMs: number,
): Promise<BalanceUpdated> {
  const loads = await loadsOfPlan(deps, load.plan, load, nowMs)
  const group = groupOf(load, loads)
  const heading = { ...group.heading, mode: 'heading' } as const
  const isDone = await wasDone(deps, heading)
  if (!isDone && (await isRefused(deps.ledger, loads, nowMs))) return REFUSED
  const lines = await commit(deps, group, nowMs)
  const [head, ...parts] = lines ?? []
  if (head === undefined) return REFUSED
  const entity = await balancesAfter(deps, parts)
  return { details: true, entity, line: balanceLineDocument(head, ''), operations: parts }
}

function groupOf(
  { operationId, note, additional }: PlanLoad,
  loads: readonly Load[],
): OperationGroup {
  const owner = headingOwner(loads)
  const parentRef = operationStamp(owner.aid, operationId)
  const headNote = { ...note, ...(additional === undefined ? {} : { additional }) }
  return {
    heading: { ...owner, operationId, note: headNote },
    parts: loads.map((load, index) => ({
      ...load.credit,
      ...load.owner,
      operationId: `${operationId}/${index + 1}`,
      note: { ...note, parentRef },
    })),
  }
}

/** Owner of the heading: the subscriber, if one is credited. All loads are in one account. */
function headingOwner(loads: readonly Load[]): SessionLocation {
  const location = loads.map((load) => load.owner).find(({ sid }) => sid !== 0) ?? loads[0]?.owner
  return location ?? { aid: 0, sid: 0 }
}

async function commit(
  deps: BalanceDeps,
  group: OperationGroup,
  nowMs: number,
): Promise<OperationLine[] | null> {
  const { ledger, config } = deps
  const { heading, parts } = group
  const head = await findInFormerAccounts(deps, { ...heading, mode: 'heading' })
  if (head !== null) {
    const found = parts.map(({ operationId }) => ledger.findOperation(head.aid, operationId))
    return [head, ...(await Promise.all(found)).filter((line) => line !== null)]
  }
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  return nullIfRefused(creditBuckets(ledger, group, settings, nowMs))
}
