/** Methods `update` and `delete` of `subscribers`. */
import { about } from '../../../domain/field-errors.ts'
import { type Fields, isEmpty, isObject } from '../../../domain/fields.ts'
import { findBalances } from '../../../prepaid/balances/find.ts'
import { integerOf } from '../../../requests/cast-value.ts'
import { ActionError, fieldRule } from '../../../requests/errors.ts'
import type { ActionCall } from '../action.ts'
import {
  callEntity,
  currentRevision,
  type EntityAnswer,
  idTextOf,
  revisionById,
} from './entity-calls.ts'
import { identityIn, type SubscribersAnswer, subscriberView } from './subscriber-query.ts'

/** Codes of the existing system. */
const CODES = {
  closeQuery: 1012,
  closeSid: 1014,
  closeNotFound: 1015,
  updateNotFound: 1037,
  updateSid: 1042,
  updateId: 1043,
} as const

/** Parameters of the request. */
export interface SubscriberParameters {
  readonly query?: Fields | undefined
  readonly update?: Fields | undefined
  readonly track_history?: boolean | undefined
  readonly keep_balances?: boolean | undefined
  readonly keep_lines?: boolean | undefined
}

/** Rejects as the entity API does. */
export async function closeSubscriber(
  parameters: SubscriberParameters,
  call: ActionCall,
): Promise<SubscribersAnswer> {
  const { query = {}, keep_balances: keepsBalances = false } = parameters
  if (isEmpty(query))
    throw new ActionError(...about('query', 'is missing', 'missing'), CODES.closeQuery)
  if (isEmpty(query['sid']))
    throw new ActionError(...about('query.sid', 'is missing', 'missing'), CODES.closeSid)
  const current = await currentRevision(call, 'subscribers', identityIn(query) ?? {})
  if (current === null) throw new ActionError('Subscriber not found', 'target', CODES.closeNotFound)
  const closed = await callEntity(call, 'subscribers', 'close', {
    query: { _id: String(current['_id']) },
  })
  if (!keepsBalances) await closeBalances(call, current)
  return { desc: 'Success deleting subscriber', ...warningsOf(closed) }
}

/** Rejects as the entity API does. */
export async function updateSubscriber(
  parameters: SubscriberParameters,
  call: ActionCall,
): Promise<SubscribersAnswer> {
  const {
    track_history: tracks = true,
    keep_balances: keepsBalances = true,
    keep_lines,
  } = parameters
  if (keep_lines === false) {
    throw fieldRule('keep_lines', 'cannot be false: lines stay with their subscriber')
  }
  const before = await targetOf(parameters.query ?? {}, call)
  const update = changesOf(parameters.update ?? {}, before)
  const changed = await callEntity(call, 'subscribers', tracks ? 'closeandnew' : 'update', {
    query: { _id: String(before['_id']) },
    update,
  })
  const id = isObject(changed.entity) ? idTextOf(changed.entity['_id']) : null
  const after = id === null ? null : await revisionById(call, 'subscribers', id)
  if (!keepsBalances) await closeBalances(call, after ?? before)
  return {
    desc: 'Success updating subscriber',
    details: {
      before: subscriberView(before, call),
      after: after === null ? null : subscriberView(after, call),
    },
    ...warningsOf(changed),
  }
}

function warningsOf({ warnings }: EntityAnswer) {
  return warnings === undefined ? {} : { warnings }
}

/** The revision in force with this `sid`, or the revision with this `_id`. */
async function targetOf(query: Fields, call: ActionCall): Promise<Fields> {
  const { _id: idValue } = query
  const found = isEmpty(idValue)
    ? await bySid(query, call)
    : await revisionById(call, 'subscribers', knownId(idValue))
  if (found !== null && found['type'] === 'subscriber') return found
  throw new ActionError('Subscriber not found', 'target', CODES.updateNotFound)
}

async function bySid(query: Fields, call: ActionCall): Promise<Fields | null> {
  if (isEmpty(query['sid']))
    throw new ActionError(...about('query.sid', 'is missing', 'missing'), CODES.updateSid)
  return currentRevision(call, 'subscribers', identityIn(query) ?? {})
}

function knownId(value: unknown): string {
  const id = idTextOf(value)
  if (id === null) throw new ActionError(...about('query._id', 'is not an id'), CODES.updateId)
  return id
}

const CHANGEABLE: readonly string[] = [
  'imsi',
  'msisdn',
  'aid',
  'sid',
  'plan',
  'language',
  'service_provider',
  'service',
]

/** Fields of the entity API. A service is added to those of the subscriber. */
function changesOf(update: Fields, before: Fields): Fields {
  const unknown = Object.keys(update).find((name) => !CHANGEABLE.includes(name))
  if (unknown !== undefined) {
    throw fieldRule(`update.${unknown.slice(0, 64)}`, 'cannot be changed by this call')
  }
  const { sid, service, imsi, ...others } = update
  if (!isEmpty(sid) && integerOf(sid) !== before['sid']) {
    throw fieldRule('update.sid', 'cannot change: create the other subscriber')
  }
  const changes = {
    ...others,
    ...(imsi !== undefined && { imsi: Array.isArray(imsi) ? imsi : [imsi] }),
    ...(service !== undefined && { services: withService(before['services'], service) }),
  }
  if (Object.keys(changes).length === 0) throw fieldRule('update', 'has no fields to change')
  return changes
}

function withService(stored: unknown, added: unknown): readonly unknown[] {
  const kept = Array.isArray(stored) ? stored.filter(isObject).map(asReceived) : []
  return [...kept, ...(Array.isArray(added) ? added : [added])]
}

/** Dates as texts, as in requests. */
function asReceived(entry: Fields): Fields {
  const members = Object.entries(entry)
  return Object.fromEntries(
    members.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  )
}

/** Deletes the credit of a subscriber; counters of usage end with their period. */
async function closeBalances(call: ActionCall, { aid, sid }: Fields): Promise<void> {
  const page = { sort: {}, skip: 0, limit: call.config.entities.pageSizeMax }
  const filter = { aid: { $in: [aid] }, sid: { $in: [sid] }, connection_type: 'prepaid' }
  const { balances } = await findBalances(call.entityApi.stores, filter, page)
  for (const { _id, bucket_id: bucket } of balances) {
    const id = call.operationId === null ? null : `${call.operationId}/${bucket}`
    await callEntity(call, 'balances', 'delete', { query: { _id: String(_id) } }, id)
  }
}
