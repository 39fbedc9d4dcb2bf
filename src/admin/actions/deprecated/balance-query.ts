/** Method `query` of `balances`. */

import { moneyOf } from '../../../catalog/records/usage/money-value.ts'
import { flipCreditSign } from '../../../domain/balance-sign.ts'
import { about } from '../../../domain/field-errors.ts'
import { type Fields, isEmpty } from '../../../domain/fields.ts'
import { DEFINITIONS } from '../../../entities/definitions/collections.ts'
import { recordRead } from '../../../entities/read-records.ts'
import { findBalances } from '../../../prepaid/balances/find.ts'
import type { LiveBalance } from '../../../prepaid/balances/live.ts'
import { compareValues } from '../../../prepaid/balances/matcher.ts'
import { integerOf } from '../../../requests/cast-value.ts'
import { ActionError, fieldRule, parameterError } from '../../../requests/errors.ts'
import type { ActionCall } from '../action.ts'
import { documentView } from './entity-calls.ts'

/** Codes of the existing system. */
export const CODES = { noSubscriber: 1231, twoIncludes: 1232, notFound: 1234 } as const
const SORTABLE = ['from', 'to', 'pp_includes_external_id', 'pp_includes_name', 'priority'] as const
type SortField = (typeof SORTABLE)[number]

/** Parameters of the request. */
export interface BalanceParameters {
  readonly sid?: unknown
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly pp_includes_name?: string | undefined
  readonly pp_includes_external_id?: unknown
  readonly aggregate?: boolean | undefined
  readonly sort?: string | undefined
  readonly sortOrder?: unknown
  readonly completeAvailableBalances?: boolean | undefined
}

export interface BalancesAnswer {
  readonly desc: string
  readonly details: readonly object[]
}

export async function queryBalances(
  parameters: BalanceParameters,
  call: ActionCall,
): Promise<BalancesAnswer> {
  const { aggregate = true, completeAvailableBalances: completes = true } = parameters
  const sid = subscriberIn(parameters.sid)
  const isSelected = includeFilter(parameters)
  const isValid = validityFilter(parameters, call.nowMs)
  const order = orderOf(parameters)
  const aid = await accountOf(call, sid)
  const found = (await readBalances(call, aid, sid)).filter(
    (one) => isSelected(one) && isValid(one),
  )
  const rows: Fields[] = aggregate ? aggregated(found) : found.map((one) => ({ ...one }))
  const missing = completes ? await missingBalances(call, { aid, sid }, found.map(includeIdOf)) : []
  const all = [...rows, ...missing.filter(isSelected)].sort(order)
  if (all.length === 0) throw new ActionError('Balances not found', 'target', CODES.notFound)
  const hidden = DEFINITIONS.get('balances')?.hidden ?? []
  return {
    desc: 'Success querying balances',
    details: all.map((one) => documentView(one, call, hidden)),
  }
}

/** Throws `ActionError`. */
export function subscriberIn(value: unknown): number {
  const sid = isEmpty(value) || value === '' ? null : integerOf(value)
  if (sid !== null && sid > 0) return sid
  if (isEmpty(value) || value === '') {
    throw new ActionError(...about('sid', 'is missing', 'missing'), CODES.noSubscriber)
  }
  const [text, issues] = about('sid', 'should be of type Integer')
  throw new ActionError(`Field ${text}`, issues, CODES.noSubscriber)
}

type Include = Pick<LiveBalance, 'pp_includes_external_id' | 'pp_includes_name'>

function includeIdOf({ pp_includes_external_id: id }: Include): number {
  return id
}

function includeFilter(parameters: BalanceParameters): (one: Include) => boolean {
  const { pp_includes_name: name = '', pp_includes_external_id: idValue } = parameters
  const hasId = !isEmpty(idValue) && idValue !== ''
  if (name !== '' && hasId) {
    throw new ActionError(
      'pp_includes_name and pp_includes_external_id cannot be combined',
      { path: 'pp_includes_name' },
      CODES.twoIncludes,
    )
  }
  if (name !== '') return (one) => one.pp_includes_name === name
  if (!hasId) return () => true
  const id = integerOf(idValue)
  if (id === null) throw parameterError('pp_includes_external_id', 'should be of type Integer')
  return (one) => one.pp_includes_external_id === id
}

/** Without dates, what is valid now; otherwise what is valid at some time of the period. */
function validityFilter(
  { from, to }: BalanceParameters,
  nowMs: number,
): (one: LiveBalance) => boolean {
  if ((from === undefined) !== (to === undefined)) {
    const path = from === undefined ? 'from' : 'to'
    throw new ActionError('from and to must be given together', { path, code: 'missing' })
  }
  const [beginMs, endMs] = [from?.getTime() ?? nowMs, to?.getTime() ?? nowMs]
  if (beginMs > endMs) throw new ActionError('from is after to', { path: 'from' })
  return (one) => one.from.getTime() <= endMs && one.to.getTime() > beginMs
}

function orderOf({
  sort = '',
  sortOrder: value,
}: BalanceParameters): (a: Fields, b: Fields) => number {
  const names = sort === '' ? ['pp_includes_external_id'] : sort.split(',').map((one) => one.trim())
  const isKnown = (name: string): name is SortField => SORTABLE.some((each) => each === name)
  const unknown = names.find((name) => !isKnown(name))
  if (unknown !== undefined) {
    throw fieldRule('sort:', `${unknown.slice(0, 64)} is not one of ${SORTABLE.join(', ')}`)
  }
  const direction = isEmpty(value) || value === '' ? 1 : integerOf(value)
  if (direction !== 1 && direction !== -1) throw fieldRule('sortOrder', 'must be 1 or -1')
  return (a, b) => {
    const orders = names.map((name) => compareValues(a[name], b[name]) * direction)
    return orders.find((order) => order !== 0) ?? 0
  }
}

/** The current account of a subscriber (in MongoDB, that of its last revision), or null. */
export async function findAccountOf(
  { catalog, lookup, nowMs }: Pick<ActionCall, 'catalog' | 'lookup' | 'nowMs'>,
  sid: number,
): Promise<number | null> {
  const customers = await lookup.subscribers([sid], nowMs)
  if (customers !== null) return aidOf(customers.get(sid))
  const filter = { type: 'subscriber', sid, deleted: { $ne: true } } as const
  const stored = await catalog.subscribers.findOne(filter, { sort: { from: -1 } })
  return aidOf(stored)
}

const aidOf = (found: Fields | null | undefined) =>
  found === null || found === undefined ? null : Number(found.aid)

export async function accountOf(
  call: Pick<ActionCall, 'catalog' | 'lookup' | 'nowMs'>,
  sid: number,
): Promise<number> {
  const aid = await findAccountOf(call, sid)
  if (aid === null) throw new ActionError('Subscriber not found', 'target', CODES.noSubscriber)
  return aid
}

const BALANCES_MAX = 10_000

/** Balances of a subscriber, and those that its account shares. */
async function readBalances(
  { entityApi, actor }: ActionCall,
  aid: number,
  sid: number,
): Promise<readonly LiveBalance[]> {
  const filter = { aid: { $in: [aid] }, sid: { $in: [sid, 0] } }
  const page = { sort: { priority: -1, to: 1 } as const, skip: 0, limit: BALANCES_MAX }
  const { balances } = await findBalances(entityApi.stores, filter, page)
  const definition = DEFINITIONS.get('balances')
  if (definition !== undefined) {
    const rows = balances.map((one) => ({ ...one }))
    await recordRead(entityApi.stores, actor, { definition, action: 'get', filter, rows })
  }
  return balances
}

/** One document for each prepaid include and owner; counters of usage are shown as they are. */
function aggregated(balances: readonly LiveBalance[]): Fields[] {
  const groups = new Map<string, LiveBalance[]>()
  const counters: Fields[] = []
  for (const one of balances) {
    const { connection_type: type, pp_includes_external_id: id, sid } = one
    if (type !== 'prepaid') counters.push({ ...one })
    else groups.set(`${sid}/${id}`, [...(groups.get(`${sid}/${id}`) ?? []), one])
  }
  return [...[...groups.values()].map(sumOf), ...counters]
}

function sumOf(parts: readonly LiveBalance[]): Fields {
  const [first] = parts as readonly [LiveBalance, ...LiveBalance[]]
  const times = (name: 'from' | 'to') => parts.map((one) => one[name].getTime())
  const free = parts.reduce((sum, one) => sum + one.free, 0)
  return {
    ...common(first),
    from: new Date(Math.min(...times('from'))),
    to: new Date(Math.max(...times('to'))),
    balance: amountsOf(first, free),
  }
}

type Terms = Pick<
  LiveBalance,
  | 'aid'
  | 'sid'
  | 'pp_includes_external_id'
  | 'pp_includes_name'
  | 'charging_by'
  | 'charging_by_usaget'
  | 'priority'
  | 'shared'
  | 'unlimited'
>

function common(one: Terms): Fields {
  const { aid, sid, pp_includes_external_id, pp_includes_name, ...terms } = one
  const { charging_by, charging_by_usaget, priority, shared, unlimited } = terms
  return {
    aid,
    sid,
    connection_type: 'prepaid',
    pp_includes_external_id,
    pp_includes_name,
    charging_by,
    charging_by_usaget,
    priority,
    shared,
    unlimited,
  }
}

/** `free`: units or micros. */
function amountsOf({ charging_by: by, charging_by_usaget: usaget }: Terms, free: number): Fields {
  if (by === 'usagev') return { totals: { [usaget]: { usagev: flipCreditSign(free) } } }
  const cost = flipCreditSign(moneyOf(free))
  return by === 'cost' ? { totals: { [usaget]: { cost } } } : { cost }
}

/** A balance of 0 for each prepaid include in force of which the subscriber has none. */
async function missingBalances(
  { catalog, nowMs }: ActionCall,
  { aid, sid }: { readonly aid: number; readonly sid: number },
  present: readonly number[],
): Promise<(Fields & Include)[]> {
  const now = new Date(nowMs)
  const filter = { from: { $lte: now }, to: { $gt: now }, deleted: { $ne: true } } as const
  const includes = await catalog.prepaidincludes
    .find({ ...filter, external_id: { $nin: [...present] } })
    .toArray()
  return includes.map((include) => {
    const { external_id: id, name, charging_by, charging_by_usaget, priority } = include
    const [shared, unlimited] = [include.shared === true, include.unlimited === true]
    const terms = { charging_by, charging_by_usaget, priority, shared, unlimited } as const
    const names = { pp_includes_external_id: id, pp_includes_name: name }
    const owned = { aid, sid: shared ? 0 : sid, ...names, ...terms } as Terms
    return { ...common(owned), ...names, balance: amountsOf(owned, 0) }
  })
}
