/** Reports that are written to files in the background. */
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../src/admin/actions/table.ts'
import { createEntityApi } from '../../src/admin/entity-api.ts'
import { STORED_CUSTOMERS } from '../../src/billing/customer-lookup.ts'
import { loadConfig } from '../../src/config/load.ts'
import { DEFINITIONS } from '../../src/entities/definitions/collections.ts'
import { jobsDue } from '../../src/jobs/jobs.ts'
import type { Removal } from '../../src/jobs/retention/removal.ts'
import { runJob } from '../../src/jobs/runner.ts'
import { reportHandler } from '../../src/reports/job.ts'
import { createReports, type ReportParts } from '../../src/reports/parts.ts'
import { removeReports } from '../../src/reports/retention.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { type Fields, NOW_MS, useActionServer } from '../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../support/reports/report-tenant.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-reports-'))
const ENV = { ...REPORT_ENV, TOLLGATE_REPORTS_FOLDER: folder, TOLLGATE_REPORTS_ROWS_MAX: '3' }
const CONFIG = loadConfig({ env: ENV })
const api = useActionServer(ACTIONS, ENV)
const log = createLogger({ name: 'test', level: 'silent' })
const clock = { nowMs: () => api.now() }
const HOUR_MS = 3_600_000

let parts: ReportParts
beforeAll(async () => {
  await addReportTenant(api.catalog())
  const catalog = api.catalog()
  const { fields } = createEntityApi({
    catalog,
    ledger: {} as never,
    clock,
    config: CONFIG,
    lookup: STORED_CUSTOMERS,
    log,
  })
  parts = createReports({ catalog, reader: catalog, config: CONFIG, fields })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the jobs that are due, as the job runner does. */
async function runJobs(): Promise<void> {
  const handlers = { report: reportHandler({ ...parts, clock }) }
  const options = { catalog: api.catalog(), clock, config: CONFIG, log, handlers }
  for (const job of await jobsDue(options)) {
    await runJob(options, job, new AbortController().signal)
  }
}

const ALL = {
  entity: 'usage',
  columns: [
    { field_name: 'stamp', label: 'Stamp' },
    { field_name: 'aprice', label: 'Price' },
  ],
  sorts: [{ field: 'stamp', op: 1 }],
}

interface Ordered {
  readonly url: string
  readonly job: string
  readonly expires: string
  readonly format: string
}
async function order(params: Fields = {}): Promise<Ordered> {
  const answer = await api.ask('report', { report: ALL, ...params })
  expect(answer, answer.text).toMatchObject({ status: 1, details: [], next_page: false })
  const file = answer['file'] as Ordered
  expect(answer['file_url']).toBe(file.url)
  return file
}

describe('a report with more rows than the answer may have', () => {
  it('is written to a file, at an address that expires', async () => {
    const { url, expires, format } = await order()
    expect([format, expires]).toEqual(['csv', new Date(NOW_MS + 24 * HOUR_MS).toISOString()])
    const waiting = await fetch(url)
    expect(waiting.status).toBe(202)
    expect(waiting.headers.get('retry-after')).toBe('5')
    expect(await waiting.json()).toMatchObject({ status: 1, details: { rows: 0 } })
    await runJobs()
    const ready = await fetch(url)
    expect(ready.status).toBe(200)
    expect(ready.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(ready.headers.get('content-disposition')).toBe(
      'attachment; filename="20260615_report.csv"',
    )
    expect(await ready.text()).toBe('Stamp,Price\r\na,0.1\r\nb,0.2\r\nc,1.15\r\nd,-0.3\r\n')
    api.at(NOW_MS + 24 * HOUR_MS)
    expect((await fetch(url)).status).toBe(410)
    api.at(NOW_MS)
  })

  it('of few rows is answered directly, unless a file is asked for', async () => {
    const conditions = [{ field: 'sid', op: 'eq', value: 11 }]
    const direct = await api.ask('report', { report: { ...ALL, conditions } })
    expect(direct).toMatchObject({ details: [{ stamp: 'a' }, { stamp: 'b' }] })
    expect(direct).not.toHaveProperty('file_url')
    await order({ report: { ...ALL, conditions }, type: 'file' })
    await runJobs()
  })

  it('can be lines of JSON', async () => {
    const { url } = await order({ file_format: 'ndjson', file_name: 'mine' })
    await runJobs()
    const answer = await fetch(url)
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toContain('"mine.ndjson"')
    const rows = (await answer.text()).trim().split('\n')
    expect(rows.map((row) => JSON.parse(row))).toEqual([
      { stamp: 'a', aprice: 0.1 },
      { stamp: 'b', aprice: 0.2 },
      { stamp: 'c', aprice: 1.15 },
      { stamp: 'd', aprice: -0.3 },
    ])
  })

  it('has a job with its progress, which does not show the key of the address', async () => {
    const { job } = await order()
    await runJobs()
    const found = await api
      .catalog()
      .jobs.findOne({ kind: 'report', step: 'done' }, { sort: { created: -1 } })
    expect(found).toMatchObject({ state: 'done', error: '', counts: { rows: 4 } })
    expect(found?.options).not.toHaveProperty('definition')
    expect(job).toMatch(/^[\da-f]{24}$/)
    // The key of the signature: with it any reader of jobs could make the address.
    expect(found?.options).toHaveProperty('secret')
    expect(DEFINITIONS.get('jobs')?.hidden).toContain('options')
  })
})

describe('an address', () => {
  it.each([
    ['another signature', (url: URL) => url.searchParams.set('signature', 'x')],
    ['no signature', (url: URL) => url.searchParams.delete('signature')],
    ['a later expiry', (url: URL) => url.searchParams.set('expires', '9999999999999')],
    ['no expiry', (url: URL) => url.searchParams.delete('expires')],
    ['two expiries', (url: URL) => url.searchParams.append('expires', '1')],
    [
      'another job',
      (url: URL) => {
        url.pathname = url.pathname.replace(/.$/, (c) => (c === 'a' ? 'b' : 'a'))
      },
    ],
    [
      'a path',
      (url: URL) => {
        url.pathname = '/api/report/files/..%2f..%2fsecrets.key'
      },
    ],
  ])('with %s is refused', async (_name, change) => {
    const { url } = await order()
    await runJobs()
    const changed = new URL(url)
    change(changed)
    const answer = await fetch(changed)
    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({
      status: 0,
      code: 403,
      message: 'the address of the report is not valid',
    })
  })
})

it('the signature of one file does not open another one', async () => {
  const [mine, other] = [new URL((await order()).url), new URL((await order()).url)]
  await runJobs()
  expect((await fetch(other)).status).toBe(200)
  mine.pathname = other.pathname
  expect((await fetch(mine)).status).toBe(403)
})

it('a report that cannot be written fails once, and says why', async () => {
  const { url, job } = await order({ type: 'file' })
  await api
    .catalog()
    .jobs.updateOne(
      { kind: 'report', state: 'queued' },
      { $set: { 'options.definition': { ...ALL, sorts: [], columns: [{ field_name: 'gone' }] } } },
    )
  const handlers = { report: reportHandler({ ...parts, clock }) }
  const options = { catalog: api.catalog(), clock, config: CONFIG, log, handlers }
  for (const due of await jobsDue(options)) await runJob(options, due, new AbortController().signal)
  expect(await (await fetch(url)).json()).toMatchObject({
    status: 0,
    desc: expect.stringContaining('gone is not a field of usage'),
  })
  expect(await jobsDue(options)).toEqual([])
  expect(job).not.toBe('')
})

it('a report with more rows than a file may have fails', async () => {
  const { url } = await order()
  const config = { ...parts.config, reports: { ...parts.config.reports, fileRowsMax: 3 } }
  const handlers = { report: reportHandler({ ...parts, config, clock }) }
  const options = { catalog: api.catalog(), clock, config: CONFIG, log, handlers }
  for (const job of await jobsDue(options)) await runJob(options, job, new AbortController().signal)
  expect(await (await fetch(url)).json()).toMatchObject({
    status: 0,
    desc: 'the report has more than 3 rows: add conditions',
  })
})

it('an interrupted report starts again, and the file has each row once', async () => {
  const { url } = await order()
  const abort = new AbortController()
  abort.abort()
  const handlers = { report: reportHandler({ ...parts, clock }) }
  const options = { catalog: api.catalog(), clock, config: CONFIG, log, handlers }
  for (const job of await jobsDue(options)) await runJob(options, job, abort.signal)
  expect((await fetch(url)).status).toBe(202)
  await runJobs()
  expect((await (await fetch(url)).text()).split('\r\n')).toHaveLength(6)
})

it('a process that stops in the middle of a file leaves the report to another one', async () => {
  const { url, job: id } = await order()
  const catalog = api.catalog()
  const steps = new EventEmitter()
  const begun = once(steps, 'begun')
  const released = once(steps, 'released')
  // Stops after the header; later it writes something else, and dies.
  const files: ReportParts['files'] = {
    ...parts.files,
    write: (name, texts) =>
      parts.files.write(
        name,
        (async function* () {
          for await (const text of texts) {
            yield text
            steps.emit('begun')
            await released
            yield 'x'.repeat(100)
            throw new Error('the process died')
          }
        })(),
      ),
  }
  const handlers = { report: reportHandler({ ...parts, files, clock }) }
  const options = { catalog, clock, config: CONFIG, log, handlers }
  const [due] = await jobsDue(options)
  if (due === undefined) throw new Error('no job')
  const stopped = runJob(options, due, new AbortController().signal)
  await begun
  await runJobs()
  expect((await fetch(url)).status).toBe(202)
  // Its lease ends.
  await catalog.jobs.updateOne({ _id: due._id }, { $set: { expires: new Date(0) } })
  await runJobs()
  const text = 'Stamp,Price\r\na,0.1\r\nb,0.2\r\nc,1.15\r\nd,-0.3\r\n'
  expect(await (await fetch(url)).text()).toBe(text)
  steps.emit('released')
  await stopped
  expect(await (await fetch(url)).text()).toBe(text)
  const left = readdirSync(folder).filter((name) => name.startsWith(id))
  expect(left).toEqual([expect.stringMatching(/\.csv$/)])
})

it('no more than 20 reports wait', async () => {
  for (let index = 0; index < 20; index += 1) await order()
  const refused = await api.ask('report', { report: ALL })
  expect(refused).toMatchObject({
    status: 0,
    desc: '20 reports are being written: try again later',
  })
  while ((await jobsDue({ catalog: api.catalog(), clock })).length > 0) await runJobs()
})

it('expired files are removed, others stay', async () => {
  const { url } = await order()
  await runJobs()
  const removed: number[] = []
  const remove = (nowMs: number) =>
    removeReports({
      config: parts.config,
      clock: { nowMs: () => nowMs },
      signal: new AbortController().signal,
      removeBatch: async (work: () => Promise<number>) => removed.push(await work()),
    } as unknown as Removal)
  const draft = `${'0'.repeat(24)}-${NOW_MS + 24 * HOUR_MS}.csv.0123456789abcdef.part`
  writeFileSync(join(folder, draft), 'left by a process that died')
  const before = readdirSync(folder)
  expect(before.length).toBeGreaterThan(1)
  expect(readFileSync(join(folder, before[0] ?? ''), 'utf8')).not.toBe('')
  await remove(NOW_MS + 24 * HOUR_MS - 1)
  expect(readdirSync(folder)).toEqual(before)
  await remove(NOW_MS + 24 * HOUR_MS)
  expect(readdirSync(folder)).toEqual([])
  expect(removed.reduce((sum, each) => sum + each, 0)).toBe(before.length)
  expect((await fetch(url)).status).toBe(404)
})
