/**
 * Loads credit into a balance, into the bucket of a prepaid include, or as defined by a charging
 * plan. Credit is negative, as in balances. Cards: ../cards.
 */
import { balanceLineDocument } from '../../catalog/records/usage/documents.ts'
import { beginOfLoad, type Credit } from '../../domain/credit.ts'
import type { Fields } from '../../domain/fields.ts'
import type { OperationLine, OperationNote } from '../../domain/line.ts'
import { type CreditOperation, creditBucket } from '../../ledger/operations.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { findChargingPlan, type PlanLoadRequest } from './charging-plan.ts'
import { type BalanceUpdated, balancesAfter, nullIfRefused, REFUSED, wasDone } from './committed.ts'
import { expiryOf } from './expiry.ts'
import { findInFormerAccounts } from './former-accounts.ts'
import { documentsOf, findBucket } from './live.ts'
import {
  type BalanceDeps,
  creditOf,
  includeOf,
  isGiven,
  isRefused,
  type Load,
  type LoadOperation,
  ownerFor,
  resolveTarget,
  thresholdOf,
} from './loads.ts'
import { loadPlan } from './plan-load.ts'

export interface BalanceUpdate {
  /**
   * `_id`, `pp_includes_external_id`, `charging_plan`, `charging_plan_name` or `pp_includes_name`:
   * the first one given determines what is loaded. `aid`, `sid`: the owner; `expiration_date`.
   */
  query: Fields
  /** `value`, `operation` (inc, set, new), `expiration_date`, `additional`. */
  update: Fields
  /** Details for the record; takes precedence over `update.additional`. */
  additional?: unknown
  /** Repeating the same operation changes nothing and returns the same answer. */
  operationId: string
}

const ADDITIONAL_CHARACTERS_MAX = 16_384
const MODES: readonly unknown[] = ['inc', 'set', 'new']

/**
 * Throws `EntityRuleError`, `ContentionError`, `CorruptValueError`, `StoreDownError`,
 * `CatalogUnavailableError` or `CustomerSystemError`. After an outage, repeating it under its
 * operation id completes it.
 */
export async function updateBalance(
  deps: BalanceDeps,
  request: BalanceUpdate,
): Promise<BalanceUpdated> {
  const { query } = request
  const { _id, pp_includes_external_id: externalId, pp_includes_name: name } = query
  const { charging_plan: plan, charging_plan_name: planName } = query
  const nowMs = deps.clock.nowMs()
  const call = { ...request, additional: additionalOf(request), nowMs }
  if (isGiven(_id)) return loadOne(deps, call, await loadOfBalance(deps, call), 'Id')
  if (isGiven(externalId)) {
    return loadOne(deps, call, await loadOfInclude(deps, call, { externalId, name }))
  }
  if (isGiven(plan) || isGiven(planName)) {
    return loadChargingPlan(deps, call, isGiven(plan) ? plan : planName)
  }
  if (isGiven(name)) return loadOne(deps, call, await loadOfInclude(deps, call, { name }))
  throw fieldRule(
    'query',
    'must name a balance (_id), a prepaid include, a charging plan or the secret of a card',
  )
}

interface Call extends BalanceUpdate {
  additional: Record<string, unknown> | undefined
  nowMs: number
}

function additionalOf({
  additional,
  update,
}: Pick<BalanceUpdate, 'additional' | 'update'>): Call['additional'] {
  const value = isGiven(additional) ? additional : update['additional']
  if (!isGiven(value)) return undefined
  if (typeof value !== 'object') throw fieldRule('additional', 'must be an object')
  const text = JSON.stringify(value)
  if (text.length > ADDITIONAL_CHARACTERS_MAX) {
    throw fieldRule('additional', `must have at most ${ADDITIONAL_CHARACTERS_MAX} characters`)
  }
  // As it is read back from the record, so that a repetition returns the same answer.
  const plain = JSON.parse(text) as Record<string, unknown>
  return Object.keys(plain).length === 0 ? undefined : plain
}

function operationAt({ update }: Pick<BalanceUpdate, 'update'>): LoadOperation {
  const { operation = 'inc' } = update
  if (!isGiven(operation) || operation === 'inc') return 'inc'
  if (MODES.includes(operation)) return operation as LoadOperation
  throw fieldRule('operation', 'must be inc, set or new')
}

function expirationAt({ query, update }: Pick<BalanceUpdate, 'query' | 'update'>): unknown {
  const { expiration_date: requested } = query
  return isGiven(requested) ? requested : update['expiration_date']
}

function valueAt({ update }: Call, kind: Parameters<typeof creditOf>[1]): number {
  if (!isGiven(update['value'])) throw fieldRule('value', 'is missing', 'missing')
  return creditOf(update['value'], kind, 'value')
}

/** Uses the bucket's own fields because its definition may no longer exist. */
async function loadOfBalance(deps: BalanceDeps, call: Call): Promise<Load> {
  const { query, nowMs } = call
  const id = String(query['_id'])
  const found = await findBucket(deps, id)
  if (found === null) throw new EntityRuleError(`there is no balance ${id}`, 'target')
  const { owner, bucket } = found
  if (bucket.counter !== '')
    throw new EntityRuleError(`balance ${id} counts usage: it has no credit`, 'refused')
  for (const field of ['aid', 'sid'] as const) {
    if (!isGiven(query[field]) || Number(query[field]) === owner[field]) continue
    throw new EntityRuleError(`balance ${id} is not one of ${field} ${String(query[field])}`, {
      path: field,
    })
  }
  const { prepaidIncludeId: externalId, kind, usaget, priority } = bucket
  const [document] = await documentsOf(deps, [found])
  const unlimited = document?.unlimited === true
  const include = { externalId, kind, usaget, priority, unlimited }
  const { plan } = await resolveTarget(deps, { sid: owner.sid }, nowMs).catch(withoutPlan)
  const mode = operationAt(call)
  const credit = await creditFor(deps, call, include, plan)
  const which = mode === 'new' ? {} : { bucketId: bucket.id }
  const location = { aid: owner.aid, sid: owner.sid }
  return {
    owner: location,
    name: document?.pp_includes_name ?? '',
    credit: { ...credit, ...which },
  }
}

/** Without a subscriber in force there is no plan with a limit. */
function withoutPlan(error: unknown): { plan: string } {
  if (error instanceof EntityRuleError) return { plan: '' }
  throw error
}

async function loadOfInclude(
  deps: BalanceDeps,
  call: Call,
  requested: { externalId?: unknown; name?: unknown },
): Promise<Load> {
  const { query, nowMs } = call
  const include = await includeOf(deps.catalog, requested, nowMs)
  const target = await resolveTarget(deps, query, nowMs)
  const location = ownerFor(include, target)
  return {
    owner: location,
    name: include.name,
    credit: await creditFor(deps, call, include, target.plan),
  }
}

async function creditFor(
  { catalog, config }: BalanceDeps,
  call: Call,
  include: Credit['include'],
  plan: string,
): Promise<Credit> {
  const { nowMs } = call
  const requested = {
    unlimited: include.unlimited,
    expirationDate: expirationAt(call),
    period: null,
  }
  const freeMax = await thresholdOf(catalog, plan, include, nowMs)
  return {
    include,
    amount: valueAt(call, include.kind),
    mode: operationAt(call),
    fromMs: beginOfLoad(nowMs),
    toMs: expiryOf(requested, nowMs, config.rating.timeZone),
    ...(freeMax === undefined ? {} : { freeMax }),
  }
}

async function loadOne(
  deps: BalanceDeps,
  call: Call,
  load: Load,
  chargingType: OperationNote['chargingType'] = 'Prepaidinclude',
): Promise<BalanceUpdated> {
  const { operationId, additional, nowMs } = call
  const note = { chargingType, ...(additional === undefined ? {} : { additional }) }
  const operation = operationOf(load, operationId, note)
  const isDone = await wasDone(deps, operation)
  if (!isDone && (await isRefused(deps.ledger, [load], nowMs))) return REFUSED
  const line = await commit(deps, operation, nowMs)
  if (line === null) return REFUSED
  const [entity = null] = await balancesAfter(deps, [line])
  const cdr = balanceLineDocument(line, load.name)
  return { details: true, entity, line: cdr, operations: [line] }
}

function operationOf(load: Load, operationId: string, note: OperationNote): CreditOperation {
  return { ...load.credit, ...load.owner, operationId, note }
}

async function commit(
  { ledger, catalog, config }: BalanceDeps,
  operation: CreditOperation,
  nowMs: number,
): Promise<OperationLine | null> {
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  const done = await findInFormerAccounts({ ledger, catalog }, operation)
  return done ?? nullIfRefused(creditBucket(ledger, operation, settings, nowMs))
}

async function loadChargingPlan(
  deps: BalanceDeps,
  call: Call,
  requested: unknown,
): Promise<BalanceUpdated> {
  const { query, operationId, nowMs } = call
  const target = await resolveTarget(deps, query, nowMs)
  const plan = await findChargingPlan(deps.catalog, requested, nowMs)
  const note = { chargingType: 'Chargingplan', sourceRef: plan.name } as const
  const options = planOptionsOf(call)
  return loadPlan(deps, { plan, target, ...options, operationId, note }, nowMs)
}

export interface PlanOptions extends Pick<PlanLoadRequest, 'operation' | 'expirationDate'> {
  additional: OperationNote['additional'] | undefined
}

/** The options of a request for the load of a charging plan. Throws `EntityRuleError`. */
export function planOptionsOf(request: Omit<BalanceUpdate, 'operationId'>): PlanOptions {
  const operation = operationAt(request)
  return { operation, expirationDate: expirationAt(request), additional: additionalOf(request) }
}
