/** `querybillrun`, `recreateinvoices` and `generateexpected`: invoices of accounts. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { accountinvoices } from '../../../src/admin/actions/account-invoices.ts'
import { specificcycle } from '../../../src/admin/actions/billrun/run-cycle.ts'
import { generateexpected } from '../../../src/admin/actions/generate-expected.ts'
import { querybillrun } from '../../../src/admin/actions/querybillrun.ts'
import { recreateinvoices } from '../../../src/admin/actions/recreate-invoices.ts'
import { type Fields, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addAccounts } from '../../support/billing/cycle-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-expected-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const ACTIONS = [specificcycle, querybillrun, recreateinvoices, generateexpected, accountinvoices]
const api = useActionServer(ACTIONS, { TOLLGATE_INVOICES_FOLDER: folder })
const bare = useActionServer([generateexpected])
/** The server's clock is in 202607; the last cycle is 202606. */
const KEY = '202606'

beforeEach(async () => {
  const catalog = api.catalog()
  for (const name of ['subscribers', 'billrun', 'lines', 'counters', 'cycleparked'] as const) {
    await catalog[name].deleteMany({})
  }
  await addAccounts(catalog, 5)
})

const computeAll = () =>
  api.ask('billrun/specificcycle', { stamp: KEY, aids: JSON.stringify([1, 2, 3, 4, 5]) })

describe('querybillrun', () => {
  it('returns the invoices of accounts by account and cycle', async () => {
    await computeAll()
    const query = async (params: Fields) => {
      const { details: found } = await api.ask('querybillrun', params)
      return (found as Fields[]).map((each) => [each['aid'], each['billrun_key']])
    }
    expect(await query({ aid: '2,1' })).toEqual([
      [1, KEY],
      [2, KEY],
    ])
    expect(await query({ aid: 1, billrun: '202605' })).toEqual([])
    expect(await query({ aid: [1], billrun: JSON.stringify([KEY]) })).toHaveLength(1)
  })

  it.each([
    [{}, 'Require to supply aid or sid'],
    [{ aid: 'x' }, 'Require to supply aid or sid'],
    [{ aid: '1,x' }, 'Field aid should be of type Integer'],
    [{ aid: Array(1001).fill(1).join(',') }, 'Maximum of aid is 1000'],
    [{ aid: 1, billrun: 'x' }, 'Field billrun must be a cycle key such as 202601'],
  ])('refuses %j', async (params, text) => {
    expect((await api.ask('querybillrun', params))['desc']).toBe(text)
  })
})

describe('recreateinvoices', () => {
  it('computes unconfirmed invoices of the last cycle again, and keeps their numbers', async () => {
    await computeAll()
    await api.catalog().billrun.updateOne({ invoice_id: 101 }, { $set: { billed: 1 } })
    const answer = await api.ask('recreateinvoices', { account_id: '1,2' })
    expect(answer).toMatchObject({ status: 1, successfulAccounts: [1, 2] })
    const found = await api.catalog().billrun.find().sort({ aid: 1 }).toArray()
    expect(found.map(({ invoice_id }) => invoice_id)).toEqual([101, 102, 103, 104, 105])
  })

  it.each([
    [{}, 'Please supply at least one account id'],
    [{ account_id: 'x' }, 'Illegal aids'],
  ])('refuses %j', async (params, text) => {
    expect((await api.ask('recreateinvoices', params))['desc']).toBe(text)
  })
})

describe('generateexpected', () => {
  const expected = (params: Fields) => api.ask('generateexpected', params)

  it('computes the invoice of the current cycle, and stores nothing', async () => {
    const { details: invoice } = await expected({ aid: 2 })
    expect(invoice).toMatchObject({
      billrun_key: '202607',
      totals: { after_vat_rounded: 10.02 },
      start_date: '2026-06-01T00:00:00+0000',
    })
    for (const name of ['billrun', 'lines', 'cycleruns', 'counters'] as const) {
      expect(await api.catalog()[name].countDocuments()).toBe(0)
    }
  })

  it('of given revisions, and without usage', async () => {
    await api.catalog().lines.insertOne({
      ...{ stamp: 'u', aid: 2, sid: 10_002, billrun: KEY, type: 'credit', aprice: 3 },
      ...{ source: 'credit', urt: new Date('2026-05-20') },
    } as never)
    const total = async (params: Fields) => {
      const { details: invoice } = await expected({ aid: 2, billrun_key: KEY, ...params })
      return (invoice as { totals: Fields }).totals['after_vat_rounded']
    }
    expect(await total({})).toBe(13.02)
    expect(await total({ ignore_cdrs: true })).toBe(10.02)
    const span = { from: '2026-05-01', to: '2026-06-01' }
    const subscribers = [10_002, 10_003].map((sid) => ({ ...span, sid, plan: 'GOLD' }))
    expect(await total({ data: JSON.stringify({ subscribers }) })).toBe(23.04)
  })

  it('is an empty list without anything to invoice', async () => {
    expect((await expected({ aid: 99 }))['details']).toEqual([])
  })

  const path = join(folder, '202607', '002', '2-0-draft.pdf')

  it.each([{ output: 'download_pdf' }, { download_pdf: true }])(
    'answers the PDF: %j',
    async (how) => {
      const { headers, text } = await expected({ aid: 2, ...how })
      expect(headers.get('content-type')).toBe('application/pdf')
      expect(headers.get('content-disposition')).toBe(
        'attachment; filename="expected-2-invoice-0.pdf"',
      )
      expect(text.slice(0, 5)).toBe('%PDF-')
      expect(existsSync(path)).toBe(false)
    },
  )

  it('writes the PDF, and answers its path', async () => {
    expect((await expected({ aid: 2, output: 'pdf_path' }))['details']).toEqual({ pdf_path: path })
    expect(readFileSync(path).subarray(0, 5).toString()).toBe('%PDF-')
    rmSync(path)
    expect((await expected({ aid: 2, generate_pdf: true }))['details']).toMatchObject({
      billrun_key: '202607',
      invoice_file: path,
    })
    expect(existsSync(path)).toBe(true)
    expect(await api.catalog().billrun.countDocuments()).toBe(0)
  })

  it('has no PDF without a folder, or without anything to invoice', async () => {
    expect((await bare.ask('generateexpected', { aid: 2, output: 'pdf_path' }))['desc']).toBe(
      'output pdf_path requires invoices.folder in the configuration',
    )
    for (const output of ['pdf_path', 'download_pdf']) {
      expect((await expected({ aid: 99, output }))['desc']).toBe('There is nothing to invoice')
    }
  })

  it('is a file of accountinvoices in a given format', async () => {
    const ask = (format: string) =>
      api.ask('accountinvoices', { action: 'expected_invoice', aid: 2, format })
    expect((await ask('pdf')).text.slice(0, 5)).toBe('%PDF-')
    const { text } = await ask('json')
    expect(JSON.parse(text)).toMatchObject({ invoice_id: 0, totals: { payable: '10.02' } })
    expect((await ask('doc'))['desc']).toBe('format must be one of pdf, html, json, ubl')
  })

  it.each([
    [{}, 'Following field/s are missing: aid'],
    [{ aid: 'x' }, 'Field aid should be of type Integer'],
    [{ aid: 1, billrun_key: 'x' }, 'Illegal billrun key'],
    [{ aid: 1, data: '[]' }, 'Field data should be of type Object'],
    [{ aid: 1, data: '{"account":[{"from":"x"}]}' }, 'data.account.0.from must be a date'],
  ])('refuses %j', async (params, text) => {
    expect((await expected(params))['desc']).toBe(text)
  })

  it('says why an account cannot be computed', async () => {
    await api.catalog().subscribers.updateOne({ aid: 1 } as never, { $set: { broken: 'no price' } })
    expect((await expected({ aid: 1 }))['desc']).toBe('account 1: plan GOLD: no price')
  })
})
