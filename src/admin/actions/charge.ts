/** `charge`: charges or refunds accounts through payment gateways, or decides an open charge. */
import type { AccountRun } from '../../billing/charges/account-run.ts'
import { applyEvent, ChargeChangedError, readCharge } from '../../billing/charges/charge-store.ts'
import { askNow } from '../../billing/charges/due.ts'
import { chargeAccount } from '../../billing/charges/run.ts'
import { ChargeTransitionError } from '../../billing/charges/transitions.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import { closed, either, integer, mapOf, text } from '../../catalog/entities/json-schema.ts'
import { PAYMENTS } from '../../catalog/settings/money/payment-settings.ts'
import type { RunOptions } from '../../jobs/charge-jobs.ts'
import { addJob } from '../../jobs/jobs.ts'
import { ActionError, fieldRule, missingParameters } from '../../requests/errors.ts'
import { type AnswerOf, type CommitPart, type MoneyCall, moneyAction } from './action.ts'
import {
  CHARGE_PARAMETERS,
  type ChargeOrder,
  chargeOrderOf,
  type PaymentData,
  refuseUnknownNames,
} from './charge-parameters.ts'
import { CHARGE_STAGE, stageOf } from './charge-view.ts'

const ANSWER = {
  details: either(
    'Results of one account, or the job of a run over several.',
    closed(
      'One account.',
      {
        completed: integer('1 if every charge is completed.'),
        skipped: text('Why nothing was charged: `no card`, `no bills`, `no charge`.'),
        responses: mapOf(CHARGE_STAGE, 'By id of the charge.'),
      },
      ['skipped'],
    ),
    closed('Several accounts.', { job: text('Id of the job (collection `jobs`).') }),
    closed('Mode `pending`.', { asked: integer('Number of charges that are asked for.') }),
  ),
} as const

type ChargeAnswer = AnswerOf<typeof ANSWER>

export const charge = moneyAction({
  name: 'charge',
  level: 'admin',
  about: 'Charge or refund accounts through their payment gateways',
  paths: ['/billrun/chargeaccount'],
  parameters: CHARGE_PARAMETERS,
  notEchoed: ['payment_data'],
  answer: ANSWER,
  example: {
    parameters: { aids: '17', reason: 'monthly collection' },
    answer: {
      details: {
        completed: 1,
        responses: {
          tg_5f0c7e1a9b3d4c6e8f7a0b1c2d3e4f50: {
            status: 'succeeded',
            stage: 'Completed',
            additional_params: { aid: 17, amount: '70.20', attempt: 1, txid: '0000000000042' },
          },
        },
      },
    },
  },
  variant(raw) {
    refuseUnknownNames(raw)
    return null
  },
  async run(parameters, call) {
    const { operation = 'run', id, reason = '' } = parameters
    if (operation !== 'run') return decide(call, id, operation)
    const order = await chargeOrderOf(parameters, call)
    const { mode, aids = [] } = order
    if (mode === 'pending') {
      const queried = await askNow(call.payments.charges, aids)
      return { details: { asked: queried } }
    }
    const [aid, ...others] = aids
    if (aid !== undefined && others.length === 0) {
      return chargeOne(call, { ...order, mode }, aid, reason)
    }
    return beginRun(call, { ...order, mode }, reason)
  },
})

type RunOrder = ChargeOrder & Pick<Required<RunOptions>, 'mode'>

async function chargeOne(
  call: MoneyCall,
  order: RunOrder,
  aid: number,
  reason: string,
): Promise<ChargeAnswer> {
  const { charges: deps } = call.payments
  const { actor } = call
  const { selection, payMode, mode, amount, uf, paymentData } = order
  const card = paymentData === undefined ? undefined : await cardOf(call, paymentData)
  const terms = { selection, payMode, mode, amount, card, uf, isNamed: true, run: '' }
  const accountRun: AccountRun = { aid, ...terms, actor, reason }
  // A repetition of the call continues with the charges that the first one has created.
  const { charges, skipped } = await chargeAccount(deps, accountRun, async (write) => {
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
    type: mode,
    key: String(aid),
    new: { aid, reason, charges: charges.map(({ _id }) => _id), ...(skipped && { skipped }) },
  }
  return call.commit('answer a charge', async (session) => {
    appendAudit(session, call.actor, call.nowMs, entry)
    return { details }
  })
}

/** The card of `payment_data`, which is charged by an enabled gateway. */
async function cardOf(
  { payments: { gateways }, nowMs }: MoneyCall,
  { name, cardToken, customerId }: PaymentData,
): Promise<AccountRun['card']> {
  const names = (await gateways.list()).map(({ instanceName }) => instanceName)
  if (names.length === 0) throw new ActionError('No payment gateway is configured', 'refused')
  if (!names.includes(name)) {
    throw fieldRule('payment_data.name', `must be one of ${names.join(', ')}`)
  }
  return { gateway: name, cardToken, customerId, madeMs: nowMs }
}

async function beginRun(call: MoneyCall, order: RunOrder, reason: string): Promise<ChargeAnswer> {
  const { actor, catalog, clock, nowMs } = call
  const { selection, payMode, mode, uf, exclude, page } = order
  const run = { kind: 'charge', subject: `run ${nowMs}`, actor } as const
  const isPage = order.aids === undefined && page !== null
  const aids = page === null ? order.aids : await accountsOf(call, order, page)
  const options: RunOptions = { ...selection, aids, exclude, isPage, payMode, mode, uf, reason }
  const kept = JSON.parse(JSON.stringify(options)) as Record<string, unknown>
  return call.commit('begin a charge run', async (session) => {
    const job = await addJob({ catalog, clock }, session, { ...run, options: kept })
    return { details: { job: job._id.toHexString() } }
  })
}

/** A page of the named accounts, or of all that have bills, by number: pages do not shift. */
async function accountsOf(
  { catalog }: MoneyCall,
  { aids, exclude = [] }: RunOrder,
  { number, size }: NonNullable<ChargeOrder['page']>,
): Promise<readonly number[]> {
  const skip = number * size
  if (aids !== undefined) {
    return [...aids].sort((one, other) => one - other).slice(skip, skip + size)
  }
  const found = await catalog.books
    .find({ _id: { $nin: [...exclude] } }, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .skip(skip)
    .limit(size)
    .toArray()
  return found.map(({ _id }) => _id)
}

async function decide(
  call: MoneyCall,
  id: string | undefined,
  operation: 'complete' | 'reject',
): Promise<ChargeAnswer> {
  if (id === undefined || id === '') throw missingParameters(['id'])
  const { charges: deps } = call.payments
  const charge = await readCharge(deps.catalog, id)
  if (charge === null) throw new ActionError(`Unknown id ${id}`, { path: 'id' })
  const { retry_days: retryDays } = await deps.settings.get(PAYMENTS)
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
      throw new ActionError(`Payment ${id} not applicable: it is ${charge.state}`, 'refused')
    }
    if (error instanceof ChargeChangedError) {
      throw new ActionError(`Payment ${id} was changed at the same time: try again`, 'refused')
    }
    throw error
  }
}
