/** `charge`: charges accounts through their payment gateways, or decides an open charge. */
import { Type } from '@sinclair/typebox'
import type { BillSelection } from '../../billing/charges/books.ts'
import { applyEvent, ChargeChangedError, readCharge } from '../../billing/charges/charge-store.ts'
import { chargeAccount } from '../../billing/charges/run.ts'
import { ChargeTransitionError } from '../../billing/charges/transitions.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import {
  anyValue,
  choice,
  integer,
  mapOf,
  object,
  text,
} from '../../catalog/entities/json-schema.ts'
import { CHARGE_SETTINGS } from '../../catalog/settings/gateway-settings.ts'
import { ActionError } from '../entities/errors.ts'
import { addJob } from '../jobs/jobs.ts'
import type { RunOptions } from '../payments/jobs.ts'
import { type ActionAnswer, type CommitPart, type MoneyCall, moneyAction } from './action.ts'
import { STAGES, stageOf } from './charge-view.ts'
import { param } from './parameters.ts'
import { paymentsOf } from './payments-of.ts'

const OPERATIONS = ['run', 'complete', 'reject'] as const
const IDS_MAX = 10_000

const PARAMETERS = Type.Object({
  operation: param.optional(
    param.choice(
      OPERATIONS,
      '`run` (default) charges accounts; the others decide the charge `id`, whose outcome is open.',
    ),
  ),
  id: param.optional(param.text('Id of the charge to decide.')),
  aids: param.optional(param.json('Accounts: a list, or numbers separated by commas.')),
  exclude_accounts: param.optional(param.json('Accounts that are not charged; likewise.')),
  invoices: param.optional(param.json('Numbers of the only invoices to charge; likewise.')),
  billrun_key: param.optional(param.text('Key of the only billing cycle to charge.')),
  min_invoice_date: param.optional(param.text('Date of the oldest invoice to charge.')),
  pay_mode: param.optional(param.text('`one_payment` (default), or `multiple_payments`.')),
  mode: param.optional(param.text('`charge` (default).')),
})

export const charge = moneyAction({
  name: 'charge',
  level: 'admin',
  about: 'Charge accounts through their payment gateways',
  parameters: PARAMETERS,
  answer: {
    details: {
      description: 'Results of one account, or the job of a run over several.',
      anyOf: [
        object('One account.', {
          completed: integer('1 if every charge is completed.'),
          skipped: text('Why nothing was charged.'),
          responses: mapOf(
            object('A charge.', {
              status: text("The gateway's word for the outcome."),
              stage: choice(STAGES, 'The outcome.'),
              additional_params: anyValue('Further members.'),
            }),
            'By id of the charge.',
          ),
        }),
        object('Several accounts.', { job: text('Id of the job (collection `jobs`).') }, ['job']),
      ],
    },
  },
  example: {
    parameters: { aids: '17', reason: 'monthly collection' },
    answer: {
      details: {
        completed: 1,
        responses: {
          tg_5f0c7e1a9b3d4c6e8f7a0b1c2d3e4f50: {
            status: 'succeeded',
            stage: 'Completed',
            additional_params: { aid: 17, amount: '70.20', attempt: 1 },
          },
        },
      },
    },
  },
  async run(sent, call) {
    const { operation = 'run', id, reason = '' } = sent
    if (operation !== 'run') return decide(call, id, operation)
    const options = { ...selectionOf(sent), ...modesOf(sent), reason }
    const aids = numbersOf(sent.aids, 'aids')
    const exclude = numbersOf(sent.exclude_accounts, 'exclude_accounts')
    if (aids !== undefined && exclude !== undefined) {
      throw new ActionError(
        'Wrong input! please choose between aids filter to exclude_accounts filter',
      )
    }
    const [aid, ...others] = aids ?? []
    if (aid !== undefined && others.length === 0) return chargeOne(call, aid, options)
    return beginRun(call, { ...options, aids, exclude })
  },
})

type Sent = { readonly [name in keyof typeof PARAMETERS.properties]?: unknown }

async function chargeOne(
  call: MoneyCall,
  aid: number,
  { payMode, reason, ...selection }: Omit<RunOptions, 'aids' | 'exclude'>,
): Promise<ActionAnswer> {
  const { charges: deps } = paymentsOf(call)
  const { actor } = call
  const wanted = { aid, selection, payMode, isNamed: true, run: '', actor, reason }
  // A repetition of the call continues with the charges that the first one has created.
  const { charges, skipped } = await chargeAccount(deps, wanted, async (write) => {
    const part = (commit: CommitPart) => commit('create charges', write)
    return (await call.commitPart(0, part)) as readonly string[]
  })
  const isCompleted = charges.length > 0 && charges.every(({ state }) => state === 'completed')
  const responses = Object.fromEntries(charges.map((charge) => [charge._id, stageOf(charge)]))
  const details = {
    completed: isCompleted ? 1 : 0,
    responses,
    ...(skipped !== null && { skipped }),
  }
  const entry = {
    collection: 'charges',
    type: 'charge',
    key: String(aid),
    new: { aid, reason, charges: charges.map(({ _id }) => _id), ...(skipped && { skipped }) },
  }
  return call.commit('answer a charge', async (session) => {
    appendAudit(session, call.actor, call.nowMs, entry)
    return { details }
  })
}

async function beginRun(call: MoneyCall, options: RunOptions): Promise<ActionAnswer> {
  const { actor, catalog, clock, nowMs } = call
  const run = { kind: 'charge', subject: `run ${nowMs}`, actor } as const
  const kept = JSON.parse(JSON.stringify(options)) as Record<string, unknown>
  return call.commit('begin a charge run', async (session) => {
    const job = await addJob({ catalog, clock }, session, { ...run, options: kept })
    return { details: { job: job._id.toHexString() } }
  })
}

async function decide(
  call: MoneyCall,
  id: string | undefined,
  operation: 'complete' | 'reject',
): Promise<ActionAnswer> {
  if (id === undefined || id === '') throw new ActionError('Following field/s are missing: id')
  const { charges: deps } = paymentsOf(call)
  const charge = await readCharge(deps.catalog, id)
  if (charge === null) throw new ActionError(`Unknown id ${id}`)
  const { retryDays } = await deps.settings.get(CHARGE_SETTINGS)
  const stage = operation === 'complete' ? 'completed' : 'rejected'
  try {
    const entry = { collection: 'charges', type: operation, key: id, new: { aid: charge.aid } }
    return await call.commit('decide a charge', async (session) => {
      appendAudit(session, call.actor, call.nowMs, entry)
      const event = { type: 'decide', stage } as const
      const after = await applyEvent(deps, charge, event, call.nowMs, { retryDays }, { session })
      return {
        details: { completed: stage === 'completed' ? 1 : 0, responses: { [id]: stageOf(after) } },
      }
    })
  } catch (error) {
    if (error instanceof ChargeTransitionError) {
      throw new ActionError(`Payment ${id} not applicable: it is ${charge.state}`)
    }
    if (error instanceof ChargeChangedError) {
      throw new ActionError(`Payment ${id} was changed at the same time: try again`)
    }
    throw error
  }
}

function selectionOf(sent: Sent): BillSelection {
  const { billrun_key: key, min_invoice_date: date } = sent
  if (typeof key === 'string' && !/^\d{6}$/.test(key)) {
    throw new ActionError('Wrong input! billrun key is invalid')
  }
  const dateMs = typeof date === 'string' ? Date.parse(date) : undefined
  if (Number.isNaN(dateMs)) {
    throw new ActionError('Wrong input! min_invoice_date filter is invalid')
  }
  return {
    invoices: numbersOf(sent.invoices, 'invoices'),
    billrunKey: typeof key === 'string' ? key : undefined,
    minInvoiceDateMs: dateMs,
  }
}

function modesOf({ pay_mode: payMode = 'one_payment', mode = 'charge' }: Sent) {
  if (payMode !== 'one_payment' && payMode !== 'multiple_payments') {
    throw new ActionError('Wrong input! pay_mode can be multiple_payments or one_payment')
  }
  if (mode === 'refund') throw new ActionError('mode refund is not supported: pay with dir tc')
  if (mode !== 'charge') throw new ActionError('Wrong input! mode can be charge or refund')
  return { payMode } as const
}

/** Undefined if absent. */
function numbersOf(given: unknown, name: string): readonly number[] | undefined {
  if (given === undefined || given === '') return undefined
  const list: readonly unknown[] = Array.isArray(given) ? given : String(given).split(',')
  if (list.length > IDS_MAX) throw new ActionError(`${name} has more than ${IDS_MAX} members`)
  const numbers = list.map((each) => {
    return /^\s*\d{1,15}\s*$/.test(String(each)) ? Number(each) : Number.NaN
  })
  if (numbers.length === 0 || numbers.some((each) => !(each > 0))) {
    throw new ActionError(`Wrong input! non numeric values in ${name} filter`)
  }
  return [...new Set(numbers)]
}
