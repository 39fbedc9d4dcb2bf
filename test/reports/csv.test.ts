/** Reports as CSV: quoting, formulas, streaming. */
import { request } from 'node:http'
import { parse } from 'csv-parse/sync'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { ACTIONS } from '../../src/admin/actions/table.ts'
import type { Catalog } from '../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { patienceOf } from '../../src/catalog/patience.ts'
import { type Fields, useActionServer } from '../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../support/reports/report-tenant.ts'

const api = useActionServer(ACTIONS, REPORT_ENV)
beforeAll(() => addReportTenant(api.catalog()))

const REPORT = {
  entity: 'usage',
  columns: [
    { field_name: 'stamp', label: 'Stamp' },
    { field_name: 'called_number', label: 'Called, number' },
    { field_name: 'label', label: '=Label' },
    { field_name: 'uf.note', label: 'Note' },
    { field_name: 'aprice', label: 'Price' },
    { field_name: 'urt', label: 'Time' },
    { field_name: 'late', label: 'Late' },
    { field_name: 'tax_data', label: 'Tax' },
  ],
  sorts: [{ field: 'stamp', op: 1 }],
}
const csvOf = (report: Fields, more: Fields = {}) =>
  api.ask('report', { report, type: 'csv', ...more })

describe('CSV', () => {
  it('has labels, RFC 4180 quoting, exact decimals, local time and no formulas', async () => {
    const { text, headers, http } = await csvOf(REPORT)
    expect([http, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
    expect(headers.get('content-disposition')).toBe('inline; filename="20260615_report.csv"')
    expect(text.split('\r\n')[0]).toBe('Stamp,"Called, number",\'=Label,Note,Price,Time,Late,Tax')
    expect(text.endsWith('\r\n')).toBe(true)
    expect(text).toContain('"\'=HYPERLINK(""x"")"')
    expect(parse(text, { record_delimiter: '\r\n' })).toEqual([
      ['Stamp', 'Called, number', "'=Label", 'Note', 'Price', 'Time', 'Late', 'Tax'],
      [
        ...['a', `'=HYPERLINK("x")`, '', 'a, "b"\nc', '0.1', '2026-06-01T15:30:00+0530'],
        ...['FALSE', '{"total_tax":0.17}'],
      ],
      ['b', '+49123', '', '', '0.2', '2026-06-02T00:30:00+0530', 'TRUE', ''],
      ['c', '', '', '', '1.15', '2026-05-20T15:30:00+0530', 'FALSE', ''],
      ['d', '', "'-1+1", '', '-0.3', '2026-05-21T15:30:00+0530', '', ''],
    ])
  })

  it('has the name, delimiter and header that are asked for', async () => {
    const more = { file_name: '../my report.csv', delimiter: ';', headers: 0 }
    const { text, headers } = await csvOf({ ...REPORT, columns: REPORT.columns.slice(0, 2) }, more)
    expect(headers.get('content-disposition')).toBe('inline; filename="_my_report.csv"')
    expect(text.split('\r\n').slice(0, 2)).toEqual([`a;"'=HYPERLINK(""x"")"`, 'b;+49123'])
  })

  it('waits for MongoDB before its first row', async () => {
    const catalog = api.catalog()
    let reads = 0
    const readBatches: Catalog['readBatches'] = (...read) => {
      reads += 1
      if (reads === 1) throw new CatalogUnavailableError('away')
      return catalog.readBatches(...read)
    }
    const patience = { ...patienceOf(60_000, () => undefined), pauseMs: 1 }
    const server = await api.again({ ...catalog, readBatches, patience })
    const csv = await server.ask('report', { report: REPORT, type: 'csv' })
    expect(csv.text).toBe((await csvOf(REPORT)).text)
    expect(reads).toBe(2)
    await server.close()
  })

  it('is the same text by exportCSVReport', async () => {
    const { text } = await csvOf(REPORT)
    const again = await api.ask('report', { action: 'exportCSVReport', report: REPORT })
    expect(again.text).toBe(text)
  })

  it('of no rows is the header', async () => {
    const conditions = [{ field: 'sid', op: 'eq', value: 5 }]
    const { text } = await csvOf({ ...REPORT, columns: [REPORT.columns[0]], conditions })
    expect(text).toBe('Stamp\r\n')
  })
})

/** Enough rows to fill the buffers of a connection. */
const MANY = 60_000

describe('a large CSV', () => {
  beforeAll(async () => {
    const filler = 'x'.repeat(400)
    for (let from = 0; from < MANY; from += 10_000) {
      const lines = Array.from({ length: 10_000 }, (_, index) => ({
        ...{ stamp: `m${from + index}`, type: 'realtime', aid: 7, sid: 7, session_id: filler },
        urt: new Date(api.now()),
      }))
      await api.catalog().lines.insertMany(lines as never)
    }
  })

  const report = {
    entity: 'usage',
    columns: [{ field_name: 'stamp' }, { field_name: 'session_id' }],
    conditions: [{ field: 'sid', op: 'eq', value: 7 }],
  }

  it('is sent completely', async () => {
    const { text } = await csvOf(report)
    expect(text.split('\r\n')).toHaveLength(MANY + 2)
  })

  it('is read as fast as the client receives it, and not any more when it has gone', async () => {
    const { lines } = api.catalog().unguarded
    const opened = vi.spyOn(lines, 'aggregate')
    const catalog = api.catalog()
    const { readBatches } = catalog
    let rows = 0
    vi.spyOn(catalog, 'readBatches').mockImplementation(async function* (...args) {
      for await (const batch of readBatches(...args)) {
        rows += batch.length
        yield batch
      }
    } as typeof readBatches)
    const body = JSON.stringify({ report, type: 'csv' })
    const headers = { 'content-type': 'application/json', 'x-role': 'admin' }
    const sent = request(`${api.url()}/api/report`, { method: 'POST', headers })
    const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end(body)
    })
    // The client reads nothing: the node stops reading long before the end.
    answer.pause()
    await expect.poll(() => opened.mock.results.length).toBe(1)
    const cursor = opened.mock.results[0]?.value as { closed: boolean }
    let before = -1
    const isStalled = () => {
      const isSame = rows > 0 && rows === before
      before = rows
      return isSame
    }
    await expect.poll(isStalled, { interval: 500 }).toBe(true)
    expect([cursor.closed, rows < MANY / 2]).toEqual([false, true])
    answer.destroy()
    await expect.poll(() => cursor.closed).toBe(true)
    expect(rows).toBeLessThan(MANY)
    vi.restoreAllMocks()
  })
})
