/**
 * Follow-up operations on the ledger after a change of an entity (outbox). They are stored with the
 * change, so that they are executed even after a crash; their own operation ids ensure that each is
 * executed once.
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

/** A prepaid group credited to a subscriber. */
export interface Renewal {
  /** Actor that created the auto-renewal. */
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

/** Throws errors of the stores, after which it is retried. Refusals are logged and not retried. */
export async function runFollowUp(
  deps: BalanceDeps,
  followUp: FollowUp,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  if (followUp.kind === 'transfer') {
    const settings = { attemptsMax: deps.config.ledger.commitAttemptsMax }
    await runTransfer(deps.ledger, followUp.plan, settings, deps.clock.nowMs())
    return
  }
  if (followUp.kind === 'balances') return recordFromLedger(deps, followUp.trail)
  if (followUp.kind === 'record') return auditRecordIfWritten(deps.catalog, followUp.trail)
  const { actor, sid, aid, group, operationId } = followUp.renewal
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
