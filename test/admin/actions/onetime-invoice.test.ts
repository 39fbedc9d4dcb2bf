/** `onetimeinvoice`: invoices outside of cycles, and credit notes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bill } from '../../../src/admin/actions/bill.ts'
import { onetimeinvoice } from '../../../src/admin/actions/onetime-invoice.ts'
import { pay } from '../../../src/admin/actions/pay.ts'
import { exactAmount } from '../../../src/catalog/records/exact-amount.ts'
import { changeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { type Fields, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-onetime-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const api = useActionServer([onetimeinvoice, pay, bill], {
  ...TAXED,
  TOLLGATE_INVOICES_FOLDER: folder,
  TOLLGATE_INVOICES_FILES: 'at_confirmation',
  TOLLGATE_INVOICES_FORMATS: 'json',
})
beforeAll(() => addTenant(api.catalog()))

const FEE = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10', usagev: 1 }
const cdr = (aprice: number | string, more: Fields = {}) => ({
  ...FEE,
  aprice,
  type: 'credit',
  ...more,
})

const ask = (params: Fields, how = {}) =>
  api.ask('onetimeinvoice', { aid: 1001, step: 1, ...params }, how)
const made = async (params: Fields, how = {}) => {
  const answer = await ask(params, how)
  if (answer['status'] !== 1) throw new Error(answer.text)
  return answer['details'] as Fields & { invoice_id: number; invoice: Fields & { totals: Fields } }
}
const refused = async (params: Fields) => {
  const { status, desc, message, text } = await ask(params)
  expect([status, message], text).toEqual([0, desc])
  return String(desc)
}
const billOf = async (invoiceId: number) => {
  const found = await api.catalog().bills.findOne({ invoice_id: invoiceId })
  return {
    ...found,
    due: exactAmount(found?.due).toFixed(),
    left: exactAmount(found?.left_to_pay ?? found?.left).toFixed(),
  }
}

describe('a one-time invoice', () => {
  it('has its own series of numbers, a key of its second, and a bill', async () => {
    const first = await made({ cdrs: [cdr(20)] })
    const second = await made({ cdrs: [cdr(30)] })
    expect([first.invoice_id, second.invoice_id]).toEqual([8_100_000_001, 8_100_000_002])
    // 17 % tax.
    expect(await billOf(first.invoice_id)).toMatchObject({ due: '23.4', invoice_type: 'immediate' })
    expect(await billOf(second.invoice_id)).toMatchObject({ due: '35.1' })
    const stored = await api.catalog().billrun.findOne({ invoice_id: second.invoice_id })
    expect(stored).toMatchObject({ billrun_key: '20260615120001', billed: 1, allow_bill: 1 })
    const lines = await api
      .catalog()
      .lines.find({ billrun: '20260615120001' } as never)
      .toArray()
    expect(lines).toMatchObject([{ aprice: 30, usaget: 'charge', onetime_invoice: true }])
  })

  it('has the sum of lines of the account and of subscribers', async () => {
    const { invoice } = await made({ cdrs: [cdr(10, { sid: 0 }), cdr(20), cdr(5, { usagev: 2 })] })
    expect(invoice.totals).toMatchObject({ before_vat: 40, after_vat_rounded: 46.8 })
    expect((invoice['subs'] as Fields[]).map(({ sid }) => sid)).toEqual([0, 7])
  })

  it('is a document only with step 0, and nothing at all if it is expected', async () => {
    const { invoice_id: id } = await made({ step: 0, cdrs: [cdr(7)] })
    expect(await api.catalog().bills.findOne({ invoice_id: id })).toBeNull()
    expect(await api.catalog().billrun.findOne({ invoice_id: id })).toMatchObject({ billed: 2 })
    const before = await api.catalog().billrun.countDocuments()
    const preview = await made({ step: 0, expected: 1, cdrs: [cdr(9)] })
    expect(preview).toMatchObject({ invoice_id: 0, invoice: { totals: { before_vat: 9 } } })
    expect(await api.catalog().billrun.countDocuments()).toBe(before)
    expect(await refused({ expected: 1, cdrs: [cdr(9)] })).toBe(
      'Expected must to be with step 0 only',
    )
  })

  it('is not billed with allow_bill 0, and keeps note and payment_data', async () => {
    const more = { allow_bill: 0, note: 'hello', payment_data: { ref: 'x' } }
    const { invoice_id: id } = await made({ ...more, cdrs: [cdr(7)] })
    expect(await api.catalog().billrun.findOne({ invoice_id: id })).toMatchObject({
      ...{ billed: 2, allow_bill: 0, note: 'hello', payment_data: { ref: 'x' } },
    })
  })

  it('is made once per Idempotency-Key, and keeps the reason', async () => {
    const params = { cdrs: [cdr(12)], reason: 'setup' }
    const first = await ask(params, { key: 'k-1' })
    expect((await ask(params, { key: 'k-1' })).text).toBe(first.text)
    const found = await api
      .catalog()
      .lines.find({ reason: 'setup' } as never)
      .toArray()
    expect(found).toHaveLength(1)
  })

  it('keeps the seller, and its file is written at once', async () => {
    const by = { by: 'test', nowMs: api.now() }
    const seller = { name: 'Tel' }
    await changeStoredConfig(api.catalog(), 'invoices', () => ({ seller }), by)
    const { invoice, invoice_id: id } = await made({ cdrs: [cdr(20)] })
    expect(invoice['seller']).toEqual(seller)
    const file = (key: unknown, number: number) => {
      return join(folder, String(key), '001', `1001-${number}.json`)
    }
    const kept: unknown = JSON.parse(readFileSync(file(invoice['billrun_key'], id), 'utf8'))
    expect(kept).toMatchObject({ invoice_id: id, seller, totals: { payable: '23.40' } })
    const preview = await made({ step: 0, expected: 1, cdrs: [cdr(9)] })
    expect(existsSync(file(preview.invoice['billrun_key'], 0))).toBe(false)
  })

  it('is answered as a PDF with send_back_invoices, also when the call is repeated', async () => {
    const params = { cdrs: [cdr(20)], send_back_invoices: 1 }
    const first = await ask(params, { key: 'k-pdf' })
    expect(first.headers.get('content-type')).toBe('application/pdf')
    const name = /filename="invoice-(\d+)\.pdf"/.exec(
      first.headers.get('content-disposition') ?? '',
    )
    const id = Number(name?.[1])
    const stored = await api.catalog().billrun.findOne({ invoice_id: id })
    const path = join(folder, String(stored?.billrun_key), '001', `1001-${id}.pdf`)
    expect(readFileSync(path).toString()).toContain('%PDF-')
    const again = await ask(params, { key: 'k-pdf' })
    expect(again.headers.get('content-disposition')).toBe(first.headers.get('content-disposition'))
    expect(again.text).toBe(first.text)
    expect(await refused({ ...params, cdrs: [] })).toContain("'cdrs' is missing")
  })

  it('is answered as JSON if its PDF cannot be made, and if it is only expected', async () => {
    const { invoice_id: id } = await made({
      ...{ step: 0, expected: 1, cdrs: [cdr(1)], send_back_invoices: 1 },
    })
    expect(id).toBe(0)
  })

  it('has the time that was asked for', async () => {
    const time = Date.UTC(2026, 5, 3, 8) / 1000
    const { invoice } = await made({ invoice_unixtime: time, cdrs: [cdr(1)] })
    expect(invoice).toMatchObject({ billrun_key: '20260603080000' })
  })

  it('is a refund in its own series if it is negative, and covers what is owed', async () => {
    const { invoice_id: id } = await made({ cdrs: [cdr(-10)] })
    expect(id).toBe(4_100_000_001)
    expect(await billOf(id)).toMatchObject({ due: '-11.7', left: '0' })
    expect((await made({ type: 'refund', cdrs: [cdr(1)] })).invoice_id).toBe(4_100_000_002)
  })

  it.each([
    [{}, "Required input 'cdrs' is missing or of incorrect type.\n"],
    [{ cdrs: 'x' }, "Required input 'cdrs' is missing or of incorrect type.\n"],
    [{ cdrs: [] }, "Required input 'cdrs' is missing or of incorrect type.\n"],
    [{ cdrs: [cdr(1), cdr(1, { aid: 9 })] }, "One of the CDRs AID doesn't match the account AID"],
    [{ aid: '', cdrs: [cdr(1)] }, 'Following field/s are missing: aid'],
    [{ aid: 'x', cdrs: [cdr(1)] }, 'Field aid should be of type Integer'],
    [{ cdrs: [cdr('x')] }, 'cdrs.0: Field aprice should be of type Float'],
    [{ cdrs: [cdr(1), cdr(1, { rate: 'NONE' })] }, "cdrs.1: Rate doesn't exist"],
    [{ cdrs: [cdr(1, { sid: 99 })] }, 'cdrs.0: sid: there is no subscriber 99'],
    [{ cdrs: [cdr(1)], invoice_unixtime: 'x' }, 'Field invoice_unixtime should be of type Integer'],
    [{ cdrs: [cdr(1)], charge_flow: 'charge_before_invoice' }, 'requires step 2'],
    [{ cdrs: [cdr(-1)], step: 0, adjusts: [{ invoice_id: 1 }] }, 'adjusts requires step 1 or 2'],
  ])('refuses %j', async (params, text) => {
    expect(await refused(params as Fields)).toContain(text)
  })

  it('needs a card to be charged first', async () => {
    const params = { step: 2, charge_flow: 'charge_before_invoice', cdrs: [cdr(1)] }
    const before = await api.catalog().billrun.countDocuments()
    expect(await refused(params)).toBe('No payment method for account')
    expect(await api.catalog().billrun.countDocuments()).toBe(before)
    // The usual flow makes the invoice, which is then open.
    expect(await made({ step: 2, cdrs: [cdr(1)] })).toMatchObject({ paymentData: {} })
  })

  it('does not reach back into a cycle with a confirmed invoice', async () => {
    await api.catalog().billrun.insertOne({ aid: 1001, billrun_key: '202605', billed: 1 })
    const answer = await ask({ cdrs: [cdr(1, { credit_time: '2026-04-10' })] })
    expect(answer).toMatchObject({
      status: 0,
      code: 17_579,
      desc:
        'One of the given dates, 2026-04-10T00:00:00+0000, is older than allowed. ' +
        'Dates have to be after 2026-05-01T00:00:00+0000',
    })
    expect((await made({ cdrs: [cdr(1)] })).invoice_id).toBeGreaterThan(8_100_000_000)
  })
})

describe('a credit note', () => {
  const invoice = async (price: number | string) => (await made({ cdrs: [cdr(price)] })).invoice_id
  const note = (price: number | string, id: number, amount?: number | string) =>
    ask({
      cdrs: [cdr(price)],
      adjusts: [{ invoice_id: id, ...(amount !== undefined && { amount }) }],
    })

  it('takes back a part of an invoice, and covers it first', async () => {
    const id = await invoice(100)
    const answer = await note(-10, id)
    expect(answer['status'], answer.text).toBe(1)
    expect(await billOf(id)).toMatchObject({ due: '117', left: '105.3' })
  })

  it('never takes back more than what earlier notes have left', async () => {
    const id = await invoice(100)
    expect((await note(-90, id))['status']).toBe(1)
    expect((await note(-20, id))['desc']).toBe(
      `adjusts: invoice ${id} has 11.70 left, less than 23.40`,
    )
    expect((await note(-10, id))['status']).toBe(1)
    expect((await note(-1, id))['desc']).toContain('has 0.00 left')
  })

  it('takes the remaining cents, if it is the last one: 163.99 is 82.00 and 81.99', async () => {
    const id = await invoice('140.1623932')
    expect((await billOf(id)).due).toBe('163.99')
    const half = '-70.0811966'
    const one = (await note(half, id))['details'] as { invoice_id: number }
    const two = (await note(half, id))['details'] as { invoice_id: number }
    expect((await billOf(one.invoice_id)).due).toBe('-82')
    expect((await billOf(two.invoice_id)).due).toBe('-81.99')
    expect((await billOf(id)).left).toBe('0')
  })

  it.each([
    ['a positive total', 5, undefined, 'adjusts: the total of a credit note must be negative'],
    ['amounts that do not add up', -5, 3, 'adjusts: the amounts do not add up to the total'],
    ['an amount of 0', -5, 0, 'must be above 0'],
  ])('is refused with %s', async (_what, price, amount, text) => {
    const id = await invoice(100)
    expect((await note(price, id, amount))['desc']).toContain(text)
  })

  it('is refused for an invoice of another account, or none', async () => {
    expect((await note(-5, 4711))['desc']).toBe('adjusts: there is no invoice 4711')
  })
})
