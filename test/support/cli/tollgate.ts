/** The built command line with its own MongoDB, for commands that need no other store. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { PATIENT } from '../product/patience.ts'
import {
  type Begun,
  beginProcess,
  type Ended,
  runCommand,
  runProcess,
} from '../product/run-command.ts'
import type { TestStores } from '../recorder/accounts.ts'

export interface Tollgate {
  run(...args: string[]): Promise<Ended>
  /** Runs a command as a process. */
  process(...args: string[]): Promise<Ended>
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
  const settings = () => ({
    PATH: process.env['PATH'],
    ...PATIENT,
    TOLLGATE_MONGO_URL: mongo.url,
    TOLLGATE_MONGO_DATABASE: mongo.database,
    // It does not exist: no patience for it.
    TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1',
    TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: '1000',
    TOLLGATE_DATA_DIR: folder,
    ...environment,
  })
  return {
    start: (...args) => beginProcess(args, settings()).child,
    pipe: (input, ...args) => runCommand(args, settings(), input),
    run: (...args) => runCommand(args, settings()),
    process: (...args) => runProcess(args, settings()),
    file(name, text) {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    },
    catalog: () => catalog,
  }
}

/** Runs a command on the stores of a test, in this process. `environment`: more settings. */
export function runOn(
  stores: Pick<TestStores, 'environment'>,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Ended> {
  return runCommand(args, { ...settingsOf(stores), ...environment })
}

/** Starts a command on the stores of a test, as a process. `environment`: more settings. */
export function beginOn(
  stores: Pick<TestStores, 'environment'>,
  args: readonly string[],
  environment: Record<string, string> = {},
): Begun {
  return beginProcess(args, { ...settingsOf(stores), ...environment })
}

/** The settings of commands on the stores of a test. */
export function settingsOf({ environment }: Pick<TestStores, 'environment'>) {
  return { PATH: process.env['PATH'] ?? '', ...environment }
}
