/** `/billrun/completecycle`, `pausecycle`, `specificcycle` and `resetcycle`. */
import { Type } from '@sinclair/typebox'
import { runAccounts } from '../../../billing/run/run-accounts.ts'
import { beginRun, isAttended, pauseByHand, resetRun } from '../../../billing/run/runs.ts'
import type { CycleState } from '../../../billing/run/status.ts'
import { integer, object, text } from '../../../catalog/entities/json-schema.ts'
import { beginJob } from '../../../jobs/jobs.ts'
import { ActionError, missingParameters } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'
import { cycleOf } from './cycle-of.ts'
import { INVOICING_DAY, namedCycle, STAMP, stateOf } from './parameters.ts'

const REFUSED = {
  stamp: 'Need to pass correct billrun key',
  day: 'Need to pass invoicing day when on multi day cycle mode.',
}
const INVALID = "One or more of the parameters of the 'cycle' command is not valid"

export const completecycle = action({
  family: 'billrun',
  name: 'completecycle',
  level: 'admin',
  about: 'Compute the invoices of a cycle, in the background',
  parameters: Type.Object({
    stamp: STAMP,
    rerun: param.optional(param.flag('Replace the unconfirmed invoices of an earlier run.')),
    generate_pdf: param.optional(param.text('`true` or `false`; required.')),
    invoicing_day: INVOICING_DAY,
  }),
  answer: {
    details: object('The run.', {
      job: text('Id of the job (collection `jobs`).'),
      accounts: integer('Accounts to process.'),
    }),
  },
  example: {
    parameters: { stamp: '202611', generate_pdf: 'false' },
    answer: { details: { job: '655f1c3a9b3d4c6e8f7a0b1c', accounts: 1200 } },
  },
  async run(parameters, call) {
    const name = await namedCycle(call, parameters, REFUSED)
    const state = await stateOf(call, name)
    await refuseRun(call, state, parameters.rerun === true)
    const { generate_pdf: pdf } = parameters
    if (pdf === undefined || pdf === '') {
      throw missingParameters(['generate_pdf'])
    }
    if (pdf !== 'true' && pdf !== 'false') throw new ActionError(INVALID, { path: 'generate_pdf' })
    const { actor, catalog, clock } = call
    const { cycle } = state
    const rerun = parameters.rerun === true
    const { openAccounts } = cycleOf(call)
    const run = await beginRun(
      { catalog, clock, openAccounts },
      { cycle, rerun, generatePdf: pdf === 'true', actor },
    )
    const job = await beginJob(
      { catalog, clock },
      { kind: 'cycle', subject: cycle.id, options: { ...name }, actor },
    )
    return { details: { job: job._id.toHexString(), accounts: run.total } }
  },
})

async function refuseRun(
  call: ActionCall,
  { status, run, cycle }: CycleState,
  rerun: boolean,
): Promise<void> {
  if (status === 'current' || status === 'future') {
    throw new ActionError("Can't run billing cycle on active or future cycles", { path: 'stamp' })
  }
  if (status === 'running' && run?.state === 'running' && (await isAttended(call, run))) {
    const { key } = cycle
    throw new ActionError(`Billing cycle ${key} is already running on host ${run.host}`, 'refused')
  }
  if (status !== 'running' && status !== 'to_run' && !rerun) {
    throw new ActionError('For rerun pass rerun value as true', { path: 'rerun' })
  }
}

export const pausecycle = action({
  family: 'billrun',
  name: 'pausecycle',
  level: 'admin',
  about: 'Pause a run after the pages that are being computed; `completecycle` continues it',
  parameters: Type.Object({ stamp: STAMP, invoicing_day: INVOICING_DAY }),
  answer: {},
  example: { parameters: { stamp: '202611' }, answer: {} },
  async run(parameters, call) {
    const { cycle } = await stateOf(call, await namedCycle(call, parameters, REFUSED))
    if (await pauseByHand(call, cycle, call.actor)) return {}
    throw new ActionError(`Billing cycle ${cycle.key} is not running`, 'refused')
  },
})

/** Members of an answer about computed accounts. */
export const COUNTS = {
  accounts: integer('Processed.'),
  invoices: integer('With an invoice.'),
  empty: integer('Without anything to invoice.'),
  confirmed: integer('Not changed: their invoice is confirmed.'),
  failed: integer('Failed; `cycle` has the reasons.'),
}

/** A call computes at most as many accounts. */
const AIDS_MAX = 1_000

export const specificcycle = action({
  family: 'billrun',
  name: 'specificcycle',
  level: 'admin',
  about: 'Compute the invoices of given accounts',
  parameters: Type.Object({
    stamp: STAMP,
    aids: param.optional(param.json('The accounts: a JSON list of numbers.')),
    invoicing_day: INVOICING_DAY,
  }),
  answer: {
    details: object('Accounts by result.', COUNTS),
  },
  example: {
    parameters: { stamp: '202611', aids: [17] },
    answer: { details: { accounts: 1, invoices: 1, empty: 0, confirmed: 0, failed: 0 } },
  },
  async run(parameters, call) {
    const name = await namedCycle(call, parameters, REFUSED)
    const aids = aidsOf(parameters.aids)
    const { status, cycle } = await stateOf(call, name)
    if (status !== 'to_run' && status !== 'finished' && status !== 'to_rerun') {
      throw new ActionError("Can't Run", 'refused')
    }
    const parts = cycleOf(call)
    const counts = await parts.withWorkers((workers) =>
      runAccounts({ ...parts, workers }, cycle, aids),
    )
    return { details: { ...counts } }
  },
})

export function aidsOf(value: unknown): number[] {
  const list = Array.isArray(value) ? (value as unknown[]) : value === undefined ? [] : [value]
  if (list.length === 0 || value === '')
    throw new ActionError('Need to supply at least one account id', {
      path: 'aids',
      code: 'missing',
    })
  const aids = list.map((each) => (/^\s*[1-9]\d{0,14}\s*$/.test(String(each)) ? Number(each) : 0))
  // The text of existing clients.
  if (aids.includes(0) || aids.length > AIDS_MAX)
    throw new ActionError("Illgal account id's", { path: 'aids' })
  return [...new Set(aids)]
}

export const resetcycle = action({
  family: 'billrun',
  name: 'resetcycle',
  level: 'admin',
  about: 'Forget the progress of a finished run, so that the cycle can be run again',
  parameters: Type.Object({ stamp: STAMP, invoicing_day: INVOICING_DAY }),
  answer: {},
  example: { parameters: { stamp: '202611' }, answer: {} },
  async run(parameters, call) {
    const name = await namedCycle(call, parameters, REFUSED)
    const { cycle, status } = await stateOf(call, name)
    const isReset = status === 'finished' && (await resetRun(call, cycle, call.actor))
    if (!isReset) throw new ActionError('error', 'refused')
    return {}
  },
})
