/**
 * Loads credit into a balance, into the bucket of a prepaid include, or as defined by a charging
 * plan or a card. Credit is negative, as in balances.
 */
import { type BalanceLineDocument, balanceLineDocument } from '../../catalog/records/documents.ts'
import { type Credit, InsufficientBalanceError } from '../../domain/credit.ts'
import type { Fields } from '../../domain/fields.ts'
import type { OperationLine, OperationNote } from '../../domain/line.ts'
import type { SessionLocation } from '../../ledger/ledger.ts'
import {
  type CreditOperation,
  creditBucket,
  OperationReusedError,
  operationStamp,
} from '../../ledger/operations.ts'
import { EntityRuleError } from '../entities/errors.ts'
import { claimCard, type FoundCard, findCard, finishCard } from './card.ts'
import { findChargingPlan, loadsOfPlan } from './charging-plan.ts'
import { expiryOf } from './expiry.ts'
import { findInFormerAccounts } from './former-accounts.ts'
import { bucketAt, documentsOf, findBucket, type LiveBalance } from './live.ts'
import {
  type BalanceDeps,
  type BalanceTarget,
  creditOf,
  includeOf,
  isGiven,
  isRefused,
  type Load,
  type LoadOperation,
  ownerFor,
  resolveTarget,
  thresholdOf,
  toEntityError,
} from './loads.ts'

export interface BalanceUpdate {
  /**
   * `_id`, `pp_includes_external_id`, `pp_includes_name`, `charging_plan`, `charging_plan_name` or
   * `secret`: the first one given determines what is loaded. `aid`, `sid`: the owner;
   * `expiration_date`.
   */
  query: Fields
  /** `value`, `operation` (inc, set, new), `expiration_date`, `additional`. */
  update: Fields
  /** Details for the record; takes precedence over `update.additional`. */
  additional?: unknown
  /** Repeating the same operation changes nothing and returns the same answer. */
  operationId: string
}

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

const REFUSED: BalanceUpdated = { details: false, entity: null, line: null, operations: [] }
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
  const { charging_plan: plan, charging_plan_name: planName, secret } = query
  const nowMs = deps.clock.nowMs()
  const call = { ...request, additional: additionalOf(request), nowMs }
  if (isGiven(_id)) return loadOne(deps, call, await loadOfBalance(deps, call), 'Id')
  if (isGiven(externalId)) {
    return loadOne(deps, call, await loadOfInclude(deps, call, { externalId, name }))
  }
  if (isGiven(plan) || isGiven(planName)) {
    return loadPlan(deps, call, isGiven(plan) ? plan : planName)
  }
  if (isGiven(secret)) return loadCard(deps, call, secret)
  if (isGiven(name)) return loadOne(deps, call, await loadOfInclude(deps, call, { name }))
  throw new EntityRuleError(
    'query must name a balance (_id), a prepaid include, a charging plan or the secret of a card',
  )
}

interface Call extends BalanceUpdate {
  additional: Record<string, unknown> | undefined
  nowMs: number
}

function additionalOf({ additional, update }: BalanceUpdate): Call['additional'] {
  const wanted = isGiven(additional) ? additional : update['additional']
  if (!isGiven(wanted)) return undefined
  if (typeof wanted !== 'object') throw new EntityRuleError('additional must be an object')
  const text = JSON.stringify(wanted)
  if (text.length > ADDITIONAL_CHARACTERS_MAX) {
    throw new EntityRuleError(
      `additional must have at most ${ADDITIONAL_CHARACTERS_MAX} characters`,
    )
  }
  // As it is read back from the record, so that a repetition returns the same answer.
  const plain = JSON.parse(text) as Record<string, unknown>
  return Object.keys(plain).length === 0 ? undefined : plain
}

function operationAt({ update }: Call): LoadOperation {
  const { operation = 'inc' } = update
  if (!isGiven(operation) || operation === 'inc') return 'inc'
  if (MODES.includes(operation)) return operation as LoadOperation
  throw new EntityRuleError('operation must be inc, set or new')
}

function expirationAt({ query, update }: Call): unknown {
  const { expiration_date: requested } = query
  return isGiven(requested) ? requested : update['expiration_date']
}

function valueAt({ update }: Call, kind: Parameters<typeof creditOf>[1]): number {
  if (!isGiven(update['value'])) throw new EntityRuleError('value is missing')
  return creditOf(update['value'], kind, 'value')
}

/** Uses the bucket's own fields because its definition may no longer exist. */
async function loadOfBalance(deps: BalanceDeps, call: Call): Promise<Load> {
  const { query, nowMs } = call
  const id = String(query['_id'])
  const found = await findBucket(deps, id)
  if (found === null) throw new EntityRuleError(`there is no balance ${id}`)
  const { owner, bucket } = found
  if (bucket.counter !== '')
    throw new EntityRuleError(`balance ${id} counts usage: it has no credit`)
  for (const field of ['aid', 'sid'] as const) {
    if (!isGiven(query[field]) || Number(query[field]) === owner[field]) continue
    throw new EntityRuleError(`balance ${id} is not one of ${field} ${String(query[field])}`)
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
  wanted: { externalId?: unknown; name?: unknown },
): Promise<Load> {
  const { query, nowMs } = call
  const include = await includeOf(deps.catalog, wanted, nowMs)
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
    fromMs: nowMs,
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

async function wasDone(deps: BalanceDeps, operation: CreditOperation): Promise<boolean> {
  const { aid, operationId } = operation
  if ((await deps.ledger.findOperation(aid, operationId)) !== null) return true
  return (await findInFormerAccounts(deps, operation)) !== null
}

/** Null if it is refused because of a concurrent change after the check. */
async function commit(
  deps: BalanceDeps,
  operation: CreditOperation,
  nowMs: number,
): Promise<OperationLine | null> {
  const { ledger, config } = deps
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  const done = await findInFormerAccounts(deps, operation)
  if (done !== null) return done
  try {
    return await creditBucket(ledger, operation, settings, nowMs)
  } catch (error) {
    if (error instanceof InsufficientBalanceError) return null
    if (error instanceof OperationReusedError) throw new EntityRuleError(error.message)
    throw toEntityError(error)
  }
}

async function balancesAfter(
  deps: BalanceDeps,
  lines: readonly OperationLine[],
): Promise<LiveBalance[]> {
  const found = await Promise.all(lines.map((line) => bucketAt(deps.ledger, line)))
  return documentsOf(
    deps,
    found.filter((one) => one !== null),
  )
}

async function loadPlan(deps: BalanceDeps, call: Call, wanted: unknown): Promise<BalanceUpdated> {
  const { nowMs, operationId } = call
  const target = await resolveTarget(deps, call.query, nowMs)
  const plan = await findChargingPlan(deps.catalog, wanted, nowMs)
  const loads = await loadsOfPlan(deps, plan, planLoadRequest(call, target), nowMs)
  const note = { chargingType: 'Chargingplan', sourceRef: plan.name } as const
  const work = { loads, owner: headingOwner(loads), operationId, note }
  const isDone = await wasDone(deps, { mode: 'heading', ...work.owner, operationId })
  if (!isDone && (await isRefused(deps.ledger, loads, nowMs))) return REFUSED
  return loadAll(deps, call, work)
}

function planLoadRequest(call: Call, target: BalanceTarget) {
  return { target, operation: operationAt(call), expirationDate: expirationAt(call) }
}

/** Owner of the heading operation: the subscriber, if one is credited. */
function headingOwner(loads: readonly Load[]): SessionLocation {
  const location = loads.map((load) => load.owner).find(({ sid }) => sid !== 0) ?? loads[0]?.owner
  return location ?? { aid: 0, sid: 0 }
}

interface PlanWork {
  loads: readonly Load[]
  owner: SessionLocation
  operationId: string
  note: OperationNote
}

/**
 * Commits the heading first, then each bucket under its own operation id, so that nothing is
 * repeated.
 */
async function loadAll(
  deps: BalanceDeps,
  { additional, nowMs }: Call,
  { loads, owner, operationId, note }: PlanWork,
): Promise<BalanceUpdated> {
  const headNote = { ...note, ...(additional === undefined ? {} : { additional }) }
  const heading = { mode: 'heading', ...owner, operationId, note: headNote } as const
  const head = (await commit(deps, heading, nowMs)) as OperationLine
  const parentRef = operationStamp(owner.aid, operationId)
  const lines: OperationLine[] = []
  for (const [index, load] of loads.entries()) {
    const id = `${operationId}/${index + 1}`
    const line = await commit(deps, operationOf(load, id, { ...note, parentRef }), nowMs)
    if (line === null) {
      const done = `${lines.length} of ${loads.length} buckets were loaded`
      throw new EntityRuleError(`${done}: of ${load.name} less is available than is deducted`)
    }
    lines.push(line)
  }
  const entity = await balancesAfter(deps, lines)
  return { details: true, entity, line: balanceLineDocument(head, ''), operations: lines }
}

async function loadCard(deps: BalanceDeps, call: Call, secret: unknown): Promise<BalanceUpdated> {
  const { nowMs } = call
  const target = await resolveTarget(deps, call.query, nowMs)
  const requested = { secret, target, operationId: call.operationId }
  let card = await findCard(deps, requested, nowMs)
  const plan = await findChargingPlan(deps.catalog, card.document.charging_plan_name, nowMs)
  const loads = await loadsOfPlan(deps, plan, planLoadRequest(call, target), nowMs)
  if (!card.isClaimed) {
    if (await isRefused(deps.ledger, loads, nowMs)) return REFUSED
    const isMine = await claimCard(deps, card, target, call.operationId, nowMs)
    // The claim may be that of an earlier attempt of this call.
    if (!isMine) card = await findCard(deps, requested, nowMs)
  }
  const work = {
    loads,
    owner: headingOwner(loads),
    operationId: card.operationId,
    note: noteOf(card),
  }
  const loaded = await loadAll(deps, call, work)
  await finishCard(deps, card)
  return loaded
}

function noteOf({ document }: FoundCard): OperationNote {
  return { chargingType: 'Secret', sourceRef: document._id.toHexString() }
}
