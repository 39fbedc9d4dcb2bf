import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import { publish } from '../../src/store/bus.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'
import {
  type PublishedSessionEvent,
  parseSessionEvent,
  publishSessionEvent,
  subscribeToSessionEvents,
} from '../../src/store/session-events.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait.ts'

const log = createLogger({ name: 'test', level: 'silent' })
let server: TestRedis
let redis: RedisConnection

beforeAll(async () => {
  server = await startTestRedis()
  redis = openRedis({ url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }, log)
  await waitForRedis(redis, 20_000)
})
afterAll(async () => {
  await redis.close()
  await server.close()
})

it('session events are delivered as published, and invalid ones are skipped', async () => {
  const heard: PublishedSessionEvent[] = []
  const following = subscribeToSessionEvents(redis, (hint) => heard.push(hint), log)
  await waitUntil('it listens', () => following.isListening())
  const hints: PublishedSessionEvent[] = [
    { cause: 'credit', aid: 1, sid: 0 },
    { cause: 'credit', aid: 1, sid: 2, origin: 'diameter:example.net/diameter', sessionId: 'a' },
    { cause: 'release', origin: 'diameter:example.net/diameter', sessionId: 'a;1;2' },
  ]
  await publish(redis, 'tollgate:hints', 'what is this')
  for (const hint of hints) expect(await publishSessionEvent(redis, hint)).toBe(true)
  await waitUntil('all', () => heard.length === 3)
  expect(heard).toEqual(hints)
  following.close()
})

it.each([
  '',
  'null',
  '7',
  '[]',
  '{}',
  '{"cause":"other","aid":1,"sid":1}',
  '{"cause":"credit","aid":"1","sid":1}',
  '{"cause":"credit","aid":1,"sid":-1}',
  '{"cause":"release","origin":"a"}',
  '{"cause":"release","origin":"a","sessionId":1}',
])('%j is not a session event', (payload) => {
  expect(parseSessionEvent(payload)).toBeNull()
})
