/** The fields of an event that describe its bill. */
import { exactAmount } from '../../catalog/records/money/exact-amount.ts'
import type { Fields } from '../../domain/fields.ts'
import { currencyName } from '../currency.ts'
import { type Bill, isUnusedDeposit } from './bill.ts'

const SECOND_MS = 1_000

/** Amounts are positive; times in Unix seconds. */
export function billRow(bill: Bill, currencyCode: number): Fields {
  const { fields } = bill
  const amount = isUnusedDeposit(bill) ? exactAmount(fields.deposit_amount) : bill.amount
  const currency = currencyName(currencyCode)
  const { due_date: due, payment_gateway: gateway, source } = fields
  const common = {
    type: fields.type,
    amount: amount.toNumber(),
    ...(currency !== null && { currency }),
    urt: secondsOf(fields.urt),
    ...(due !== undefined && { due_date: secondsOf(due) }),
  }
  if (fields.type === 'inv') {
    const { invoice_id, billrun_key, invoice_type } = fields
    return { invoice_id, billrun_key, ...(invoice_type && { invoice_type }), ...common }
  }
  const { txid, dir, method, deposit } = fields
  return {
    txid,
    dir,
    method,
    ...(deposit === true && { deposit }),
    ...(source !== undefined && { source }),
    ...(gateway !== undefined && { payment_gateway: gateway }),
    ...common,
  }
}

function secondsOf(at: Date): number {
  return Math.floor(at.getTime() / SECOND_MS)
}
