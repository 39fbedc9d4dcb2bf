/** The built command line with its own MongoDB, for commands that need no other store. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { PATIENT } from '../product/patience.ts'
import type { TestStores } from '../recorder/accounts.ts'
import type { Ended } from './product.ts'

const BIN = fileURLToPath(new URL('../../../bin/tollgate.mjs', import.meta.url))

export interface Tollgate {
  run(...args: string[]): Promise<Ended>
  /** Runs a command with standard input. */
  pipe(input: string, ...args: string[]): Promise<Ended>
  /** A command that the test ends. */
  start(...args: string[]): ChildProcess
  /** Writes a file and returns its path. */
  file(name: string, text: string): string
  catalog(): Catalog
}

/** The configuration is deleted after each test. `environment`: more settings. */
export function useTollgate(environment: Record<string, string> = {}): Tollgate {
  const folder = mkdtempSync(join(tmpdir(), 'tg-command-'))
  let mongo: TestMongo
  let catalog: Catalog
  beforeAll(async () => {
    mongo = await startTestMongo()
    const { url, database } = mongo
    catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  })
  afterEach(async () => {
    await catalog.config.deleteMany({})
  })
  afterAll(async () => {
    await catalog.close()
    await mongo.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const start = (...args: string[]) => {
    const env = {
      PATH: process.env['PATH'],
      ...PATIENT,
      TOLLGATE_MONGO_URL: mongo.url,
      TOLLGATE_MONGO_DATABASE: mongo.database,
      // It does not exist: no patience for it.
      TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1',
      TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: '1000',
      TOLLGATE_DATA_DIR: folder,
      ...environment,
    }
    return spawn(process.execPath, [BIN, ...args], { env })
  }
  const pipe = (input: string, ...args: string[]) => ended(start(...args), input)
  return {
    start,
    pipe,
    run: (...args) => pipe('', ...args),
    file(name, text) {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    },
    catalog: () => catalog,
  }
}

/** Runs a command on the stores of a test. `environment`: more settings. */
export function runOn(
  stores: Pick<TestStores, 'environment'>,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  const env = { PATH: process.env['PATH'], ...stores.environment, ...environment }
  return ended(spawn(process.execPath, [BIN, ...args], { env }), '')
}

function ended(child: ReturnType<typeof spawn>, input: string): Promise<Ended> {
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (bytes: Buffer) => {
    output.stdout += bytes.toString('utf8')
  })
  child.stderr?.on('data', (bytes: Buffer) => {
    output.stderr += bytes.toString('utf8')
  })
  child.stdin?.end(input)
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, ...output }))
  })
}
