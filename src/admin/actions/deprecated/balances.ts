/** `balances`: query and recharge balances. */
import { Type } from '@sinclair/typebox'
import { listOf, ref } from '../../../catalog/entities/json-schema.ts'
import type { RawParameters } from '../../../requests/raw-parameters.ts'
import { action, type EntityAction } from '../action.ts'
import { param } from '../parameters.ts'
import { queryBalances } from './balance-query.ts'
import { recharge } from './balance-recharge.ts'
import { methodOf } from './entity-calls.ts'

const METHODS = ['query', 'update'] as const

export const balances = action({
  name: 'balances',
  level: ['read', 'write'],
  about: 'Query and recharge balances',
  entityActions: entityActionsOf,
  parameters: Type.Object({
    method: param.optional(param.text(`Operation: ${METHODS.join(', ')}.`)),
    sid: param.optional(param.json('Number of the subscriber.')),
    from: param.optional(param.date('Query: balances valid from then; with `to`.')),
    to: param.optional(param.date('Query: balances valid until then; with `from`.')),
    pp_includes_name: param.optional(param.text('Query: name of a prepaid include.')),
    pp_includes_external_id: param.optional(param.json('Query: number of a prepaid include.')),
    aggregate: param.optional(
      param.flag('Query: whether each prepaid include has one sum; true by default.'),
    ),
    sort: param.optional(
      param.text('Query: names separated by commas; `pp_includes_external_id` by default.'),
    ),
    sortOrder: param.optional(param.json('Query: 1 (default) or -1.')),
    completeAvailableBalances: param.optional(
      param.flag('Query: whether prepaid includes without balance are shown as 0; the default.'),
    ),
    query: param.optional(param.object('Update: one member, which names what is loaded.')),
    upsert: param.optional(
      param.object('Update: `value` (credit is positive), `operation`, `expiration_date`.'),
    ),
    additional: param.optional(param.object('Update: stored in the line.')),
  }),
  notEchoed: secretParameters,
  answer: {
    details: listOf(ref<object>('balances.entity'), 'Balances; credit is negative.'),
  },
  example: {
    parameters: {
      method: 'update',
      sid: 7,
      query: { pp_includes_external_id: 1 },
      upsert: { value: 10 },
    },
    answer: { desc: 'Success updating balances', details: [] },
  },
  async run(parameters, call) {
    const method = methodOf(parameters.method, METHODS)
    return method === 'query' ? queryBalances(parameters, call) : recharge(parameters, call)
  },
})

/** `query` if it may have the secret of a card, also as JSON text with escape sequences. */
function secretParameters(raw: RawParameters): readonly string[] {
  const value = raw.get('query')
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return /secret|\\u/.test(text) ? ['query'] : []
}

function entityActionsOf(raw: RawParameters): readonly EntityAction[] {
  const method = raw.get('method')
  if (method === 'query') return [{ collection: 'balances', action: 'get' }]
  return method === 'update' ? [{ collection: 'balances', action: 'update' }] : []
}
