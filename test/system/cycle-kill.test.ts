/**
 * Runs of the cycle whose process, or whose MongoDB, is killed at random points, also with accounts
 * of a customer system: at the end there are the same invoices as after an undisturbed run of
 * stored accounts, byte for byte but for times.
 */
// covers: src/billing/run/ src/jobs/cycle/
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  compileEmbedded,
  type MongoProcess,
  startMongoProcess,
} from '../../packages/embedded-mongo/test/support/server-process.ts'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { KEY } from '../support/billing/cycle-fixture.ts'
import { populate, resultOf, withCatalog } from '../support/billing/stored-run.ts'
import { isFull } from '../support/domain/property-runs.ts'
import {
  asCustomer,
  type Crm,
  customerSettings,
  startCrm,
} from '../support/external/example-crm.ts'
import { Random } from '../support/system/random.ts'

const BIN = fileURLToPath(new URL('../../bin/tollgate.mjs', import.meta.url))
const PROCESS_KILLS = Number(process.env['KILL_ROUNDS'] ?? (isFull() ? 8 : 3))
const MONGO_KILLS = Math.ceil(PROCESS_KILLS / 4)
/** So many that a run does not end between two kills. */
const ACCOUNTS = Math.max(900, 150 * PROCESS_KILLS)
const KILL_MS_MAX = 250
const TIMEOUT_MS = 1_800_000

let built: Awaited<ReturnType<typeof compileEmbedded>>
let folder: string
let server: MongoProcess
const socket = () => join(folder, 'm.sock')
const start = () => startMongoProcess(built.main, join(folder, 'data'), socket())

beforeAll(async () => {
  built = await compileEmbedded()
  folder = mkdtempSync(join(tmpdir(), 'tg-cycle-'))
  server = await start()
})
afterAll(async () => {
  server.child.kill('SIGTERM')
  await server.ended
  built.remove()
  rmSync(folder, { recursive: true, force: true })
})

const random = new Random(Number(process.env['SEED'] ?? 7))

describe('a run of the cycle', { timeout: TIMEOUT_MS }, () => {
  let undisturbed: unknown
  beforeAll(async () => {
    await populate(server.url, 'calm', ACCOUNTS)
    expect(await ended(runCycle('calm'))).toBe(0)
    undisturbed = await resultOf(server.url, 'calm')
  })

  async function killAndFinish(database: string): Promise<void> {
    for (let round = 0; round < PROCESS_KILLS; round += 1) {
      const child = runCycle(database)
      await someProgress(database, child)
      await pause(random.below(KILL_MS_MAX))
      child.kill('SIGKILL')
      await ended(child)
    }
    expect(await ended(runCycle(database))).toBe(0)
    expect(await resultOf(server.url, database)).toEqual(undisturbed)
  }

  it(`is killed ${PROCESS_KILLS} times`, async () => {
    await populate(server.url, 'killed', ACCOUNTS)
    await killAndFinish('killed')
  })

  it(`is killed ${PROCESS_KILLS} times while it asks a customer system`, async () => {
    await populate(server.url, 'asked', ACCOUNTS)
    const crm = await startCrm([])
    try {
      await moveCustomers('asked', crm)
      await killAndFinish('asked')
    } finally {
      await crm.stop()
    }
  })

  it(`has its MongoDB killed ${MONGO_KILLS} times`, async () => {
    await populate(server.url, 'outage', ACCOUNTS)
    const child = runCycle('outage')
    for (let round = 0; round < MONGO_KILLS; round += 1) {
      await someProgress('outage', child)
      await pause(random.below(KILL_MS_MAX))
      server.child.kill('SIGKILL')
      await server.ended
      server = await start()
    }
    expect(await ended(child)).toBe(0)
    expect(await resultOf(server.url, 'outage')).toEqual(undisturbed)
  })
})

function runCycle(database: string): ChildProcess {
  const env = {
    PATH: process.env['PATH'],
    TOLLGATE_MONGO_URL: server.url,
    TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1',
    TOLLGATE_MONGO_DATABASE: database,
    TOLLGATE_DATA_DIR: folder,
    TOLLGATE_RATING_DEFAULT_TAX: 'VAT',
    TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
  }
  const args = [BIN, 'cycle', 'run', '--key', KEY, '--threads', '2']
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] })
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode)
    else child.once('close', (code) => resolve(code))
  })
}

/** Until the process has done something in MongoDB, or has ended. */
async function someProgress(database: string, child: ChildProcess): Promise<void> {
  await withCatalog(server.url, database, async (catalog) => {
    const state = async () =>
      JSON.stringify(await catalog.cyclepages.find().sort({ after: -1 }).limit(3).toArray())
    const before = await state()
    while (child.exitCode === null && (await state()) === before) await pause(5)
  })
}

/** Small answers, so that a run asks often. */
async function moveCustomers(database: string, crm: Crm): Promise<void> {
  await withCatalog(server.url, database, async (catalog) => {
    const stored = await catalog.subscribers.find().sort({ aid: 1, type: 1 }).toArray()
    crm.revisions.push(...stored.map((each) => asCustomer(each as Record<string, unknown>)))
    await catalog.subscribers.deleteMany({})
    const value = customerSettings(crm.url, { billable: { size: 50 } })
    await writeStoredConfig(catalog, 'subscribers', () => value, { nowMs: Date.now(), by: 'test' })
  })
}
