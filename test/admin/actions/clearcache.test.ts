import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clearcache } from '../../../src/admin/actions/clearcache.ts'
import { announceCustomerChange } from '../../../src/admin/customer-changes.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import {
  type CustomerChange,
  subscribeToCustomerChanges,
} from '../../../src/store/customer-changes.ts'
import {
  openRedis,
  type RedisConnection,
  StoreDownError,
  waitForRedis,
} from '../../../src/store/redis.ts'
import {
  type PublishedSessionEvent,
  subscribeToSessionEvents,
} from '../../../src/store/session-events.ts'
import { NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'
import { openTestLedger } from '../../support/ledger.ts'
import { startTestRedis, type TestRedis } from '../../support/redis.ts'
import { waitUntil } from '../../support/wait.ts'
import { LEDGER } from '../../support/workers/processor-fixture.ts'

const log = createLogger({ name: 'test', level: 'silent' })
let server: TestRedis
let redis: RedisConnection
let ledger: Ledger
const changes: CustomerChange[] = []
const events: PublishedSessionEvent[] = []
const open: { close(): void }[] = []

const api = useActionServer(
  [clearcache],
  {},
  {
    customerChanged: (change) =>
      announceCustomerChange({ redis, ledger, clock: { nowMs: () => NOW_MS } }, change),
  },
)

beforeAll(async () => {
  server = await startTestRedis()
  redis = openRedis({ url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }, log)
  await waitForRedis(redis, 20_000)
  ledger = await openTestLedger(redis, LEDGER, randomInt(1, 2 ** 47))
  const heard = (change: CustomerChange) => changes.push(change)
  const taken = (event: PublishedSessionEvent) => events.push(event)
  const subscriptions = [
    subscribeToCustomerChanges(redis, heard, log, () => undefined),
    subscribeToSessionEvents(redis, taken, log),
  ]
  open.push(...subscriptions)
  await waitUntil('both listen', () => subscriptions.every((each) => each.isListening()))
})
afterAll(async () => {
  for (const each of open) each.close()
  await redis.close()
  await server.close()
})

describe('clearcache', () => {
  it.each([
    [{}, 'all', { aid: 0, sid: 0 }],
    [{ aid: 17 }, 'account', { aid: 17, sid: 0 }],
    [{ aid: '18', sid: '181' }, 'subscriber', { aid: 18, sid: 181 }],
    [{ sid: 191 }, 'subscriber', { aid: 0, sid: 191 }],
  ])(
    '%j tells all workers, and raises the fence of a known account',
    async (params, dropped, change) => {
      changes.length = 0
      events.length = 0
      expect(await api.ask('clearcache', params)).toMatchObject({ status: 1, details: { dropped } })
      await expect.poll(() => changes).toEqual([change])
      const { aid, sid } = change
      if (aid === 0) return
      const [owner] = await ledger.load([{ aid, sid, sessionKeys: [] }])
      expect(owner).toMatchObject({ fence: { number: 1, changedMs: NOW_MS, dirty: false } })
      await expect.poll(() => events).toEqual([{ cause: 'credit', aid, sid }])
    },
  )

  it.each([{ aid: 0 }, { sid: 'x' }, { aid: 1.5 }])('refuses %j', async (params) => {
    expect(await api.ask('clearcache', params)).toMatchObject({ status: 0 })
  })

  it('may be called by those who may write', async () => {
    expect(await api.ask('clearcache', {}, { role: 'write' })).toMatchObject({ http: 200 })
    expect(await api.ask('clearcache', {}, { role: 'read' })).toMatchObject({
      status: 0,
      message: expect.stringContaining('needs write'),
    })
  })

  it('fails if Redis does not take the change', async () => {
    const away = { ...redis, guard: () => Promise.reject(new StoreDownError()) } as RedisConnection
    const clock = { nowMs: () => NOW_MS }
    const change = { aid: 0, sid: 0 }
    await expect(announceCustomerChange({ redis: away, ledger, clock }, change)).rejects.toThrow(
      StoreDownError,
    )
  })
})
