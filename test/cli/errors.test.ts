import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { errorText } from '../../src/cli/errors.ts'
import type { Roles } from '../../src/cli/role.ts'
import { runCommandLine } from '../../src/cli/run.ts'
import type { Tools } from '../../src/cli/tools.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'

let redis: TestRedis
let proxy: StoreProxy

beforeAll(async () => {
  redis = await startTestRedis()
  proxy = await startStoreProxy(redis.url)
})
afterAll(async () => {
  await proxy.close()
  await redis.close()
})

it('the error names the store that did not answer', async () => {
  const log = createLogger({ name: 'test', level: 'silent' })
  const settings = { url: proxy.url, commandTimeoutMs: 2_000, connectTimeoutMs: 20_000 }
  const connection = openRedis(settings, log)
  try {
    await waitForRedis(connection, 20_000)
    proxy.hang()
    const error = await connection.client.get('any').catch((reason: unknown) => reason)
    expect(errorText(error)).toMatch(/^Redis did not answer within redis\.commandTimeoutMs/)
  } finally {
    await connection.close()
  }
})

/** Arguments with which they come as far as the stores. */
const GIVEN: Readonly<Record<string, readonly string[]>> = {
  quote: ['--sid', '1', '--usaget', 'call', '--usagev', '1'],
  'balance show': ['--sid', '1'],
  'session list': ['--sid', '1'],
  'filetype show': ['mine'],
  'field list': ['plans'],
  'settings get': ['taxation'],
  'settings history': ['taxation'],
  export: ['plans'],
  'external check': ['--aid', '1', '--sid', '1'],
  'cycle preview': ['--key', '202601'],
  'cycle status': ['--key', '202601'],
  'cycle parked': ['--key', '202601'],
  'card list': ['--batch', '1'],
  rerate: ['--from', '2026-01-01'],
}
/** They need no store. */
const WITHOUT_STORES = [
  ...['diameter send', 'filetype check', 'settings list', 'version', 'help'],
  // Reads the file of an event first.
  'event test',
]
const READING = COMMANDS.filter(({ isReading }) => isReading)
  .map(({ name }) => name)
  .filter((name) => !WITHOUT_STORES.includes(name))
const AWAY = {
  TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1',
  TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: '100',
  TOLLGATE_MONGO_URL: 'mongodb://127.0.0.1:1/?directConnection=true',
  TOLLGATE_MONGO_TIMEOUT_MS: '100',
  TOLLGATE_MONGO_BATCH_TIMEOUT_MS: '1000',
}

it.each(READING)('%s says which store is away, and nothing of a write', async (name) => {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  const argv = [...name.split(' '), ...(GIVEN[name] ?? [])]
  const surroundings = { streams, environment: AWAY }
  expect(await runCommandLine(argv, {} as Roles, {} as Tools, surroundings)).toBe(1)
  streams.stderr.end()
  const told = await text(streams.stderr)
  expect(told).toMatch(/redis|MongoDB/i)
  expect(told).not.toContain('may have been')
})
