/** Payments, what may be done with one, and charges through gateways. */
import { answerOf, get } from '../../api/client.ts'
import type { DecimalText } from '../../api/figures.ts'
import { type Fields, type Identified, type Page, readNewest } from '../../api/records.ts'
import { textIn } from '../../parts/differences.ts'
import { amountIn } from '../../parts/numbers.ts'

export type Payment = Fields & Identified

const CHARGES = 100

export function readPayments(
  aid: string,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Payment>> {
  const query = { type: 'rec', ...(aid !== '' && { aid }) }
  return readNewest<Payment>('bills', { query, after }, signal)
}

/** `after`: number of the page. */
export async function readCharges(
  aid: string,
  after: string | null,
  signal: AbortSignal,
): Promise<Page<Fields>> {
  const page = Number(after ?? 0)
  const query = { page, size: CHARGES, ...(aid !== '' && { aid: aid as DecimalText }) }
  const rows = await get('api/chargestatus', query, { signal })
  return { rows, next: rows.length === CHARGES ? String(page + 1) : null }
}

export type PaymentState = 'done' | 'waiting' | 'cancelled' | 'rejected' | 'denied' | 'correction'

export function stateOf(payment: Fields): PaymentState {
  const has = (name: string) => !['', 'false', '[]'].includes(textIn(payment, name))
  if (has('original_txid')) return 'correction'
  if (has('denied_by')) return 'denied'
  if (has('rejected')) return 'rejected'
  if (has('cancelled')) return 'cancelled'
  return has('pending') || has('waiting_for_confirmation') ? 'waiting' : 'done'
}

export type Correction = 'cancel' | 'reject' | 'deny' | 'mark_paid'

/** Offered corrections of a payment by its state; the API decides. */
export const CORRECTIONS: Readonly<Partial<Record<PaymentState, readonly Correction[]>>> = {
  done: ['cancel', 'reject', 'deny'],
  waiting: ['mark_paid', 'reject', 'cancel'],
}

export async function correct(how: Correction, payment: Fields, reason: string, key: string) {
  const [txid, amount] = [textIn(payment, 'txid'), textIn(payment, 'amount')]
  const options = { idempotencyKey: key }
  if (how === 'cancel') {
    const body = { action: 'cancel_payments', cancellations: [{ txid, amount }], reason }
    await answerOf('api/pay', body, options)
  } else {
    const body = { adjustments: [{ id: txid, action: how }], reason }
    await answerOf('api/adjustpayments', body, options)
  }
}

export const NO_PAYMENT = {
  ...{ aid: '', dir: 'fc', method: 'cash', amount: '', invoice: '' },
  ...{ payer: '', bank: '', reason: '' },
}
export type PaymentFields = typeof NO_PAYMENT

/** By direction. Others have data that only their own systems know. */
export const METHODS = {
  fc: ['cash', 'wire_transfer', 'cheque', 'automatic', 'credit', 'write_off'],
  tc: ['cash', 'credit'],
} as const

export function hasBank(method: string): boolean {
  return method === 'wire_transfer' || method === 'cheque'
}

export async function pay(fields: PaymentFields, key: string): Promise<void> {
  const { aid, dir, method, invoice, payer, bank, reason } = fields
  const amount = amountIn(fields.amount) ?? ''
  const number = invoice.trim()
  const payment = {
    ...{ aid: Number(aid), amount, dir: dir === 'tc' ? ('tc' as const) : ('fc' as const) },
    ...(number !== '' && dir === 'fc' && { pays: { inv: { [number]: amount } } }),
    ...(hasBank(method) && { payer_name: payer, deposit_slip_bank: bank }),
  }
  const body = {
    ...{ action: dir === 'tc' ? 'refund' : 'pay', method, payments: [payment] },
    ...(reason !== '' && { reason }),
  }
  await answerOf('api/pay', body, { idempotencyKey: key })
}
