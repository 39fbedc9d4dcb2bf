/** `subscribers`: query, change and close subscribers, by the entity API. */
import { Type } from '@sinclair/typebox'
import { booleanOf } from '../../../requests/cast-value.ts'
import type { RawParameters } from '../../../requests/raw-parameters.ts'
import { action, type EntityAction } from '../action.ts'
import { param } from '../parameters.ts'
import { methodOf } from './entity-calls.ts'
import { closeSubscriber, updateSubscriber } from './subscriber-changes.ts'
import { querySubscribers, SUBSCRIBERS_ANSWER } from './subscriber-query.ts'

const METHODS = ['query', 'update', 'delete'] as const
const QUERY = 'Conditions: `sid`, `imsi` or `msisdn`; changes need `sid` or `_id`.'

export const subscribers = action({
  name: 'subscribers',
  level: ['read', 'write'],
  about: 'Query, change and close subscribers',
  entityActions: entityActionsOf,
  parameters: Type.Object({
    method: param.optional(param.text(`Operation: ${METHODS.join(', ')}.`)),
    query: param.optional(param.object(QUERY)),
    update: param.optional(param.object('Fields to change.')),
    track_history: param.optional(param.flag('Whether a new revision begins; true by default.')),
    keep_balances: param.optional(
      param.flag('Whether balances stay open: true for `update`, false for `delete`.'),
    ),
    keep_lines: param.optional(param.flag('Always true: lines are never moved.')),
  }),
  answer: SUBSCRIBERS_ANSWER,
  example: {
    parameters: { method: 'query', query: { sid: 7 } },
    answer: { desc: 'Success querying subscriber', details: [] },
  },
  async run(parameters, call) {
    const method = methodOf(parameters.method, METHODS)
    if (method === 'query') return querySubscribers(parameters.query, call)
    return method === 'update'
      ? updateSubscriber(parameters, call)
      : closeSubscriber(parameters, call)
  },
})

function entityActionsOf(raw: RawParameters): readonly EntityAction[] {
  const collection = 'subscribers'
  const method = raw.get('method')
  const keeps = booleanOf(raw.get('keep_balances')) ?? method === 'update'
  const closing = keeps ? [] : [{ collection: 'balances', action: 'delete' } as const]
  switch (method) {
    case 'query':
      return [{ collection, action: 'get' }]
    case 'update': {
      const tracks = booleanOf(raw.get('track_history')) ?? true
      return [{ collection, action: tracks ? 'closeandnew' : 'update' }, ...closing]
    }
    case 'delete':
      return [{ collection, action: 'close' }, ...closing]
    default:
      return []
  }
}
