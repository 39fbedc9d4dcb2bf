/** Charges in answers: nothing of the card. */
import type { GatewayChargeDocument } from '../../catalog/records/money/payment-documents.ts'
import { dateText } from '../../entities/views.ts'

export const STAGES = ['Completed', 'Pending', 'Rejected', 'Unknown', 'Created'] as const

const STAGE_OF: Readonly<Record<GatewayChargeDocument['state'], (typeof STAGES)[number]>> = {
  created: 'Created',
  sent: 'Unknown',
  completed: 'Completed',
  pending: 'Pending',
  rejected: 'Rejected',
  unknown: 'Unknown',
}

export function stageOf(charge: GatewayChargeDocument) {
  const { state, status, code, aid, amount, attempt, txid, refunds } = charge
  const refund = refunds === undefined ? {} : { refund_of: refunds.charge }
  const more = { aid, amount: String(amount), attempt, txid, ...refund, ...(code && { code }) }
  return { status, stage: STAGE_OF[state], additional_params: more }
}

export function chargeView(charge: GatewayChargeDocument, timeZone: string) {
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
