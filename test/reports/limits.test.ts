/** Limits on the work of a report: time, rows, memory; and the connection that reads its rows. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MongoServer, startMongoServer } from '@tollgate/embedded-mongo'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../src/admin/actions/table.ts'
import { createEntityApi } from '../../src/admin/entity-api.ts'
import { STORED_CUSTOMERS } from '../../src/billing/customer-lookup.ts'
import { type Catalog, openCatalog } from '../../src/catalog/connection.ts'
import { loadConfig } from '../../src/config/load.ts'
import { jobsDue } from '../../src/jobs/jobs.ts'
import { runJob } from '../../src/jobs/runner.ts'
import { parseReport } from '../../src/reports/definition.ts'
import { reportHandler } from '../../src/reports/job.ts'
import { createReports } from '../../src/reports/parts.ts'
import { openReport } from '../../src/reports/run.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { type Fields, NOW_MS, useActionServer } from '../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../support/reports/report-tenant.ts'

/** More than a file may have, and more than the rows of a batch. */
const LINES = 1_701
const folder = mkdtempSync(join(tmpdir(), 'tg-limits-'))
const ENV = {
  ...REPORT_ENV,
  TOLLGATE_REPORTS_FOLDER: folder,
  TOLLGATE_REPORTS_TIMEOUT_MS: '70000',
  TOLLGATE_REPORTS_FILE_ROWS_MAX: String(LINES - 1),
  TOLLGATE_ENTITIES_READ_TIMEOUT_MS: '50000',
}
const api = useActionServer(ACTIONS, ENV)
const config = loadConfig({ env: ENV })
const clock = { nowMs: () => NOW_MS }
const log = createLogger({ name: 'test', level: 'silent' })

/** A second store, with a clock of its own. */
let server: MongoServer
let catalog: Catalog
let slow: Awaited<ReturnType<typeof api.again>>
let storeMs = Date.now()
let stepMs = 0

beforeAll(async () => {
  await addReportTenant(api.catalog())
  const nowMs = () => {
    storeMs += stepMs
    return storeMs
  }
  const paths = { dataDir: join(folder, 'data'), socketPath: join(folder, 's.sock') }
  server = await startMongoServer({ ...paths, clock: { nowMs } })
  const { url } = server
  catalog = await openCatalog({
    ...{ url, database: 'slow', timeoutMs: 20_000, appName: 'test' },
    readTimeoutMs: 600_000,
  })
  await catalog.ensureIndexes()
  const lines = Array.from({ length: LINES }, (_, index) => ({
    stamp: `s${index}`,
    sid: 1,
    aid: 1,
  }))
  await catalog.lines.insertMany(lines as never)
  slow = await api.again(catalog)
})
afterAll(async () => {
  await slow.close()
  await catalog.close()
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const ALL = { entity: 'usage', columns: [{ field_name: 'stamp' }] }
async function slowly<T>(work: () => Promise<T>): Promise<T> {
  stepMs = 100_000
  try {
    return await work()
  } finally {
    stepMs = 0
  }
}

describe('a report that takes too long', () => {
  // No line has a plan, so that all are read before the first answer.
  const report = { ...ALL, conditions: [{ field: 'plan', op: 'exists', value: true }] }

  it.each([
    ['a page', { size: 10 }, 50_000],
    ['CSV', { type: 'csv' }, 70_000],
  ])('%s is refused with its limit', async (_name, more, limitMs) => {
    const answer = await slowly(() => slow.ask('report', { report, ...more }))
    const text = `the query was stopped after ${limitMs} ms`
    expect(answer, answer.text).toMatchObject({ http: 200, status: 0 })
    expect(answer['message']).toContain(text)
  })

  it('fails in a file with the limit of files', async () => {
    const answer = await slow.ask('report', { report, type: 'file' })
    const path = new URL(String(answer['file_url'])).pathname
    const { fields } = createEntityApi({
      catalog,
      ledger: {} as never,
      clock,
      config,
      lookup: STORED_CUSTOMERS,
      log,
    })
    const parts = createReports({ catalog, reader: catalog, config, fields })
    const options = {
      catalog,
      clock,
      config,
      log,
      handlers: { report: reportHandler({ ...parts, clock }) },
    }
    const [job] = await jobsDue(options)
    if (job === undefined) throw new Error('no job')
    expect(path).toContain(job._id.toHexString())
    await slowly(() => runJob(options, job, new AbortController().signal))
    expect(await catalog.jobs.findOne({ _id: job._id })).toMatchObject({
      state: 'done',
      error: 'the report was stopped after 70000 ms: add conditions',
    })
  })
})

it('CSV of more rows than a file may have ends as an error, not as a complete text', async () => {
  const answer = slow.ask('report', { report: ALL, type: 'csv' })
  await expect(answer).rejects.toThrow('terminated')
})

describe('memory', () => {
  /** Together more than the 100 MiB that groups, and the joined documents of one row, may have. */
  const MANY = 105
  const filler = 'x'.repeat(1024 * 1024)
  beforeAll(async () => {
    for (let index = 0; index < MANY; index += 1) {
      const line = { stamp: `big${index}`, sid: 11, aid: 1, usaget: 'big', session_id: filler }
      await api.catalog().lines.insertOne(line as never)
    }
  })

  const TOO_MUCH = 'too many groups or values for the memory: add conditions'
  const conditions = [{ field: 'usaget', entity: 'usage', op: 'eq', value: 'big' }]
  const REPORTS: readonly [name: string, report: Fields][] = [
    [
      'of values in a group',
      {
        ...{ entity: 'usage', type: 1, conditions },
        columns: [{ field_name: 'session_id', op: 'push' }],
      },
    ],
    [
      'of joined documents',
      {
        ...{ entity: 'subscription', conditions },
        columns: [{ field_name: 'sid' }, { field_name: 'session_id', entity: 'usage' }],
      },
    ],
  ]

  it.each(REPORTS)('%s is bounded', async (_name, report) => {
    const answer = await api.ask('report', { report, size: 1 })
    expect(answer, answer.text.slice(0, 500)).toMatchObject({
      http: 200,
      status: 0,
      desc: TOO_MUCH,
    })
  })
})

it('rows are read over the connection for reports, from a replica if there is one', async () => {
  const report = parseReport(ALL, () => [])
  const run = { report, skip: 0, limit: 10_000, nowMs: NOW_MS }
  const connection = { url: server.url, database: 'slow', timeoutMs: 20_000, appName: 'test' }
  const reader = await openCatalog({ ...connection, readsReplica: true })
  const rows = await openReport({ catalog: api.catalog(), reader, config }, run)
  let found = 0
  for await (const batch of rows.batches()) found += batch.length
  expect(found).toBe(LINES)
  const modeOf = ({ unguarded }: Catalog) => unguarded.lines.readPreference?.mode
  await reader.close()
  expect([modeOf(reader), modeOf(api.catalog())]).toEqual(['secondaryPreferred', 'primary'])
})
