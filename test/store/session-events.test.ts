import { expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import { publish } from '../../src/store/bus.ts'
import {
  type PublishedSessionEvent,
  parseSessionEvent,
  publishSessionEvent,
  subscribeToSessionEvents,
} from '../../src/store/session-events.ts'
import { useRedis } from '../support/connected-redis.ts'
import { waitUntil } from '../support/wait.ts'

const log = createLogger({ name: 'test', level: 'silent' })

const { redis } = useRedis()

it('session events are delivered as published, and invalid ones are skipped', async () => {
  const heard: PublishedSessionEvent[] = []
  const following = subscribeToSessionEvents(redis(), (hint) => heard.push(hint), log)
  await waitUntil('it listens', () => following.isListening())
  const hints: PublishedSessionEvent[] = [
    { cause: 'credit', aid: 1, sid: 0 },
    { cause: 'credit', aid: 1, sid: 2, origin: 'diameter:example.net/diameter', sessionId: 'a' },
    { cause: 'release', origin: 'diameter:example.net/diameter', sessionId: 'a;1;2' },
  ]
  await publish(redis(), 'tollgate:hints', 'what is this')
  for (const hint of hints) expect(await publishSessionEvent(redis(), hint)).toBe(true)
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
