/** `datausage`: subscribers of a plan by their data usage in a cycle. */

import { Type } from '@sinclair/typebox'
import { Decimal } from 'decimal.js'
import {
  closed,
  either,
  emptyList,
  integer,
  mapOf,
  text,
} from '../../../catalog/entities/json-schema.ts'
import { isCycleKey } from '../../../domain/cycle.ts'
import { missing } from '../../../domain/field-errors.ts'
import { amountOf, integerOf } from '../../../requests/cast-value.ts'
import { ActionError, parameterError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'

const SUBSCRIBERS_MAX = 50_000
const MEGABYTE = 1024 * 1024
const REQUIRED = ['plan', 'data_usage', 'from_account_id', 'to_account_id', 'billrun'] as const

export const datausage = action({
  name: 'datausage',
  level: 'read',
  about: 'Subscribers of a plan that have used more data than given in a cycle',
  entityActions: () => [{ collection: 'lines', action: 'get' }],
  isReadByGet: true,
  parameters: Type.Object({
    plan: param.optional(param.text('Name of the plan.')),
    data_usage: param.optional(param.json('Usage to be exceeded, in megabytes of 2^20 bytes.')),
    from_account_id: param.optional(param.json('First account.')),
    to_account_id: param.optional(param.json('Last account.')),
    billrun: param.optional(param.text('Key of the cycle.')),
  }),
  answer: {
    subscribers_count: integer('Number of subscribers.'),
    output: either(
      'The subscribers; an empty list if there are none.',
      closed('Some.', {
        aid: mapOf(
          closed('An account.', { subs: mapOf(text('Megabytes.'), 'By subscriber.') }),
          'By account.',
        ),
      }),
      emptyList(),
    ),
  },
  example: {
    parameters: {
      plan: 'GOLD',
      data_usage: 512,
      from_account_id: 1,
      to_account_id: 2000,
      billrun: '202611',
    },
    answer: { subscribers_count: 1, output: { aid: { 1001: { subs: { 7: '612.50' } } } } },
  },
  async run(parameters, call) {
    const absent = REQUIRED.filter(
      (name) => parameters[name] === undefined || parameters[name] === '',
    )
    if (absent.length > 0) {
      throw new ActionError(`Missing required parameter: ${absent[0]}`, missing(absent))
    }
    const { plan = '', billrun = '' } = parameters
    if (!isCycleKey(billrun)) throw new ActionError('Illegal billrun key', { path: 'billrun' })
    const megabytes = amountOf(parameters.data_usage)
    if (megabytes === null || megabytes.isNegative()) {
      throw parameterError('data_usage', 'should be of type Float')
    }
    const accounts = {
      $gte: accountAt(parameters.from_account_id, 'from_account_id'),
      $lte: accountAt(parameters.to_account_id, 'to_account_id'),
    }
    const rows = await usageOf(call, {
      filter: { aid: accounts, billrun, plan, usaget: 'data' },
      moreThan: megabytes.times(MEGABYTE).toNumber(),
    })
    return outputOf(rows)
  },
})

function accountAt(value: unknown, name: string): number {
  const aid = integerOf(value)
  if (aid === null) throw parameterError(name, 'should be of type Integer')
  return aid
}

interface UsageRow {
  readonly _id: { readonly aid: number; readonly sid: number }
  readonly bytes: number
}

async function usageOf(
  { catalog }: ActionCall,
  { filter, moreThan }: { readonly filter: object; readonly moreThan: number },
): Promise<readonly UsageRow[]> {
  const rows = await catalog.reads.lines
    .aggregate<UsageRow>(
      [
        { $match: filter },
        { $group: { _id: { aid: '$aid', sid: '$sid' }, bytes: { $sum: '$usagev' } } },
        { $match: { bytes: { $gt: moreThan } } },
        { $sort: { _id: 1 } },
        { $limit: SUBSCRIBERS_MAX + 1 },
      ],
      { allowDiskUse: true },
    )
    .toArray()
  if (rows.length <= SUBSCRIBERS_MAX) return rows
  throw new ActionError(
    `Maximum of subscribers is ${SUBSCRIBERS_MAX}: ask for fewer accounts`,
    'refused',
  )
}

function outputOf(rows: readonly UsageRow[]) {
  if (rows.length === 0) return { subscribers_count: 0, output: [] }
  const accounts: Record<string, { subs: Record<string, string> }> = {}
  for (const { _id, bytes } of rows) {
    accounts[_id.aid] ??= { subs: {} }
    const account = accounts[_id.aid]
    if (account !== undefined) account.subs[_id.sid] = megabytesOf(bytes)
  }
  return { subscribers_count: rows.length, output: { aid: accounts } }
}

function megabytesOf(bytes: number): string {
  return new Decimal(bytes).div(MEGABYTE).toFixed(2)
}
