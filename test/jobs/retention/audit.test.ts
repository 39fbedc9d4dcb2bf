/**
 * Old records of the audit are removed by the clock, and the hash chain of the others stays valid.
 */
import { expect, it } from 'vitest'
import { appendRecords } from '../../../src/catalog/audit/append.ts'
import { auditDocument } from '../../../src/catalog/audit/audit.ts'
import { verifyChain } from '../../../src/catalog/audit/verify.ts'
import { type Catalog, withGuards } from '../../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { beginRetention, retentionHandler } from '../../../src/jobs/retention/retention.ts'
import { type JobRunner, runJob, startJobRunner } from '../../../src/jobs/runner.ts'
import { removeReports } from '../../../src/reports/retention.ts'
import { dyingAfter } from '../../support/catalog/dying.ts'
import { useOpened } from '../../support/opened.ts'
import { silent, startTestStores } from '../../support/recorder/accounts.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 5, 1)
const ACTOR = { by: 'node', id: '', name: '', address: '' } as const
let nowMs = NOW_MS
let next = 0
const open = useOpened(startTestStores)

/** Records whose age in days is their number. */
async function fill(count: number): Promise<void> {
  next += 1
  const documents = Array.from({ length: count }, (_, age) => {
    const entry = { collection: 'plans', type: 'update', key: String(age) }
    return auditDocument(ACTOR, nowMs - age * DAY_MS, entry, `${next}/${age}`)
  })
  await appendRecords({ ...open().catalog }, documents)
}

const left = () => open().catalog.audit.countDocuments()
const clock = { nowMs: () => nowMs }
const removedOf = new Map<string, number>()

function runnerOn(catalog: Catalog, keepDays: number): JobRunner {
  const config = loadConfig({
    env: {
      TOLLGATE_AUDIT_KEEP_DAYS: String(keepDays),
      TOLLGATE_RETENTION_JOBS_DAYS: '1',
      TOLLGATE_JOBS_POLL_MS: '10',
    },
  })
  const metrics = {
    retentionRemoved: (name: string, count: number) =>
      removedOf.set(name, (removedOf.get(name) ?? 0) + count),
    retentionEnded: () => undefined,
  }
  const parts = { catalog, ledger: open().ledger, clock, config, metrics }
  return startJobRunner({
    catalog,
    clock,
    config,
    log: silent,
    handlers: { retention: retentionHandler(parts, removeReports) },
  })
}

it('old records are removed in batches, by one of several processes, repeatedly', async () => {
  await fill(1300)
  const config = loadConfig({ env: { TOLLGATE_AUDIT_KEEP_DAYS: '10' } })
  await beginRetention({ catalog: open().catalog, clock, config })
  const runners = [1, 2, 3].map(() => runnerOn({ ...open().catalog }, 10))
  await expect.poll(left, { timeout: 120_000 }).toBe(11)
  expect(removedOf.get('audit')).toBe(1289)
  expect(await verifyChain(open().catalog, { key: '' })).toMatchObject({ ok: true, removed: 1289 })
  const ages = (await open().catalog.audit.find().toArray()).map(({ key }) => Number(key))
  expect(Math.max(...ages)).toBe(10)
  // A run that ends after the clock has moved would be due a day after that.
  const later = { subject: 'audit', state: 'waiting' as const, due: { $gt: new Date(nowMs) } }
  await expect.poll(() => open().catalog.jobs.countDocuments(later)).toBe(1)
  nowMs += 5 * DAY_MS
  await expect.poll(left, { timeout: 120_000 }).toBe(6)
  await Promise.all(runners.map((runner) => runner.stop()))
  expect(await verifyChain(open().catalog, { key: '' })).toMatchObject({ ok: true, removed: 1294 })
})

it('a process that dies at any command leaves whole batches, and its count is right', async () => {
  await open().catalog.jobs.deleteMany({})
  const config = loadConfig({ env: { TOLLGATE_AUDIT_KEEP_DAYS: '10' } })
  await beginRetention({ catalog: open().catalog, clock, config })
  const keptBefore = await left()
  await fill(1_250)
  const metrics = { retentionRemoved: () => undefined, retentionEnded: () => undefined }
  let deaths = 0
  for (let operations = 0; operations < 60; operations += 1) {
    const job = await open().catalog.jobs.findOne({ subject: 'audit' })
    if (job === null) throw new Error('there is no job')
    const dying = await dyingAfter(open().mongo, operations)
    const parts = { catalog: dying.catalog, ledger: open().ledger, clock, config, metrics }
    const handlers = { retention: retentionHandler(parts, removeReports) }
    const runner = { catalog: dying.catalog, clock, config, log: silent, handlers }
    await runJob(runner, job, new AbortController().signal).catch(() => undefined)
    await dying.close()
    const after = await open().catalog.jobs.findOne({ subject: 'audit' })
    const removed = keptBefore + 1_250 - (await left())
    expect(after?.counts['removed'] ?? 0).toBe(removed)
    expect((await verifyChain(open().catalog, { key: '' })).problems).toEqual([])
    if (!dying.died()) break
    deaths += 1
  }
  expect(deaths).toBeGreaterThan(10)
  expect(await left()).toBe(keptBefore + 11)
})

it('records are kept with 0 days, and a running job ends then', async () => {
  nowMs += 10_000 * DAY_MS
  const runner = runnerOn({ ...open().catalog }, 0)
  await expect.poll(() => open().catalog.jobs.countDocuments({ state: 'done' })).toBe(1)
  await runner.stop()
  expect(await left()).toBe(17)
})

it('records are removed later if MongoDB is unavailable', async () => {
  const config = loadConfig({ env: { TOLLGATE_AUDIT_KEEP_DAYS: '10' } })
  await beginRetention({ catalog: open().catalog, clock, config })
  let isAway = true
  let tried = 0
  const run: Catalog['run'] = (what, operation) => {
    tried += 1
    if (isAway) return Promise.reject(new CatalogUnavailableError('away'))
    return open().catalog.run(what, operation)
  }
  const runner = runnerOn(withGuards(open().catalog, { run }), 10)
  await expect.poll(() => tried).toBeGreaterThan(2)
  expect(await left()).toBe(17)
  isAway = false
  await expect.poll(left, { timeout: 120_000 }).toBe(0)
  await runner.stop()
  expect((await verifyChain(open().catalog, { key: '' })).problems).toEqual([])
})
