import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openSessions } from '../../src/ledger/streams.ts'
import { useFolder } from '../support/opened.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { compileWorkers } from '../support/workers/compiled.ts'
import type { ClientPlan, ClientReport } from '../support/workers/contention-client.ts'
import {
  DATA_UNITS,
  openProcessorFixture,
  type ProcessorFixture,
  SHARED_DATA,
} from '../support/workers/processor-fixture.ts'
import { chooseSeed } from '../support/workers/random.ts'

const SEED = chooseSeed()
const PROCESSES = 3

const PROGRAM = `
import { runClients } from './test/support/workers/contention-client.js'
const report = await runClients(JSON.parse(process.argv[2]))
process.stdout.write(JSON.stringify(report))
`

let redis: TestRedis
let scene: ProcessorFixture

const folder = useFolder()
beforeAll(async () => {
  compileWorkers(folder)
  writeFileSync(join(folder, 'client.js'), PROGRAM)
  redis = await startTestRedis({ appendfsync: 'everysec' })
  scene = await openProcessorFixture(redis.url)
})
afterAll(async () => {
  await scene.close()
  await redis.close()
})

async function runProcess(plan: ClientPlan): Promise<ClientReport> {
  const child = spawn(process.execPath, [join(folder, 'client.js'), JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (bytes) => {
    output += bytes
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) throw new Error(`process ${plan.name} ended with code ${code}`)
  return JSON.parse(output)
}

it(`one account, several processes, thousands of sessions: exact (seed ${SEED})`, async () => {
  const shared = 100_000_000
  const own = 20_000
  await scene.credit(1, SHARED_DATA, shared)
  for (let sid = 1; sid <= 99; sid += 3) await scene.credit(sid, DATA_UNITS, own)
  const plan = { url: redis.url, clients: 4, rounds: 2, width: 200 }
  const reports = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) =>
      runProcess({ ...plan, name: `p${index}`, seed: SEED + index }),
    ),
  )
  const openAtOnce = PROCESSES * plan.clients * plan.width
  expect(openAtOnce).toBeGreaterThanOrEqual(2_000)
  for (const report of reports) {
    // No answer is lost to contention. All fields are compared, so a failure names the reasons.
    const { sessions, used: usedThere } = report
    const answers = { granted: sessions * 4 }
    expect(report).toEqual({ sessions, used: usedThere, answers, differing: 0, defects: [] })
  }
  const used = reports.reduce((sum, report) => sum + report.used, 0)
  let spent = 0
  for (let sid = 0; sid <= 99; sid += 1) {
    const { state } = await scene.owner(sid)
    expect(state.owed).toBe(0)
    for (const bucket of state.buckets) {
      expect(bucket).toMatchObject({ reserved: 0, credited: sid === 0 ? shared : own })
      spent += bucket.spent
    }
  }
  expect(spent).toBe(used)
  expect(await openSessions(scene.ledger)).toBe(0)
})
