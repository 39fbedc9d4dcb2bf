import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { accountinvoices } from '../../../src/admin/actions/account-invoices.ts'
import { Exact } from '../../../src/catalog/records/exact-amount.ts'
import { finalChargeOf } from '../../../src/rating/line-tax.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const server = useActionServer([accountinvoices])

describe('the document of an invoice', () => {
  const VAT = { key: 'VAT', description: 'VAT', type: 'vat', rate: '0.2', isEmbedded: false }
  const line = (aid: number, fields: object) => ({
    ...{ stamp: randomUUID(), v: 1, aid, sid: 2, billrun: '202603', usagev: 1, plan: 'GOLD' },
    ...finalChargeOf(new Exact(10), [VAT], null),
    ...fields,
  })
  const urt = new Date('2026-02-10T00:00:00Z')

  async function store(aid: number, changes: object = {}): Promise<void> {
    const { billrun, lines } = server.catalog()
    await billrun.insertOne({
      aid,
      billrun_key: '202603',
      invoice_id: aid * 10,
      invoice_date: new Date('2026-03-01T00:00:00Z'),
      due_date: new Date('2026-03-14T00:00:00Z'),
      account: { firstname: 'Dana', country: 'FR' },
      seller: { name: 'Tel', country: 'DE', vat_id: 'DE123456789' },
      totals: { before_vat: 20, after_vat_rounded: 24, exact: { before_vat: '20' } },
      ...changes,
    })
    await lines.insertMany([
      line(aid, { type: 'flat', name: 'GOLD' }),
      line(aid, { type: 'realtime', usaget: 'call', arate_key: 'CALL', urt }),
    ] as never)
  }

  it.each([
    ['pdf', 'application/pdf', 'invoice-110.pdf', '%PDF-'],
    ['html', 'text/html; charset=utf-8', 'invoice-110.html', '<!doctype html>'],
    ['json', 'application/json; charset=utf-8', 'invoice-110.json', '"payable": "24.00"'],
  ])('is a file: %s', async (format, type, name, content) => {
    await server.catalog().billrun.deleteMany({ aid: 11 })
    await server.catalog().lines.deleteMany({ aid: 11 })
    await store(11)
    const ask = { action: 'download', aid: 11, iid: 110, format }
    const { http, text, headers } = await server.ask('accountinvoices', ask)
    expect([http, headers.get('content-type')]).toEqual([200, type])
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${name}"`)
    expect(headers.get('content-security-policy')).toBe('sandbox')
    expect(text).toContain(content)
  })

  it('is shown in a frame of this server if it is a PDF and wanted', async () => {
    await store(17)
    const ask = { action: 'download', aid: 17, iid: 170, inline: 1 }
    const { headers } = await server.ask('accountinvoices', ask)
    expect(headers.get('content-disposition')).toBe('inline; filename="invoice-170.pdf"')
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN')
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; base-uri 'none'; frame-ancestors 'self'",
    )
    expect(await server.ask('accountinvoices', { ...ask, format: 'html' })).toMatchObject({
      status: 0,
      message: 'inline requires the format pdf',
    })
  })

  it('needs the number of the invoice, or a cycle', async () => {
    expect(await server.ask('accountinvoices', { action: 'download', aid: 1 })).toMatchObject({
      message: 'Invoice not found',
    })
  })

  it('is that of a cycle, and of a confirmed invoice only', async () => {
    await store(12)
    const ask = { action: 'download', aid: 12, billrun_key: '202603', format: 'json' }
    expect(await server.ask('accountinvoices', ask)).toMatchObject({ invoice_id: 120 })
    expect(await server.ask('accountinvoices', { ...ask, confirmed_only: 1 })).toMatchObject({
      status: 0,
      message: 'Invoice not found',
    })
  })

  it('is a credit note that names its invoice with the date', async () => {
    await store(16)
    const totals = { before_vat: -10, after_vat_rounded: -12, exact: { before_vat: '-10' } }
    await server.catalog().billrun.insertOne({
      ...{ aid: 16, billrun_key: '20260315120000', invoice_id: 161, totals },
      ...{ invoice_date: new Date('2026-03-15T00:00:00Z'), adjusts: [{ invoice_id: 160 }] },
    })
    const refund = { type: 'credit', usaget: 'refund', rate: 'BACK', billrun: '20260315120000' }
    const exact = { aprice: '-10', tax: '-2', final_charge: '-12' }
    await server.catalog().lines.insertOne({ ...line(16, refund), exact } as never)
    const ask = { action: 'download', aid: 16, iid: 161, format: 'json' }
    expect(await server.ask('accountinvoices', ask)).toMatchObject({
      type: 'credit_note',
      adjusts: [{ invoice_id: 160, invoice_date: '2026-03-01' }],
      totals: { payable: '12.00' },
    })
  })

  it('has no usage of prepaid plans', async () => {
    await store(13, { totals: { exact: { before_vat: '10' }, after_vat_rounded: 12 } })
    const ask = { action: 'download', aid: 13, iid: 130, format: 'json' }
    expect(await server.ask('accountinvoices', ask)).toMatchObject({
      status: 0,
      message: 'invoice 130: its lines differ from its total by 10',
    })
    const period = { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2170-01-01T00:00:00Z') }
    await server.catalog().plans.insertOne({
      ...{ name: 'GOLD', connection_type: 'prepaid', ...period },
    } as never)
    const { lines } = await server.ask('accountinvoices', ask)
    expect(lines).toMatchObject([{ type: 'flat' }])
    await server.catalog().plans.deleteMany({ name: 'GOLD' })
  })

  it.each([
    [{ format: 'doc' }, 'format must be one of pdf, html, json, ubl'],
    [{ format: 'ubl' }, 'EN 16931 needs data that is missing: rating.currencyCode'],
    [{ iid: 999 }, 'Invoice not found'],
    [{ aid: 15 }, 'Invoice not found'],
    [{ aid: 'x' }, 'Illegal account ids'],
  ])('is refused by name: %j', async (changes, message) => {
    await server.catalog().billrun.deleteMany({ aid: 14 })
    await server.catalog().lines.deleteMany({ aid: 14 })
    await store(14)
    const ask = { action: 'download', aid: 14, iid: 140, ...changes }
    expect(await server.ask('accountinvoices', ask)).toMatchObject({ status: 0, message })
  })
})
