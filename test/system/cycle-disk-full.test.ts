/** The disk of MongoDB becomes full during a run of the cycle. */
// covers: src/billing/run/ packages/embedded-mongo/src/
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  compileEmbedded,
  type MongoProcess,
  startMongoProcess,
} from '../../packages/embedded-mongo/test/support/server-process.ts'
import { KEY } from '../support/billing/cycle-fixture.ts'
import { populate, resultOf } from '../support/billing/stored-run.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'

const BIN = fileURLToPath(new URL('../../bin/tollgate.mjs', import.meta.url))
const ACCOUNTS = 900
const DISK_BYTES = 192 * 1024 * 1024
const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

describe.skipIf(problem !== undefined)(`a run of the cycle on a full disk${why}`, () => {
  let built: Awaited<ReturnType<typeof compileEmbedded>>
  let folder: string
  let disk: SmallDisk
  let server: MongoProcess
  beforeAll(async () => {
    built = await compileEmbedded()
  })
  afterAll(() => built.remove())
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tg-cycle-disk-'))
    disk = mountSmallDisk(join(folder, 'disk'), DISK_BYTES)
    server = await startMongoProcess(built.main, join(disk.path, 'm'), join(folder, 'm.sock'))
  })
  afterEach(async () => {
    server.child.kill('SIGKILL')
    await server.ended
    disk.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  const runCycle = (database: string) => {
    const env = {
      PATH: process.env['PATH'],
      TOLLGATE_MONGO_URL: server.url,
      TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1',
      TOLLGATE_MONGO_DATABASE: database,
      TOLLGATE_DATA_DIR: folder,
      TOLLGATE_RATING_DEFAULT_TAX: 'VAT',
    }
    const args = [BIN, 'cycle', 'run', '--key', KEY, '--threads', '2']
    return watched(spawn(process.execPath, args, { env }))
  }

  it('waits and says so; with free space it writes the same invoices', async () => {
    await populate(server.url, 'calm', ACCOUNTS)
    expect(await runCycle('calm').ended).toBe(0)
    const undisturbed = await resultOf(server.url, 'calm')

    await populate(server.url, 'full', ACCOUNTS)
    const run = runCycle('full')
    await until(run, () => /\d+ of 900 accounts/.test(run.output()))
    disk.fill()
    await until(run, () => run.output().includes('paused: MongoDB:'))
    // It stands still, and nothing is half written.
    expect(run.child.exitCode).toBeNull()
    disk.makeRoom()
    expect(await run.ended).toBe(0)
    expect(run.output()).toContain('finished: accounts 900, invoices 900')
    expect(await resultOf(server.url, 'full')).toEqual(undisturbed)
  })
})

interface Watched {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  output(): string
}

function watched(child: ChildProcess): Watched {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes: Buffer) => {
      text += bytes.toString('utf8')
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, ended, output: () => text }
}

/** Rejects if the process ends before. */
async function until({ child, output }: Watched, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    if (child.exitCode !== null) throw new Error(`the run has ended: ${output()}`)
    await pause(2)
  }
}
