/**
 * What follows from a change of an entity in the ledger. It is noted with the change, so that a
 * crash in between is finished; each has operation ids of its own, so that it is done once.
 */

import type { Actor } from '../catalog/actor.ts'
import type { Logger } from '../runtime/log.ts'
import type { BalanceDeps } from './balances/loads.ts'
import {
  type OperationAudit,
  recordFromLedger,
  recordOperations,
} from './balances/operation-audit.ts'
import { runTransfer, type TransferPlan } from './balances/transfer.ts'
import { updateBalance } from './balances/update.ts'
import { ApiError } from './entities/errors.ts'
import { auditRecordIfWritten, type RecordFollowUp } from './entities/records/record-audit.ts'

/** A prepaid group that a subscriber is given. */
export interface Renewal {
  /** Who has made it. */
  actor: Actor
  sid: number
  aid: number
  group: string
  operationId: string
}

export type FollowUp =
  | { kind: 'transfer'; plan: TransferPlan }
  | { kind: 'renewal'; renewal: Renewal }
  | { kind: 'balances'; trail: OperationAudit }
  | RecordFollowUp

/** Throws what the stores throw: then it is tried again. What is refused is left, and logged. */
export async function runFollowUp(
  deps: BalanceDeps,
  sequel: FollowUp,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  if (sequel.kind === 'transfer') {
    const settings = { attemptsMax: deps.config.ledger.commitAttemptsMax }
    await runTransfer(deps.ledger, sequel.plan, settings, deps.clock.nowMs())
    return
  }
  if (sequel.kind === 'balances') return recordFromLedger(deps, sequel.trail)
  if (sequel.kind === 'record') return auditRecordIfWritten(deps.catalog, sequel.trail)
  const { actor, sid, aid, group, operationId } = sequel.renewal
  const query = { sid, aid, charging_plan: group }
  try {
    const loaded = { query, update: {}, operationId }
    const { details, operations } = await updateBalance(deps, loaded)
    await recordOperations(deps.catalog, { actor, type: 'update' }, operations)
    if (!details) log.warn({ operationId }, 'the first charge of an auto-renewal was refused')
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    log.warn({ err: error, operationId }, 'the first charge of an auto-renewal cannot be made')
  }
}
