/** Old records go, at the clock's time. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startAuditRetention } from '../../../src/admin/audit/retention.ts'
import { appendRecords } from '../../../src/catalog/audit/append.ts'
import { auditDocument } from '../../../src/catalog/audit/audit.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { silent, startTestStores, type TestStores } from '../../recorder/accounts.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.UTC(2026, 5, 1)
const ACTOR = { by: 'node', id: '', name: '', address: '' } as const

let open: TestStores
beforeAll(async () => {
  open = await startTestStores()
})
afterAll(() => open.close())
beforeEach(async () => {
  await open.catalog.audit.deleteMany({})
})

/** So many records that are as many days old as their number. */
async function fill(count: number): Promise<void> {
  const documents = Array.from({ length: count }, (_, age) => {
    const entry = { collection: 'plans', type: 'update', key: String(age) }
    return auditDocument(ACTOR, NOW_MS - age * DAY_MS, entry, `${age}`)
  })
  await appendRecords(open.catalog, documents)
}

const left = () => open.catalog.audit.countDocuments()

function options(keepDays: number, clock = { nowMs: () => NOW_MS }) {
  return { catalog: open.catalog, clock, config: { audit: { keepDays }, secrets: { key: '' } }, log: silent }
}

it('are deleted at the start, in several batches and by several processes', async () => {
  await fill(1300)
  const jobs = [1, 2, 3].map(() => startAuditRetention(options(10)))
  await expect.poll(left).toBe(11)
  await Promise.all(jobs.map((job) => job.stop()))
  const ages = (await open.catalog.audit.find().toArray()).map(({ key }) => Number(key))
  expect(Math.max(...ages)).toBe(10)
})

it('are deleted again and again, as time goes on', async () => {
  await fill(20)
  let nowMs = NOW_MS
  const job = startAuditRetention({ ...options(10, { nowMs: () => nowMs }), everyMs: 5 })
  await expect.poll(left).toBe(11)
  nowMs += 5 * DAY_MS
  await expect.poll(left).toBe(6)
  await job.stop()
})

it('stay for ever with 0', async () => {
  await fill(3)
  const job = startAuditRetention(options(0, { nowMs: () => NOW_MS + 10_000 * DAY_MS }))
  await job.stop()
  expect(await left()).toBe(3)
})

it('go later where MongoDB is away; it stops at once', async () => {
  await fill(20)
  let isAway = true
  let tried = 0
  const run: typeof open.catalog.run = (what, operation) => {
    tried += 1
    if (isAway) return Promise.reject(new CatalogUnavailableError('away'))
    return open.catalog.run(what, operation)
  }
  const catalog = { ...open.catalog, run }
  const job = startAuditRetention({ ...options(10), catalog, everyMs: 5 })
  await expect.poll(() => tried).toBeGreaterThan(2)
  expect(await left()).toBe(20)
  isAway = false
  await expect.poll(left).toBe(11)
  await job.stop()
  const before = tried
  await fill(0)
  expect(tried).toBe(before)
})
