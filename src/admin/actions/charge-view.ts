/** Charges in answers: nothing of the card. */
import {
  choice,
  closed,
  either,
  flag,
  integer,
  listOf,
  orNull,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import {
  CHARGE_STATES,
  type GatewayChargeDocument,
} from '../../catalog/records/money/payment-documents.ts'
import { dateText } from '../../entities/views.ts'

const STAGES = ['Completed', 'Pending', 'Rejected', 'Unknown', 'Created'] as const

const STAGE_OF: Readonly<Record<GatewayChargeDocument['state'], (typeof STAGES)[number]>> = {
  created: 'Created',
  sent: 'Unknown',
  completed: 'Completed',
  pending: 'Pending',
  rejected: 'Rejected',
  unknown: 'Unknown',
}

export const STAGE_MEMBERS = {
  status: text("The gateway's word for the outcome."),
  stage: choice(STAGES, 'The outcome.'),
  additional_params: closed(
    'The charge.',
    {
      aid: integer('The account.'),
      amount: text('Money.'),
      attempt: integer('Number of the attempt, from 1.'),
      txid: text('Number of the payment.'),
      refund_of: text('Id of the charge whose money is paid back.'),
      code: text('Code of a rejection.'),
    },
    ['refund_of', 'code'],
  ),
}
export const CHARGE_STAGE = closed('A charge or refund.', STAGE_MEMBERS)

const time = (description: string) => orNull(text(description), description)

export const CHARGE = closed(
  'A charge.',
  {
    id: text('Its id.'),
    aid: integer('The account.'),
    txid: text('Number of the payment.'),
    gateway: text('Name of the payment gateway.'),
    refund_of: text('Id of the charge whose money is paid back.'),
    amount: text('Money.'),
    bills: listOf(
      closed('A bill.', {
        type: choice(['inv', 'rec'], 'Invoice or payment.'),
        id: either('Its number.', integer('Of an invoice.'), text('Of a payment.')),
        amount: text('How much of it.'),
      }),
      'Bills that it pays.',
    ),
    state: choice(CHARGE_STATES, 'State.'),
    status: text("The gateway's word for the outcome."),
    code: text('Code of a rejection.'),
    final: flag('Whether it is not repeated.'),
    attempt: integer('Number of the attempt, from 1.'),
    reason: text('Why it was made.'),
    created: time('When it was made.'),
    sent: time('When it was sent; null before.'),
    asked: integer('How often the outcome was asked for.'),
    due: time('When something is done next; null if nothing is left to do.'),
    task: time('Since when an operator has to decide; null if nobody has to.'),
  },
  ['refund_of'],
)

export function stageOf(charge: GatewayChargeDocument): ValueOf<typeof CHARGE_STAGE> {
  const { state, status, code, aid, amount, attempt, txid, refunds } = charge
  const refund = refunds === undefined ? {} : { refund_of: refunds.charge }
  const more = { aid, amount: String(amount), attempt, txid, ...refund, ...(code && { code }) }
  return { status, stage: STAGE_OF[state], additional_params: more }
}

export function chargeView(
  charge: GatewayChargeDocument,
  timeZone: string,
): ValueOf<typeof CHARGE> {
  const { _id: id, gateway, state, status, code, isFinal, reason, asked, bills } = charge
  const { aid, txid, amount, attempt } = charge
  const at = (date: Date | null) => (date === null ? null : dateText(date.getTime(), timeZone))
  return {
    id,
    aid,
    txid,
    gateway,
    ...(charge.refunds !== undefined && { refund_of: charge.refunds.charge }),
    amount: String(amount),
    bills: bills.map((bill) => ({ type: bill.type, id: bill.id, amount: String(bill.amount) })),
    state,
    status,
    code,
    final: isFinal,
    attempt,
    reason,
    created: at(charge.created),
    sent: at(charge.sent),
    asked,
    due: at(charge.due),
    task: at(charge.task),
  }
}
