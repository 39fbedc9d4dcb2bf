/** Method `update` of `balances`: a recharge, by `balances/update` of the entity API. */
import type { Catalog } from '../../../catalog/connection.ts'
import { type Fields, isEmpty, isObject } from '../../../domain/fields.ts'
import { locateBalance } from '../../../prepaid/balances/live.ts'
import { endOf } from '../../../rating/periods.ts'
import { amountOf, integerOf } from '../../../requests/cast-value.ts'
import { ActionError, fieldRule, parameterError } from '../../../requests/errors.ts'
import { DATES, dateOf } from '../../../requests/instant.ts'
import type { ActionCall } from '../action.ts'
import { accountOf, type BalancesAnswer, subscriberIn } from './balance-query.ts'
import { callEntity, idTextOf, withTextDates } from './entity-calls.ts'

const SECOND_MS = 1000

/** Parameters of the request. */
export interface RechargeParameters {
  readonly sid?: unknown
  readonly query?: Fields | undefined
  readonly upsert?: Fields | undefined
  readonly additional?: Fields | undefined
}

/** Rejects as the entity API does. */
export async function recharge(
  parameters: RechargeParameters,
  call: ActionCall,
): Promise<BalancesAnswer> {
  const sid = subscriberIn(parameters.sid)
  const { target, needsValue } = await targetOf(parameters.query ?? {}, sid, call)
  const upsert = parameters.upsert ?? {}
  const update = {
    ...(needsValue && { value: valueIn(upsert) }),
    ...operationIn(upsert),
    ...expiryIn(upsert, call),
  }
  const additional = additionalOf(parameters.additional ?? {}, upsert)
  const done = await callEntity(call, 'balances', 'update', {
    query: target,
    update,
    ...(Object.keys(additional).length > 0 && { additional }),
  })
  if (done.details !== true) {
    throw new ActionError(
      'Balance is not updated: less is available than is deducted, or the plan allows less',
      'refused',
    )
  }
  const { entity } = done
  const details: readonly unknown[] = Array.isArray(entity) ? entity : [entity]
  return {
    desc: 'Success updating balances',
    details: details.filter(isObject).map((one) => withTextDates(one, call) as object),
  }
}

/** How the entity API names what is loaded. */
interface Target {
  readonly target: Fields
  /** Charging plans and cards have their own values. */
  readonly needsValue: boolean
}

const NAMES: Readonly<Record<string, string>> = {
  _id: '_id',
  id: '_id',
  charging_plan: 'charging_plan',
  charging_plan_name: 'charging_plan',
  charging_plan_external_id: 'charging_plan_external_id',
  pp_includes_name: 'pp_includes_name',
  pp_includes_external_id: 'pp_includes_external_id',
  recurring: 'recurring',
  secret: 'secret',
}

async function targetOf(query: Fields, sid: number, call: ActionCall): Promise<Target> {
  const unknown = Object.keys(query).find((name) => !Object.hasOwn(NAMES, name))
  if (unknown !== undefined) {
    throw fieldRule(`query.${unknown.slice(0, 64)}`, 'is not known here', 'unknown')
  }
  const present = Object.entries(query).filter(([, value]) => !isEmpty(value) && value !== '')
  const [first] = present
  if (first === undefined || present.length > 1) {
    throw fieldRule('query', `must have exactly one of ${Object.keys(NAMES).join(', ')}`)
  }
  const [name, value] = first
  const owner = { sid, aid: await accountOf(call, sid) }
  const planned = (plan: unknown) => ({
    target: { ...owner, charging_plan: plan },
    needsValue: false,
  })
  switch (NAMES[name]) {
    case '_id': {
      const id = idTextOf(value)
      if (id === null) throw fieldRule(`query.${name}`, 'is not an id')
      return { target: { _id: id, ...(await ownerOf(id, sid, call)) }, needsValue: true }
    }
    case 'charging_plan':
      return planned(value)
    case 'charging_plan_external_id':
      return planned(await planByExternalId(call.catalog, value, call.nowMs))
    case 'recurring':
      return planned(await planOfRenewal(call.catalog, sid, call.nowMs))
    case 'secret':
      return { target: { ...owner, secret: value }, needsValue: false }
    default:
      return { target: { ...owner, [name]: value }, needsValue: true }
  }
}

/** The owner of a balance: the subscriber, or its account if the balance is shared. */
async function ownerOf(id: string, sid: number, call: ActionCall): Promise<Fields> {
  const found = await locateBalance(call.catalog, id)
  return found?.sid === 0 ? { aid: await accountOf(call, sid) } : { sid }
}

async function planByExternalId(catalog: Catalog, value: unknown, nowMs: number): Promise<string> {
  const id = integerOf(value)
  if (id === null) {
    throw parameterError('query.charging_plan_external_id', 'should be of type Integer')
  }
  const filter = { external_id: { $in: [id, String(id)] }, ...inForce(nowMs) }
  const found = await catalog.prepaidgroups.findOne(filter as object)
  if (found === null)
    throw new ActionError(`there is no charging plan with external_id ${id} now`, {
      path: 'query.charging_plan_external_id',
    })
  return found.name
}

/** The charging plan of the auto-renewal of a subscriber. */
async function planOfRenewal(catalog: Catalog, sid: number, nowMs: number): Promise<string> {
  const filter = { sid, ...inForce(nowMs) }
  const found = await catalog.autorenew
    .find(filter as object)
    .limit(2)
    .toArray()
  const [one] = found
  if (one !== undefined && found.length === 1) return one.bucket_group
  const count = found.length === 0 ? 'no auto-renewal' : 'more than one auto-renewal'
  throw fieldRule('query.recurring:', `subscriber ${sid} has ${count} now`)
}

function inForce(nowMs: number): object {
  const now = new Date(nowMs)
  return { from: { $lte: now }, to: { $gt: now }, deleted: { $ne: true } }
}

/** Credit is positive in this call, and negative in the entity API. */
function valueIn({ value }: Fields): string {
  if (isEmpty(value) || value === '') throw fieldRule('upsert.value', 'is missing', 'missing')
  const amount = amountOf(value)
  if (amount === null) throw parameterError('upsert.value', 'should be of type Float')
  return amount.isZero() ? '0' : amount.negated().toFixed()
}

function operationIn({ operation }: Fields): Fields {
  if (isEmpty(operation) || operation === '') return {}
  if (operation === 'inc' || operation === 'set' || operation === 'new') return { operation }
  throw fieldRule('upsert.operation', 'must be inc, set or new')
}

/** The credit ends with the last second of the day. */
function expiryIn({ expiration_date: value }: Fields, { config, nowMs }: ActionCall): Fields {
  if (isEmpty(value) || value === '') return {}
  const { timeZone } = config.rating
  const date = dateOf(value, { timeZone, nowMs })
  if (date === null) throw fieldRule('upsert.expiration_date', `must be ${DATES}`)
  const day = { months: 0, days: 1, hours: 0, untilMidnight: true }
  const endMs = endOf(day, date.getTime(), timeZone) - SECOND_MS
  return { expiration_date: new Date(endMs).toISOString() }
}

function additionalOf(additional: Fields, { additional_information: information }: Fields): Fields {
  if (isEmpty(information) || information === '') return additional
  return { ...additional, additional_information: information }
}
