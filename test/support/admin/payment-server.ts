/** An admin process with a payment gateway and an account, and a clock that tests set. */
import { afterAll, beforeAll } from 'vitest'
import type { Admin } from '../../../src/admin/start.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { startTestStores, type TestStores } from '../recorder/accounts.ts'
import { startTestAdmin } from './test-admin.ts'

export const NOW_MS = Date.UTC(2026, 5, 15, 12)

export interface PaymentServer {
  now: number
  readonly url: string
  stores(): TestStores
  /** Everything that was logged. */
  readonly logged: string[]
  call(path: string, params: Record<string, unknown>): Promise<Record<string, unknown>>
  /** A new account with an invoice of 10; returns its number. */
  account(): Promise<number>
}

const ACCOUNT = {
  firstname: 'Ada',
  lastname: 'Byron',
  email: 'ada@example.org',
  country: 'UK',
  address: '1 Mill Rd',
  zip_code: 'AB1',
}

export function usePaymentServer(): PaymentServer {
  let stores: TestStores
  let admin: Admin
  const world: { -readonly [name in keyof PaymentServer]: PaymentServer[name] } = {
    now: NOW_MS,
    url: '',
    logged: [],
    stores: () => stores,
    async call(path, params) {
      const texts = Object.entries(params).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ])
      const body = new URLSearchParams(Object.fromEntries(texts))
      const response = await fetch(`${world.url}${path}`, { method: 'POST', body })
      return (await response.json()) as Record<string, unknown>
    },
    async account() {
      const created = await world.call('/billapi/accounts/create', { update: ACCOUNT })
      return Number((created['entity'] as { aid: number }).aid)
    },
  }
  beforeAll(async () => {
    stores = await startTestStores()
    const env = { TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' }
    const log = createLogger({
      name: 'test',
      level: 'trace',
      destination: { write: (line: string) => void world.logged.push(line) },
    } as never)
    const clock = { nowMs: () => world.now }
    admin = await startTestAdmin(stores, env, { log, clock })
    world.url = `http://127.0.0.1:${admin.port}`
  })
  afterAll(async () => {
    await admin.close(0)
    await stores.close()
  })
  return world
}
