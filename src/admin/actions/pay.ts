/** `POST /api/pay`: payments, refunds, deposits, cancellations, agreements on installments. */

import { type Static, Type } from '@sinclair/typebox'
import { agreeInstallments, mergeAgreement } from '../../billing/agreements/operations.ts'
import { splitOrder } from '../../billing/agreements/split-order.ts'
import { BillingError, withinEach } from '../../billing/errors.ts'
import { INSTALLMENT_AGREEMENT, paymentMethodOf } from '../../billing/payments/methods.ts'
import { cancelPayments, recordPayments, useDeposits } from '../../billing/payments/operations.ts'
import { dateIn, integerFrom, isTrue, paymentOrder } from '../../billing/payments/payment-order.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import { about, missing } from '../../domain/field-errors.ts'
import { answeredIssues, firstErrors } from '../../requests/errors.ts'
import { type AnswerOf, type MoneyCall, moneyAction } from './action.ts'
import { filledList, paymentRules, writerOf } from './books.ts'
import { param, WHOLE_NUMBER } from './parameters.ts'
import { PAY_ANSWER, PAY_FORMS } from './pay-schemas.ts'

const PARAMETERS = Type.Object({
  method: param.optional(
    param.text(
      '`automatic`, `cash`, `cheque`, `credit`, `debit`, `wire_transfer`, `write_off`; ' +
        '`installment_agreement` for `split_bill`.',
    ),
  ),
  action: param.optional(
    param.text(
      '`pay` (default), `refund`, `deposit`, `use_deposit`, `cancel_payments`, `split_bill`, ' +
        '`merge_installments`.',
    ),
  ),
  payments: param.optional(param.json('Payments.', ...PAY_FORMS.payments)),
  txid: param.optional(param.json('Deposits to use.', ...PAY_FORMS.txid)),
  urt: param.optional(
    param.json('Time of the use of deposits; now by default.', ...PAY_FORMS.date),
  ),
  cancellations: param.optional(param.json('Payments to cancel.', ...PAY_FORMS.cancellations)),
  ignore_errors: param.optional(
    param.json('Cancel the others if some cannot be cancelled.', ...PAY_FORMS.truth),
  ),
  aid: param.optional(param.json('Account of an agreement.', ...WHOLE_NUMBER)),
  amount: param.optional(param.json('Amount to split.', ...PAY_FORMS.amount)),
  installments_num: param.optional(param.json('Number of installments.', ...WHOLE_NUMBER)),
  first_due_date: param.optional(
    param.json(
      'Due date of the first one; the others follow by month. Ends of cycles without it.',
      ...PAY_FORMS.date,
    ),
  ),
  installments: param.optional(
    param.json('Instead of their number: each.', ...PAY_FORMS.installments),
  ),
  first_charge_date: param.optional(
    param.json('Earliest collection of the first installment.', ...PAY_FORMS.date),
  ),
  note: param.optional(param.json('A note on the installments.', ...PAY_FORMS.note)),
  uf: param.optional(param.json('Configured fields of the installments.', ...PAY_FORMS.uf)),
  split_bill_id: param.optional(
    param.json('The agreement whose installments are merged.', ...WHOLE_NUMBER),
  ),
  due_date: param.optional(param.json('Due date of the merged installment.', ...PAY_FORMS.date)),
})

type PayParameters = Static<typeof PARAMETERS> & { readonly reason?: string }
type PayAnswer = AnswerOf<typeof PAY_ANSWER>

export const pay = moneyAction({
  name: 'pay',
  level: 'write',
  about: 'Payments, refunds, deposits, cancellations, installments of bills',
  parameters: PARAMETERS,
  answer: PAY_ANSWER,
  example: {
    parameters: {
      method: 'cash',
      payments: [{ aid: 1, amount: 15, pays: { inv: { '101': 15 } } }],
    },
    answer: {
      details: { record_ids: ['0000000000042'], payments_received: 1, payments_saved: 1 },
    },
  },
  run(parameters, call) {
    const { action = '', method = '' } = parameters
    const needsMethod = action !== 'cancel_payments' && action !== 'use_deposit'
    if (needsMethod && method === '')
      throw new BillingError('No method found', { path: 'method', code: 'missing' })
    const operation = Object.hasOwn(OPERATIONS, action) ? OPERATIONS[action] : undefined
    if (operation === undefined)
      throw new BillingError(`Unknown action ${action}`, { path: 'action' })
    return operation(parameters, call)
  },
})

/** Payments of a call that shares its transaction with other calls. */
const GROUPED_MAX = 100

type Operation = (parameters: PayParameters, call: MoneyCall) => Promise<PayAnswer>

const OPERATIONS: Readonly<Record<string, Operation>> = {
  '': (parameters, call) => record(parameters, call, {}),
  pay: (parameters, call) => record(parameters, call, {}),
  refund: (parameters, call) => record(parameters, call, { dir: 'tc' }),
  deposit: (parameters, call) => record(parameters, call, { dir: 'fc', isDeposit: true }),
  use_deposit: releaseDeposits,
  cancel_payments: cancel,
  split_bill: split,
  merge_installments: merge,
}

async function record(
  { method = '', payments, reason }: PayParameters,
  call: MoneyCall,
  forced: { readonly dir?: 'fc' | 'tc'; readonly isDeposit?: true },
): Promise<PayAnswer> {
  const known = paymentMethodOf(method)
  const items = filledList(payments)
  if (items === null)
    throw new BillingError('No payments found', { path: 'payments', code: 'missing' })
  const rules = await paymentRules(call)
  const orders = withinEach('payments', items, (item) => paymentOrder(item, known, rules, forced))
  const deposits = orders.filter(({ isDeposit }) => isDeposit).length
  const others = orders.length - deposits
  const counts =
    others === 0
      ? { deposits_saved: deposits }
      : { payments_received: others, payments_saved: others }
  const write = async (session: ClientSession) => {
    const record_ids = await recordPayments(writerOf(call, session, reason), orders)
    return { details: { record_ids, ...counts } }
  }
  // A long call would delay the others of its group.
  const aids = orders.length <= GROUPED_MAX ? orders.map(({ aid }) => aid) : undefined
  return call.commit('record payments', write, aids)
}

async function releaseDeposits(
  { txid, urt, reason }: PayParameters,
  call: MoneyCall,
): Promise<PayAnswer> {
  const txids = filledList(txid)?.map(String)
  if (txids === undefined)
    throw new BillingError('One or more of the input IDs are not deposits', { path: 'txid' })
  const at = dateIn({ urt }, 'urt', await paymentRules(call))
  return call.commit('use deposits', async (session) => {
    const used = await useDeposits(writerOf(call, session, reason), txids, at)
    return { details: { deposits_received: txids, deposits_unfreezed: used } }
  })
}

async function cancel(
  { cancellations, ignore_errors: ignored, reason }: PayParameters,
  call: MoneyCall,
): Promise<PayAnswer> {
  const filled = filledList(cancellations)
  if (filled === null)
    throw new BillingError('No cancellations found', { path: 'cancellations', code: 'missing' })
  const { userFields, digits } = await paymentRules(call)
  const options = { ignoreErrors: isTrue(ignored), userFields, digits }
  return call.commit('cancel payments', async (session) => {
    const writer = writerOf(call, session, reason)
    const { succeeded, errors } = await cancelPayments(writer, filled, options)
    const texts = errors.map((issue) => issue.reason)
    return errors.length > 0 && !options.ignoreErrors
      ? {
          status: 0,
          desc: 'error',
          details: { errors: texts },
          errors: firstErrors(answeredIssues(errors)),
        }
      : { details: { succeeded_cancels: succeeded, errors: texts } }
  })
}

async function split(given: PayParameters, call: MoneyCall): Promise<PayAnswer> {
  if (given.method !== INSTALLMENT_AGREEMENT) {
    throw new BillingError('Action split_bill requires method installment_agreement', {
      path: 'method',
    })
  }
  const { installments } = given
  if (installments !== undefined && filledList(installments) === null) {
    throw new BillingError(...about('installments', 'must be a list that is not empty'))
  }
  const parameters = {
    ...given,
    installments: installments as readonly unknown[] | undefined,
  }
  const { timeZone, cycleDay } = call.config.rating
  const rules = await paymentRules(call)
  const order = splitOrder(withoutAbsent(parameters), rules, call.nowMs, { timeZone, cycleDay })
  return call.commit('agree on installments', async (session) => {
    await agreeInstallments(writerOf(call, session, given.reason), order, timeZone)
    const text = JSON.stringify({ ...given, reason: undefined })
    return { desc: '', details: `created installments successfully . parameters: ${text}` }
  })
}

function withoutAbsent<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as { [K in keyof T]: Exclude<T[K], undefined> }
}

async function merge(parameters: PayParameters, call: MoneyCall): Promise<PayAnswer> {
  const { split_bill_id: id, aid: aidValue, reason } = parameters
  const [agreement, aid] = [integerFrom(id), integerFrom(aidValue)]
  if (agreement === null || aid === null) {
    const text = 'In action merge_installments must transfer split_bill_id and aid parameters'
    throw new BillingError(text, missing(['split_bill_id', 'aid'], text))
  }
  const rules = await paymentRules(call)
  const order = {
    agreement,
    dueDate: dateIn({ ...parameters }, 'due_date', rules),
    firstChargeDate: dateIn({ ...parameters }, 'first_charge_date', rules),
  }
  return call.commit('merge installments', async (session) => {
    const isMerged = await mergeAgreement(writerOf(call, session, reason), aid, order)
    return isMerged
      ? { desc: '', details: 'merged installments successfully' }
      : { status: 0, desc: 'failure', details: 'failed merging installments' }
  })
}
