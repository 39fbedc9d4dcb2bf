/** The actions on bills over HTTP, and invoices for them. */
import type { Action } from '../../../src/admin/actions/action.ts'
import type { BillDocument } from '../../../src/catalog/records/money/bill.ts'
import { Exact, exactAmount } from '../../../src/catalog/records/money/exact-amount.ts'
import {
  type ActionServer,
  type AskOptions,
  type Fields,
  useActionServer,
} from '../admin/actions/action-server.ts'
import { storeInvoice } from './store-invoice.ts'

export interface BillingServer extends ActionServer {
  /** Returns the number of the invoice. */
  invoice(
    aid: number,
    due: number | string,
    more?: { tax?: number; dueDate?: Date },
  ): Promise<number>
  /** An account without bills. */
  newAccount(): number
  /** `details` of a call that succeeds. */
  details(name: string, params: Fields, how?: AskOptions): Promise<Fields>
  /** Records a payment; returns its number. */
  pay(aid: number, amount: number, more?: Fields): Promise<string>
  bill(filter: Fields): Promise<TestBill>
}

/** Amounts as numbers. */
export type TestBill = BillDocument & {
  due: number
  amount: number
  left: number
  left_to_pay: number
  total_paid: number
}

export function useBillingServer(
  actions: readonly Action[],
  env: Record<string, string> = {},
): BillingServer {
  const server = useActionServer(actions, env)
  let invoiceId = 100
  let aid = 0
  const details = async (name: string, params: Fields, how?: AskOptions) => {
    const answer = await server.ask(name, params, how)
    if (answer['status'] !== 1) throw new Error(`${name}: ${answer.text}`)
    return answer['details'] as Fields
  }
  return {
    ...server,
    details,
    newAccount() {
      aid += 1
      return aid
    },
    async invoice(aid, due, { tax = 0, dueDate = new Date(server.now()) } = {}) {
      invoiceId += 1
      const taxed = { beforeTax: new Exact(due).minus(tax), taxes: { VAT: new Exact(tax) } }
      const nowMs = server.now()
      await storeInvoice(server.catalog(), { aid, invoiceId, due, nowMs, dueDate, ...taxed })
      return invoiceId
    },
    async pay(aid, amount, { method = 'cash', ...more } = {}) {
      const { record_ids: ids } = (await details('pay', {
        method,
        payments: [{ aid, amount, ...more }],
      })) as { record_ids: string[] }
      return ids[0] as string
    },
    async bill(filter) {
      const found = await server.catalog().bills.findOne(filter as never)
      if (found === null) throw new Error(`no bill ${JSON.stringify(filter)}`)
      const number = (value: unknown) => exactAmount(value).toNumber()
      const { due, amount, left, left_to_pay, total_paid } = found
      return {
        ...found,
        due: number(due),
        amount: number(amount),
        left: number(left),
        left_to_pay: number(left_to_pay),
        total_paid: number(total_paid),
      }
    },
  }
}
