/** An admin where everybody must authenticate, with its own stores and a settable clock. */
import { createHash } from 'node:crypto'
import { type Admin, startAdmin } from '../../../src/admin/start.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { StoredCategory } from '../../../src/catalog/settings/stored-config.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { PASSWORDS } from '../../../src/identity/passwords.ts'
import type { Logger } from '../../../src/runtime/log.ts'
import { createMetrics } from '../../../src/runtime/metrics.ts'
import { documentedBody } from '../admin/openapi/answer-check.ts'
import { silent, startTestStores, type TestStores } from '../recorder/accounts.ts'

export interface ClosedAdmin {
  readonly url: string
  readonly port: number
  readonly stores: TestStores
  now(): number
  /** Advances the clock. */
  pass(ms: number): void
  addUser(username: string, password: string, roles: readonly string[]): Promise<void>
  /** Logs in, and returns the cookie as a header value. */
  cookieOf(username: string, password: string): Promise<string>
  /** Returns the body of the answer, which must be as documented. */
  post(
    path: string,
    fields: Record<string, string>,
    cookie?: string,
  ): Promise<Record<string, unknown>>
  /** Stores a category, and advances the clock until it is read. */
  setting(category: string, value: unknown): Promise<void>
  close(): Promise<void>
}

/** Noon in the middle of 2026. */
const BEGIN_MS = Date.parse('2026-06-15T12:00:00Z')
const POLL_MS = 500

export async function startClosedAdmin(
  env: Record<string, string> = {},
  log: Logger = silent,
): Promise<ClosedAdmin> {
  const stores = await startTestStores()
  let nowMs = BEGIN_MS
  const config = loadConfig({
    env: {
      ...stores.environment,
      TOLLGATE_RECORDER_ENABLED: 'false',
      TOLLGATE_ADMIN_PORT: '0',
      TOLLGATE_SECRETS_KEY: 'a key of the tests',
      // The event loop does the work of the tests, too.
      TOLLGATE_ADMIN_ANONYMOUS_PERCENT: '100',
      ...env,
    },
  })
  const metrics = createMetrics({ node: 'test', role: 'admin' })
  const clock = { nowMs: () => nowMs }
  const admin: Admin = await startAdmin({ config, log, metrics, clock })
  const url = `http://127.0.0.1:${admin.port}`
  return {
    url,
    port: admin.port,
    stores,
    now: () => nowMs,
    pass(ms) {
      nowMs += ms
    },
    async addUser(username, password, roles) {
      const id = createHash('sha256').update(username).digest('hex').slice(0, 24)
      await stores.catalog.users.insertOne({
        _id: new ObjectId(id),
        rev: 1,
        username,
        password: await PASSWORDS.hash(password),
        roles: [...roles],
        from: new Date(BEGIN_MS - 1000),
        to: new Date('2170-01-01'),
        creation_time: new Date(BEGIN_MS),
      } as never)
    },
    async cookieOf(username, password) {
      const body = new URLSearchParams({ username, password })
      const response = await fetch(`${url}/auth/login`, { method: 'POST', body })
      const answer = await documentedBody('POST', response)
      const cookie = response.headers.getSetCookie()[0]?.split(';')[0]
      if (cookie === undefined) throw new Error(`no cookie: ${JSON.stringify(answer)}`)
      return cookie
    },
    async post(path, fields, cookie) {
      const headers: Record<string, string> = cookie === undefined ? {} : { cookie }
      const body = new URLSearchParams(fields)
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
      return documentedBody('POST', response)
    },
    async setting(category, value) {
      const change = { nowMs, by: 'test' }
      await writeStoredConfig(stores.catalog, category as StoredCategory, () => value, change)
      nowMs += POLL_MS
    },
    async close() {
      await admin.close(0)
      await stores.close()
    },
  }
}
