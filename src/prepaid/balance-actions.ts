/** Balances as a collection of the entity API. */
import { randomUUID } from 'node:crypto'
import { plainActor } from '../catalog/actor.ts'
import type { Fields } from '../domain/fields.ts'
import type { OperationLine } from '../domain/line.ts'
import type { RecordActions, RecordWriteRequest } from '../entities/api.ts'
import type { ActionName } from '../entities/definitions/definition.ts'
import { balancesOf } from '../entities/follow-ups.ts'
import { findBalances } from './balances/find.ts'
import { locateBalance } from './balances/live.ts'
import { type BalanceDeps, isGiven } from './balances/loads.ts'
import {
  type BalanceEntry,
  type OperationAudit,
  performAudited,
} from './balances/operation-audit.ts'
import { deleteBalance } from './balances/remove.ts'
import { updateBalance } from './balances/update.ts'
import { type RedeemDeps, redeemCard } from './cards/redeem.ts'

/** A write without an operation id gets a random one, so repeating it is a separate operation. */
export function balanceActions(deps: RedeemDeps): RecordActions {
  return {
    async read({ filter, sort, page, size, project, signal }) {
      const at = { sort, skip: page * size, limit: size, signal }
      const found = await findBalances(deps, filter, at)
      return { rows: found.balances.map((one) => projected(one, project)), hasMore: found.hasMore }
    },
    async write(action, write) {
      const operationId = write.operationId ?? `api-${randomUUID()}`
      const { query, update, additional } = write
      if (action === 'delete') {
        const remove = () => deleteBalance(deps, { id: query['_id'], operationId })
        const { details, line } = await withAudit(deps, { action, operationId, write }, remove)
        return { details, entity: null, ...(line && { more: { line } }) }
      }
      const load = () => updateBalance(deps, { query, update, additional, operationId })
      const done = isCardLoad(query)
        ? await redeemCard(deps, { ...write, secret: query['secret'], operationId })
        : await withAudit(deps, { action, operationId, write }, load)
      return { details: done.details, entity: done.entity, more: { line: done.line } }
    },
  }
}

/** Whether a card determines what is loaded: what else is given takes precedence over it. */
function isCardLoad({ secret, ...query }: Fields): boolean {
  const preceding = ['_id', 'pp_includes_external_id', 'charging_plan', 'charging_plan_name']
  return isGiven(secret) && !preceding.some((name) => isGiven(query[name]))
}

interface BalanceAction {
  action: ActionName
  operationId: string
  write: RecordWriteRequest
}

/**
 * Executes a write and audits it. A load waits for earlier loads and transfers of its subscriber:
 * credit committed during a move to another account would stay in the old one, unused.
 */
async function withAudit<T extends { operations: readonly OperationLine[] }>(
  deps: BalanceDeps,
  { action, operationId, write: { actor, query } }: BalanceAction,
  act: () => Promise<T>,
): Promise<T> {
  const { catalog } = deps
  const { _id: id } = query
  const location = isGiven(id) ? await locateBalance(catalog, String(id)) : null
  const sid = location?.sid ?? numberOf(query['sid'])
  const aid = location?.aid ?? numberOf(query['aid'])
  const payload: OperationAudit = {
    actor: plainActor(actor),
    type: action,
    operationIds: [operationId],
    aid,
    sid,
  }
  const isLoad = action !== 'delete' && sid !== null && sid !== 0
  const followUp: BalanceEntry = { kind: 'balances', payload }
  return performAudited(catalog, isLoad ? { ...followUp, subject: balancesOf(sid) } : followUp, act)
}

function numberOf(value: unknown): number | null {
  return isGiven(value) ? Number(value) : null
}

/** Projects top-level fields only: a balance is small and flat. */
function projected(balance: object, project: Readonly<Record<string, 0 | 1>> | null): Fields {
  if (project === null) return { ...balance }
  const names = Object.entries(project).filter(([name]) => name !== 'revision_info')
  const selected = names.filter(([, on]) => on === 1).map(([name]) => name.split('.')[0])
  const hidden = new Set(names.filter(([, on]) => on === 0).map(([name]) => name))
  const isListed = selected.some((name) => name !== '_id')
  const isProjected = (name: string) =>
    !hidden.has(name) && (!isListed || selected.includes(name) || name === '_id')
  return Object.fromEntries(Object.entries(balance).filter(([name]) => isProjected(name)))
}
