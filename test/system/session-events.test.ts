/** The first thread of the built product publishes session events, also after it was replaced. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import type { WorkerEvent } from '../../src/domain/worker-task.ts'
import { type Pool, startPool } from '../../src/realtime/pool.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { publishSessionEvent } from '../../src/store/session-events.ts'
import { bundled } from '../support/bundle.ts'
import { requestOf } from '../support/realtime/requests.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'
import { waitUntil } from '../support/wait.ts'

const log = createLogger({ name: 'test', level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'tg-news-'))
const events: WorkerEvent[] = []
let stores: TestStores
let pool: Pool

beforeAll(async () => {
  stores = await startTestStores()
  const config = loadConfig({
    env: {
      TOLLGATE_DATA_DIR: folder,
      ...stores.environment,
      TOLLGATE_LOG_LEVEL: 'silent',
    },
  })
  pool = await startPool({
    workerFile: await bundled('test/support/system/outages/faulty-worker.mjs'),
    workerData: (worker) => ({ config, worker }),
    workers: 2,
    batchSizeMax: 1,
    batchesInFlightMax: 1,
    requestTimeoutMs: 5_000,
    log,
    onBatch: () => undefined,
    onStats: () => undefined,
    onEvent: (event) => events.push(event),
  })
})
afterAll(async () => {
  await pool?.close()
  await stores?.close()
  rmSync(folder, { recursive: true, force: true })
})

/**
 * Publishes until an event arrives: earlier ones are lost. Returns how often the last one arrived.
 */
async function publishUntilReceived(sessionId: string): Promise<number> {
  const isExpected = (event: WorkerEvent) =>
    event.kind === 'release' && event.sessionId === sessionId
  await waitUntil(`event of ${sessionId}`, async () => {
    await publishSessionEvent(stores.ledger.redis, { cause: 'release', origin: 'o', sessionId })
    return events.some(isExpected)
  })
  return events.filter(isExpected).length
}

it('session events are received again after the thread was replaced', async () => {
  await publishUntilReceived('before')
  await publishSessionEvent(stores.ledger.redis, {
    cause: 'release',
    origin: 'o',
    sessionId: 'once',
  })
  await publishUntilReceived('after')
  const once = events.filter((event) => event.kind === 'release' && event.sessionId === 'once')
  expect(once).toHaveLength(1)
  for (const sessionId of ['x1', 'x2', 'x3', 'x4']) {
    const fault = { sessionId, what: 'exits', when: 'before' }
    writeFileSync(join(folder, 'fault.json'), JSON.stringify(fault))
    const outcome = await new Promise((resolve) =>
      pool.submit(requestOf(sessionId), resolve, { isGone: false }),
    )
    expect(outcome).toMatchObject({ reason: 'timedOut' })
  }
  await publishUntilReceived('replaced')
})
