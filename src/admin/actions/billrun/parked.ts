/** `/billrun/retryparked` and `skipparked`: accounts that failed in a run. */
import { Type } from '@sinclair/typebox'
import { skipParked } from '../../../billing/run/parked.ts'
import { retryParked } from '../../../billing/run/run-accounts.ts'
import { integer, object } from '../../../catalog/entities/json-schema.ts'
import { ActionError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'
import { cycleOf } from './cycle-of.ts'
import { INVOICING_DAY, namedCycle, STAMP, stateOf } from './parameters.ts'
import { aidsOf, COUNTS } from './run-cycle.ts'

const REFUSED = {
  stamp: 'Need to pass correct billrun key',
  day: 'Need to pass invoicing day when on multi day cycle mode.',
}

const PARAMETERS = Type.Object({
  stamp: STAMP,
  aids: param.optional(param.json('The only accounts: a JSON list of numbers; all without it.')),
  invoicing_day: INVOICING_DAY,
})

export const retryparked = action({
  family: 'billrun',
  name: 'retryparked',
  level: 'admin',
  about: 'Compute accounts again that failed in a run',
  parameters: PARAMETERS,
  answer: { details: object('Accounts by result.', COUNTS) },
  example: {
    parameters: { stamp: '202611', aids: [17] },
    answer: { details: { accounts: 1, invoices: 1, empty: 0, confirmed: 0, failed: 0 } },
  },
  async run(parameters, call) {
    const { cycle, aids } = await namedAccounts(parameters, call)
    const parts = cycleOf(call)
    const counts = await parts.withWorkers((workers) =>
      retryParked({ ...parts, workers }, cycle, aids),
    )
    return { details: { ...counts } }
  },
})

export const skipparked = action({
  family: 'billrun',
  name: 'skipparked',
  level: 'admin',
  about: 'Leave accounts that failed without an invoice in this cycle',
  parameters: PARAMETERS,
  answer: { details: object('The result.', { skipped: integer('Accounts that are left out.') }) },
  example: { parameters: { stamp: '202611', aids: [17] }, answer: { details: { skipped: 1 } } },
  async run(parameters, call) {
    const { cycle, aids } = await namedAccounts(parameters, call)
    return { details: { skipped: await skipParked(call, cycle.id, aids, call.actor) } }
  },
})

interface AccountParameters {
  readonly stamp?: string
  readonly invoicing_day?: string
  readonly aids?: unknown
}

/** A run that is under way counts its accounts itself. */
async function namedAccounts(parameters: AccountParameters, call: ActionCall) {
  const aids =
    parameters.aids === undefined || parameters.aids === '' ? null : aidsOf(parameters.aids)
  const { cycle, run } = await stateOf(call, await namedCycle(call, parameters, REFUSED))
  if (run?.state === 'running') {
    throw new ActionError(`Billing cycle ${cycle.key} is running: wait, or pause it`, 'refused')
  }
  return { cycle, aids }
}
