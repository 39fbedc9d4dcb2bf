/** `querybillrun`: invoices of accounts. */

import { Type } from '@sinclair/typebox'
import { isInvoiceKey } from '../../billing/cycle/cycle-key.ts'
import { integerFrom } from '../../billing/payments/payment-order.ts'
import type { Filter } from '../../catalog/collections.ts'
import { listOf, ref } from '../../catalog/entities/json-schema.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import { missing } from '../../domain/field-errors.ts'
import { ActionError, parameterError } from '../../requests/errors.ts'
import { type ActionCall, action } from './action.ts'
import { invoiceView } from './invoice-view.ts'
import { ONE_OR_SEVERAL, param, WHOLE_NUMBERS } from './parameters.ts'

const IDS_MAX = 1_000
const INVOICES_MAX = 10_000

export const querybillrun = action({
  name: 'querybillrun',
  level: 'read',
  about: 'Invoices of accounts, by cycle',
  isReadByGet: true,
  parameters: Type.Object({
    aid: param.optional(param.json('Accounts.', ...WHOLE_NUMBERS)),
    sid: param.optional(param.json('Only invoices with these subscribers.', ...WHOLE_NUMBERS)),
    billrun: param.optional(param.json('Keys of cycles; all if not given.', ...ONE_OR_SEVERAL)),
  }),
  answer: { details: listOf(ref<object>('invoices.shown'), 'Invoices.') },
  example: { parameters: { aid: '1,2', billrun: '202610' }, answer: { details: [] } },
  async run({ aid: aids, sid: sids, billrun }, call) {
    const { catalog } = call
    const accounts = idsOf(aids, 'aid')
    const subscribers = idsOf(sids, 'sid')
    if (accounts === null && subscribers === null) {
      const text = 'Require to supply aid or sid'
      throw new ActionError(text, missing(['aid', 'sid'], text))
    }
    const keys = keysOf(billrun)
    const filter = {
      aid: { $in: accounts ?? (await accountsOf(call, subscribers ?? [])) },
      ...(subscribers !== null && { 'subs.sid': { $in: subscribers } }),
      ...(keys !== null && { billrun_key: { $in: keys } }),
    }
    const found = await catalog.reads.billrun
      .find(filter as Filter<BillrunDocument>)
      .sort({ aid: 1, billrun_key: 1 })
      .limit(INVOICES_MAX)
      .toArray()
    return { details: found.map((invoice) => invoiceView(invoice, call)) }
  },
})

/** Null without any valid number. Throws `ActionError` if only some are valid. */
function idsOf(value: unknown, name: string): number[] | null {
  if (value === undefined || value === '') return null
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  if (list.length > IDS_MAX)
    throw new ActionError(`Maximum of ${name} is ${IDS_MAX}`, { path: name })
  const ids = list.map((each) => integerFrom(typeof each === 'string' ? each.trim() : each))
  const valid = ids.filter((id) => id !== null)
  if (valid.length === 0) return null
  if (valid.length < ids.length) throw parameterError(name, 'should be of type Integer')
  return valid
}

/** All accounts to which these subscribers have belonged. */
async function accountsOf({ catalog }: ActionCall, sids: readonly number[]): Promise<number[]> {
  const filter = { type: 'subscriber', sid: { $in: sids } } as object
  const found = await catalog.reads.subscribers
    .find(filter, { projection: { _id: 0, aid: 1 } })
    .toArray()
  return [...new Set(found.map(({ aid }) => Number(aid)))]
}

function keysOf(value: unknown): string[] | null {
  if (value === undefined || value === '') return null
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  const keys = list.map((each) => String(each).trim())
  if (keys.length > IDS_MAX)
    throw new ActionError(`Maximum of billrun is ${IDS_MAX}`, { path: 'billrun' })
  if (!keys.every(isInvoiceKey)) {
    throw parameterError('billrun', 'must be a cycle key such as 202601')
  }
  return keys
}
