/** One charge of an auto-renewal. */
import { type Actor, plainActor } from '../../catalog/actor.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { OutboxEntry } from '../../catalog/transactions/outbox.ts'
import { balancesOf } from '../../entities/follow-ups.ts'
import { ApiError } from '../../requests/errors.ts'
import type { Logger } from '../../runtime/log.ts'
import { findChargingPlan } from '../balances/charging-plan.ts'
import { wasExecuted } from '../balances/executed.ts'
import { type BalanceDeps, resolveTarget } from '../balances/loads.ts'
import { recordFromLedger } from '../balances/operation-audit.ts'
import { loadPlan } from '../balances/plan-load.ts'

/** A prepaid group credited to a subscriber. */
export interface Renewal {
  /** Actor that created the auto-renewal, or the node for the later charges. */
  actor: Actor
  sid: number
  aid: number
  group: string
  /** In place of the operations of the group; absent to use those. */
  operation?: 'inc' | 'set'
  /** Id of the auto-renewal, and the date that is charged. */
  autorenew: string
  due: Date
  operationId: string
}

/** The entry for the charge of a due date. Its operation id is that of the date. */
export function renewalEntry(
  autorenew: RawDocument,
  dueMs: number,
  actor: Actor,
): OutboxEntry & { payload: Renewal } {
  const { _id, sid, aid, bucket_group: group, operation } = autorenew
  const id = _id.toHexString()
  const payload: Renewal = {
    actor: plainActor(actor),
    sid: Number(sid),
    aid: Number(aid),
    group: String(group),
    ...((operation === 'inc' || operation === 'set') && { operation }),
    autorenew: id,
    due: new Date(dueMs),
    operationId: renewalId(id, dueMs),
  }
  return { kind: 'renewal', payload, subject: balancesOf(payload.sid) }
}

export function renewalId(autorenew: string, dueMs: number): string {
  return `autorenew-${autorenew}-${new Date(dueMs).toISOString()}`
}

/**
 * Handler of the outbox entries. Refusals are logged and not repeated. The audit records are those
 * of the ledger's operations: an earlier execution may have made some of them, or all.
 */
export async function renew(
  deps: BalanceDeps & { log: Pick<Logger, 'warn'> },
  renewal: Renewal,
): Promise<void> {
  const { log } = deps
  const { actor, sid, aid, operationId } = renewal
  try {
    const isRefused = !(await wasExecuted(deps, renewal)) && !(await charge(deps, renewal))
    if (isRefused) log.warn({ operationId }, 'the charge of an auto-renewal was refused')
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    log.warn({ err: error, operationId }, 'the charge of an auto-renewal cannot be made')
  }
  const operationIds = [operationId]
  await recordFromLedger(deps, { actor, type: 'update', operationIds, aid, sid })
}

/** False if it is refused. */
async function charge(deps: BalanceDeps, renewal: Renewal): Promise<boolean> {
  const { catalog, clock } = deps
  const { sid, aid, group, operation: override, operationId, autorenew, due } = renewal
  const nowMs = clock.nowMs()
  const target = await resolveTarget(deps, { sid, aid }, nowMs)
  const plan = await findChargingPlan(catalog, group, nowMs)
  const note = { chargingType: 'Chargingplan', sourceRef: plan.name } as const
  const additional = { autorenew, due: due.toISOString() }
  const how = { operation: 'inc', override, expirationDate: undefined } as const
  const load = { plan, target, ...how, operationId, note, additional }
  return (await loadPlan(deps, load, nowMs)).details
}
