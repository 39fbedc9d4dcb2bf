import { expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import { createRoutes } from '../../src/realtime/routes.ts'
import { requestOf } from '../support/realtime/requests.ts'

const granted = (aid: number) => plainOutcome('granted', '', aid)
const start = (sessionId: string, sid: string) =>
  requestOf(sessionId, { kind: 'start', subscriberKey: 'sid', subscriberValue: sid })

it('distributes unknown subscribers, always the same way', () => {
  const routes = createRoutes(4, 100)
  const workers = Array.from({ length: 200 }, (_, index) => routes.workerOf(start('s', `${index}`)))
  expect(new Set(workers)).toEqual(new Set([0, 1, 2, 3]))
  const again = Array.from({ length: 200 }, (_, index) => routes.workerOf(start('t', `${index}`)))
  expect(again).toEqual(workers)
})

it('follows the account once an outcome has named it', () => {
  const routes = createRoutes(4, 100)
  routes.learn(start('session', '1'), granted(6))
  expect(routes.workerOf(requestOf('session'))).toBe(2)
  expect(routes.workerOf(start('another', '1'))).toBe(2)
})

it('follows a subscriber that moved, but keeps a session on its worker', () => {
  const routes = createRoutes(4, 100)
  routes.learn(start('session', '1'), granted(6))
  routes.learn(start('later', '1'), granted(7))
  expect(routes.workerOf(start('new', '1'))).toBe(3)
  expect(
    routes.workerOf(requestOf('session', { subscriberKey: 'sid', subscriberValue: '1' })),
  ).toBe(2)
})

it('separates sessions of two network elements', () => {
  const routes = createRoutes(2, 100)
  const other = requestOf('session', { origin: 'other' })
  const before = routes.workerOf(other)
  routes.learn(requestOf('session'), granted(before + 1))
  expect(routes.workerOf(other)).toBe(before)
})

it('forgets the oldest session when full, and a released one', () => {
  const routes = createRoutes(64, 2)
  const before = routes.workerOf(requestOf('a'))
  const aid = before + 1
  routes.learn(requestOf('a'), granted(aid))
  routes.learn(requestOf('b'), granted(aid))
  expect(routes.workerOf(requestOf('a'))).toBe(aid % 64)
  routes.learn(requestOf('c'), granted(aid))
  expect(routes.workerOf(requestOf('a'))).toBe(before)
  const beforeB = createRoutes(64, 2).workerOf(requestOf('b'))
  routes.learn(requestOf('b', { kind: 'release' }), granted(aid))
  expect(routes.workerOf(requestOf('b'))).toBe(beforeB)
})

it('ignores an outcome without an account', () => {
  const routes = createRoutes(64, 2)
  const before = routes.workerOf(requestOf('a'))
  routes.learn(requestOf('a'), granted(0))
  expect(routes.workerOf(requestOf('a'))).toBe(before)
})
