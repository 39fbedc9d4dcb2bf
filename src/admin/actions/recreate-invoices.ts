/** `recreateinvoices`: computes the unconfirmed invoices of the last cycle again. */
import { Type } from '@sinclair/typebox'
import { calendarOf } from '../../billing/credit/credits.ts'
import { keyAfter, keyAt } from '../../billing/cycle/cycle-key.ts'
import { runCycleOf } from '../../billing/cycle/run-cycle.ts'
import { readParked } from '../../billing/run/parked.ts'
import { runAccounts } from '../../billing/run/run-accounts.ts'
import { integer, listOf } from '../../catalog/entities/json-schema.ts'
import { ActionError, fieldRule } from '../../requests/errors.ts'
import { action } from './action.ts'
import { cycleOf } from './billrun/cycle-of.ts'
import { readSettings } from './billrun/parameters.ts'
import { param } from './parameters.ts'

const IDS_MAX = 1_000

export const recreateinvoices = action({
  name: 'recreateinvoices',
  level: 'write',
  about: 'Compute the unconfirmed invoices of accounts in the last cycle again',
  parameters: Type.Object({
    account_id: param.optional(param.json('Accounts: a list, or numbers separated by commas.')),
  }),
  answer: { successfulAccounts: listOf(integer('An account.'), 'Accounts that did not fail.') },
  example: { parameters: { account_id: '1,2' }, answer: { successfulAccounts: [1, 2] } },
  async run({ account_id: value }, call) {
    const aids = accountsOf(value)
    const calendar = calendarOf(call.config)
    const key = keyAfter(keyAt(call.nowMs, calendar), -1)
    const { multi_day_cycle: isMultiDay } = await readSettings(call)
    const invoicingDay = isMultiDay ? calendar.cycleDay : null
    const cycle = runCycleOf({ key, invoicingDay }, calendar)
    const parts = cycleOf(call)
    await parts.withWorkers((workers) => runAccounts({ ...parts, workers }, cycle, aids))
    const failed = new Set(
      (await readParked(parts, { run: cycle.id, state: 'parked' })).map(({ aid }) => aid),
    )
    return { successfulAccounts: aids.filter((aid) => !failed.has(aid)) }
  },
})

function accountsOf(value: unknown): number[] {
  const list: readonly unknown[] = Array.isArray(value)
    ? value
    : value === undefined || value === ''
      ? []
      : String(value).split(',')
  if (list.length === 0)
    throw new ActionError('Please supply at least one account id', {
      path: 'account_id',
      code: 'missing',
    })
  if (list.length > IDS_MAX) throw fieldRule('account_id', `has more than ${IDS_MAX} members`)
  const aids = list.flatMap((each) =>
    /^\s*[1-9]\d{0,14}\s*$/.test(String(each)) ? [Number(each)] : [],
  )
  if (aids.length === 0) throw new ActionError('Illegal aids', { path: 'account_id' })
  return [...new Set(aids)]
}
