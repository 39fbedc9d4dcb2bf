/**
 * `tollgate intake`, killed with SIGKILL and continued, charges each record once. It must be a
 * process, to be killed; `TEST_INTAKE_KILLS` is the number of kills.
 */
// covers: src/intake/ src/rating/finish.ts src/workers/account-attempt.ts
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { insertEntity } from '../support/catalog/store.ts'
import { beginOn } from '../support/cli/tollgate.ts'
import { CALL_RECORDS } from '../support/intake/call-records.ts'
import { useOpened } from '../support/opened.ts'
import { loadOwner, startTestStores, topUp } from '../support/recorder/accounts.ts'
import { startTestDrain } from '../support/recorder/test-drain.ts'
import { Random } from '../support/system/random.ts'
import { waitUntil } from '../support/wait.ts'

const KILLS = Number(process.env['TEST_INTAKE_KILLS'] ?? 3)
const RECORDS = 20_000 + 2_000 * KILLS
const SUBSCRIBERS = 20
const UNITS = 1_000_000
const SEED = Date.now()

const folder = mkdtempSync(join(tmpdir(), 'tg-intake-kill-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const stores = useOpened(startTestStores)

const sids = Array.from({ length: SUBSCRIBERS }, (_, index) => 100 + index)
const usedBy = (index: number) => 1 + (index % 7)

async function prepare(): Promise<string> {
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
  const lines = Array.from({ length: RECORDS }, (_, index) =>
    JSON.stringify({
      ...{ id: `r${index}`, used: usedBy(index), at: '2026-10-10T00:00:00Z' },
      msisdn: `49${sids[index % SUBSCRIBERS]}`,
    }),
  )
  const path = join(folder, 'calls.jsonl')
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

it(`has each record once after ${KILLS} kills, and exact balances (seed ${SEED})`, async () => {
  const path = await prepare()
  const { catalog, ledger } = stores()
  const random = new Random(SEED)
  const drain = await startTestDrain(stores())
  const lines = () => catalog.lines.countDocuments({ type: 'realtime' })
  const run = () => beginOn(stores(), ['intake', path, '--file-type', 'calls', '--json'])
  let interrupted = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    const { child, ended } = run()
    const target = (await lines()) + 1 + random.below(Math.floor(RECORDS / (KILLS + 1)))
    await waitUntil('some records are charged', async () => {
      return child.exitCode !== null || (await lines()) >= target
    })
    child.kill('SIGKILL')
    await ended
    if ((await catalog.intakefiles.countDocuments({ state: 'running' })) > 0) interrupted += 1
  }
  // Otherwise the file is too small for the machine.
  expect(interrupted).toBeGreaterThan(0)
  const { code, stdout, stderr } = await run().ended
  expect(code, stderr).toBe(0)
  const counts = { read: RECORDS, charged: RECORDS, duplicates: 0, rejected: 0 }
  const units = Array.from({ length: RECORDS }, (_, index) => usedBy(index))
  const sum = units.reduce((total, used) => total + used, 0)
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ state: 'done', ...counts },
    totals: [{ usaget: 'data', records: RECORDS, units: sum }],
  })
  await drain.stop(30_000)
  expect(await lines()).toBe(RECORDS)
  const ids = await catalog.lines.distinct('session_id', { type: 'realtime' })
  expect(ids).toHaveLength(RECORDS)
  for (const [at, sid] of sids.entries()) {
    const own = units.filter((_, index) => index % SUBSCRIBERS === at)
    const { buckets } = await loadOwner(ledger, sid, sid)
    expect(buckets[0]?.spent, `spent by ${sid}`).toBe(own.reduce((total, used) => total + used, 0))
  }
})
