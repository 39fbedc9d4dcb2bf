/** An admin process with a recorder on a test clock, and calls of `/api/clock`. */
import { afterAll, beforeAll } from 'vitest'
import { type Admin, startAdmin } from '../../../src/admin/start.ts'
import { advanceClock } from '../../../src/catalog/installation-clock.ts'
import { loadConfig } from '../../../src/config/load.ts'
import {
  type Clock,
  clockWith,
  createOffset,
  offsetMs,
  systemClock,
} from '../../../src/runtime/clock.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { postJson } from '../post-json.ts'
import { silent, startTestStores, type TestStores } from '../recorder/accounts.ts'
import { documentedBody } from './openapi/answer-check.ts'

export interface ClockAnswer {
  http: number
  status: number
  message: string | undefined
  details: Record<string, unknown>
}

export interface ClockServer {
  readonly clock: Clock
  readonly url: string
  readonly config: ReturnType<typeof loadConfig>
  stores(): TestStores
  get(): Promise<ClockAnswer>
  post(params: Record<string, unknown>, headers?: Record<string, string>): Promise<ClockAnswer>
  /** Starts another process of the installation; the caller closes it. */
  start(): Promise<Admin>
}

export const START_MS = Date.UTC(2024, 0, 10, 12)

/** `environment`: more settings. */
export function useClockServer(environment: Record<string, string> = {}): ClockServer {
  let stores: TestStores
  let admin: Admin
  const clock = clockWith(createOffset(START_MS - systemClock.nowMs()))
  const world = {
    clock,
    url: '',
    config: loadConfig({ env: {} }),
    stores: () => stores,
    get: async () => answerOf('GET', await fetch(`${world.url}/api/clock`)),
    async post(params: Record<string, unknown>, headers: Record<string, string> = {}) {
      return answerOf('POST', await postJson(`${world.url}/api/clock`, params, headers))
    },
    start: () =>
      startAdmin({
        config: world.config,
        log: silent,
        metrics: createMetrics({ node: 'test', role: 'admin' }),
        clock,
      }),
  }
  beforeAll(async () => {
    stores = await startTestStores()
    world.config = loadConfig({
      env: {
        ...stores.environment,
        TOLLGATE_ADMIN_PORT: '0',
        TOLLGATE_ADMIN_OPEN_TO: 'loopback',
        TOLLGATE_CATALOG_POLL_MS: '50',
        TOLLGATE_CLOCK_TEST: 'true',
        TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it',
        ...environment,
      },
    })
    // A process joins the clock before it starts its role.
    if (clock.ahead !== undefined) await advanceClock(stores.catalog, offsetMs(clock.ahead))
    admin = await world.start()
    world.url = `http://127.0.0.1:${admin.port}`
  })
  afterAll(async () => {
    await admin?.close(0)
    await stores?.close()
  })
  return world
}

async function answerOf(method: 'GET' | 'POST', response: Response): Promise<ClockAnswer> {
  const body = (await documentedBody(method, response)) as {
    status: number
    message?: string
    data?: { message: string }
    details: Record<string, unknown>
  }
  const message = body.message ?? body.data?.message
  return { http: response.status, status: body.status, message, details: body.details }
}
