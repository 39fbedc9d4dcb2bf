/** Amounts are whole multiples of the smallest unit of the installation's currency. */
import { describe, expect, it } from 'vitest'
import { bill } from '../../../src/admin/actions/bill.ts'
import { onetimeinvoice } from '../../../src/admin/actions/onetime-invoice.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { auditBooks } from '../../../src/cli/audit/books.ts'
import { addTenant } from '../../support/admin/actions/credit-tenant.ts'
import { useBillingServer } from '../../support/billing/billing-server.ts'

/** Yen has no smaller unit, the dinar of Kuwait has thousandths. */
const CURRENCIES = [
  { name: 'yen', code: 392, sent: 10.5, stored: 11, text: '-11', link: 3.4, linked: 3 },
  {
    name: 'dinar',
    code: 414,
    sent: 10.0055,
    stored: 10.006,
    text: '-10.006',
    link: 3.4446,
    linked: 3.445,
  },
  {
    name: 'euro',
    code: 978,
    sent: 10.005,
    stored: 10.01,
    text: '-10.01',
    link: 3.444,
    linked: 3.44,
  },
] as const

for (const { name, code, sent, stored, text, link, linked } of CURRENCIES) {
  describe(`amounts in ${name}`, () => {
    const env = { TOLLGATE_RATING_CURRENCY_CODE: String(code) }
    const server = useBillingServer([pay, bill, onetimeinvoice], env)
    const balanceOf = async (aid: number) =>
      ((await server.details('bill', { aid }))['balance'] as { total: string }).total

    it('payments and links are rounded, balances have the decimals of the currency', async () => {
      const aid = server.newAccount()
      const txid = await server.pay(aid, sent)
      expect(await server.bill({ txid })).toMatchObject({ amount: stored, left: stored })
      expect(await balanceOf(aid)).toBe(text)
      const other = server.newAccount()
      const debt = await server.pay(other, 20, { dir: 'tc' })
      const paid = await server.pay(other, 10, { pays: { rec: { [debt]: link } } })
      // The rest of the payment covers the same debt.
      const { pays } = await server.bill({ txid: paid })
      expect(pays?.map(({ amount }) => Number(amount))).toContain(linked)
      const cancellations = [{ txid, amount: sent }]
      await server.details('pay', { action: 'cancel_payments', cancellations })
      expect(Number(await balanceOf(aid))).toBe(0)
      expect(await auditBooks(server.catalog(), null)).toMatchObject({ ok: true })
    })

    it('a one-time invoice has a bill in its units', async () => {
      await addTenant(server.catalog())
      const time = { credit_time: '2026-06-10', usagev: 1, type: 'credit' }
      const cdr = { aid: 1001, sid: 7, rate: 'UNTAXED', aprice: sent, ...time }
      const order = { aid: 1001, step: 1, cdrs: [cdr] }
      const { invoice_id: id } = await server.details('onetimeinvoice', order)
      expect(await server.bill({ invoice_id: id })).toMatchObject({ due: stored })
    })

    it('less than half of the smallest unit is no amount', async () => {
      const aid = server.newAccount()
      const answer = await server.ask('pay', {
        method: 'cash',
        payments: [{ aid, amount: 0.0004 }],
      })
      expect(answer['message']).toBe(
        `Billrun_Bill_Payment: Wrong input. Was: Customer: ${aid}, amount: 0.0004.`,
      )
    })

    it('installments add up to the amount in its units', async () => {
      const aid = server.newAccount()
      await server.pay(aid, sent, { dir: 'tc' })
      const split = { method: 'installment_agreement', action: 'split_bill', aid }
      await server.details('pay', { ...split, amount: sent, installments_num: 3 })
      const parts = await server.catalog().bills.find({ aid, split_bill: true }).toArray()
      const amounts = parts.map(({ due }) => Number(due))
      expect(amounts.reduce((sum, each) => sum + each, 0)).toBeCloseTo(stored, 9)
      expect(amounts.filter((amount) => amount === 3)).toHaveLength(2)
    })
  })
}
