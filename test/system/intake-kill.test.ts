/**
 * `tollgate intake` and the process `sources`, killed with SIGKILL and continued, charge each
 * record once. They must be processes, to be killed; `TEST_INTAKE_KILLS` is the number of kills.
 */
// covers: src/intake/ src/rating/finish.ts src/workers/account-attempt.ts
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { beginOn } from '../support/cli/tollgate.ts'
import { CALL_RECORDS } from '../support/intake/call-records.ts'
import { useFolderEach, useOpenedEach } from '../support/opened.ts'
import type { Begun } from '../support/product/run-command.ts'
import { loadOwner, startTestStores, topUp } from '../support/recorder/accounts.ts'
import { startTestDrain } from '../support/recorder/test-drain.ts'
import { Random } from '../support/system/random.ts'
import { waitUntil } from '../support/wait.ts'

const KILLS = Number(process.env['TEST_INTAKE_KILLS'] ?? 3)
const SUBSCRIBERS = 20
const UNITS = 1_000_000
const SEED = Date.now()

const folder = useFolderEach()
const stores = useOpenedEach(startTestStores)

const sids = Array.from({ length: SUBSCRIBERS }, (_, index) => 100 + index)
const unitsOf = (records: number) => Array.from({ length: records }, (_, index) => 1 + (index % 7))

/** Returns the path of a file with so many records. */
async function prepare(records: number): Promise<string> {
  const { catalog, ledger } = stores()
  await insertEntity(catalog, 'plans')
  await insertEntity(catalog, 'rates')
  await insertEntity(catalog, 'taxes')
  for (const sid of sids) {
    await insertEntity(catalog, 'subscribers', { aid: sid, sid, msisdn: `49${sid}` })
    await topUp(ledger, sid, sid, UNITS, `first-${sid}`)
  }
  const value = [CALL_RECORDS]
  const by = { rev: 1, changed: new Date(), changed_by: 'cli' }
  await catalog.config.insertOne({ _id: 'file_types', value, ...by })
  const lines = unitsOf(records).map((used, index) =>
    JSON.stringify({
      ...{ id: `r${index}`, used, at: '2026-10-10T00:00:00Z' },
      msisdn: `49${sids[index % SUBSCRIBERS]}`,
    }),
  )
  const path = join(folder(), 'calls.jsonl')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

const recorded = () => stores().catalog.lines.countDocuments({ type: 'realtime' })

/** Kills the process when so many lines more are recorded. Returns whether the file had begun. */
async function killWithin({ child, ended }: Begun, lines: number): Promise<boolean> {
  const target = (await recorded()) + lines
  await waitUntil('some records are charged', async () => {
    return child.exitCode !== null || (await recorded()) >= target
  })
  child.kill('SIGKILL')
  await ended
  return (await stores().catalog.intakefiles.countDocuments({ state: 'running' })) > 0
}

/** The counts of the file, if each record was charged once. */
function countsOf(records: number) {
  const units = unitsOf(records).reduce((total, used) => total + used, 0)
  const counts = { read: records, charged: records, duplicates: 0, rejected: 0 }
  return { state: 'done', ...counts, totals: [{ usaget: 'data', records, units }] }
}

async function expectChargedOnce(records: number): Promise<void> {
  const { catalog, ledger } = stores()
  expect(await recorded()).toBe(records)
  const ids = await catalog.lines.distinct('session_id', { type: 'realtime' })
  expect(ids).toHaveLength(records)
  for (const [at, sid] of sids.entries()) {
    const own = unitsOf(records).filter((_, index) => index % SUBSCRIBERS === at)
    const { buckets } = await loadOwner(ledger, sid, sid)
    expect(buckets[0]?.spent, `spent by ${sid}`).toBe(own.reduce((total, used) => total + used, 0))
  }
}

it(`has each record once after ${KILLS} kills, and exact balances (seed ${SEED})`, async () => {
  const records = 20_000 + 2_000 * KILLS
  const path = await prepare(records)
  const random = new Random(SEED)
  const drain = await startTestDrain(stores())
  const run = () => beginOn(stores(), ['intake', path, '--file-type', 'calls', '--json'])
  let interrupted = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    const lines = 1 + random.below(Math.floor(records / (KILLS + 1)))
    if (await killWithin(run(), lines)) interrupted += 1
  }
  // Otherwise the file is too small for the machine.
  expect(interrupted).toBeGreaterThan(0)
  const { code, stdout, stderr } = await run().ended
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject(countsOf(records))
  await drain.stop(30_000)
  await expectChargedOnce(records)
})

it('is completed and moved by the next process of sources', async () => {
  const records = 8_000
  const path = await prepare(records)
  const inbox = join(folder(), 'in')
  mkdirSync(inbox)
  renameSync(path, join(inbox, 'calls.jsonl'))
  const drain = await startTestDrain(stores())
  const run = () =>
    beginOn(stores(), ['sources'], {
      TOLLGATE_DATA_DIR: folder(),
      TOLLGATE_TRANSFER_PLACES: JSON.stringify({ here: { url: `file://${inbox}` } }),
      TOLLGATE_INTAKE_SOURCES: JSON.stringify({
        calls: { place: 'here', fileType: 'calls', stableMs: 0 },
      }),
      TOLLGATE_INTAKE_POLL_MS: '100',
    })
  // Otherwise the file is too small for the machine.
  expect(await killWithin(run(), 1)).toBe(true)
  expect(existsSync(join(inbox, 'calls.jsonl'))).toBe(true)
  // As it is 30 s later, when the lease of the killed process has ended.
  await openExpiringKeys(stores().ledger.redis, 'intake').remove('source:calls')
  const { child, ended } = run()
  const done = join(inbox, 'done', 'calls.jsonl')
  await waitUntil('the file is moved', () => child.exitCode !== null || existsSync(done))
  child.kill('SIGTERM')
  const { code, stderr } = await ended
  expect(code, stderr).toBe(0)
  const report = JSON.parse(readFileSync(`${done}.report.json`, 'utf8'))
  expect(report).toMatchObject({ source: 'calls', repeated: false, ...countsOf(records) })
  await drain.stop(30_000)
  await expectChargedOnce(records)
})
