import { expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import { createRoutes, createRouteTable } from '../../src/realtime/worker-routes.ts'
import { requestOf } from '../support/realtime/requests.ts'

const granted = (aid: number) => plainOutcome('granted', '', aid)
const start = (sessionId: string, sid: string) =>
  requestOf(sessionId, { kind: 'start', subscriberKey: 'sid', subscriberValue: sid })

it('distributes unknown subscribers, always the same way', () => {
  const routes = createRoutes(4)
  const workers = Array.from({ length: 200 }, (_, index) => routes.workerOf(start('s', `${index}`)))
  expect(new Set(workers)).toEqual(new Set([0, 1, 2, 3]))
  const again = Array.from({ length: 200 }, (_, index) => routes.workerOf(start('t', `${index}`)))
  expect(again).toEqual(workers)
})

it('follows the account once an outcome has named it', () => {
  const routes = createRoutes(4)
  routes.learn(start('session', '1'), granted(6))
  expect(routes.workerOf(requestOf('session'))).toBe(2)
  expect(routes.workerOf(start('another', '1'))).toBe(2)
})

it('follows a subscriber that moved, but keeps a session on its worker', () => {
  const routes = createRoutes(4)
  routes.learn(start('session', '1'), granted(6))
  routes.learn(start('later', '1'), granted(7))
  expect(routes.workerOf(start('new', '1'))).toBe(3)
  expect(
    routes.workerOf(requestOf('session', { subscriberKey: 'sid', subscriberValue: '1' })),
  ).toBe(2)
})

it('separates sessions of two network elements', () => {
  const routes = createRoutes(2)
  const other = requestOf('session', { origin: 'other' })
  const before = routes.workerOf(other)
  routes.learn(requestOf('session'), granted(before + 1))
  expect(routes.workerOf(other)).toBe(before)
})

it('keeps the latest session when it has no room, and forgets a released one', () => {
  const table = createRouteTable(8)
  const routes = createRoutes(64, table)
  const sessions = Array.from({ length: 100 }, (_, index) => `session-${index}`)
  const unknown = sessions.map((session) => routes.workerOf(requestOf(session)))
  const learned = (index: number) => (unknown[index] ?? 0) + 1
  const isKnown = (session: string, index: number) =>
    routes.workerOf(requestOf(session)) === learned(index) % 64
  for (const [index, session] of sessions.entries()) {
    routes.learn(requestOf(session), granted(learned(index)))
    expect(isKnown(session, index)).toBe(true)
    expect(sessions.filter(isKnown)).toHaveLength(Math.min(8, index + 1))
  }
  routes.learn(requestOf('session-99', { kind: 'release' }), granted(learned(99)))
  expect(sessions.filter(isKnown)).toHaveLength(7)
  expect(isKnown('session-99', 99)).toBe(false)
})

it('routes as every other event loop that shares its table', () => {
  const table = createRouteTable()
  const [first, second] = [createRoutes(64, table), createRoutes(64, table)]
  const sessions = Array.from({ length: 1_000 }, (_, index) => start(`s-${index}`, `${index % 99}`))
  const workers = (routes: typeof first) => sessions.map((request) => routes.workerOf(request))
  expect(workers(second)).toEqual(workers(first))
  for (const [index, request] of sessions.entries()) first.learn(request, granted(index + 1))
  const byAccount = sessions.map((_, index) => (index + 1) % 64)
  expect(workers(first)).toEqual(byAccount)
  expect(workers(second)).toEqual(byAccount)
  expect(second.workerOf(start('new', '98'))).toBe(first.workerOf(start('new', '98')))
  second.learn(requestOf('s-1', { kind: 'release' }), granted(2))
  const after = requestOf('s-1')
  expect(first.workerOf(after)).toBe(createRoutes(64).workerOf(after))
})

it('does not confuse a session with a subscriber', () => {
  const routes = createRoutes(64)
  const other = start('7', 'a')
  const before = routes.workerOf(other)
  routes.learn(requestOf('a', { origin: 'sid' }), granted(before + 1))
  expect(routes.workerOf(other)).toBe(before)
})

it('ignores an outcome without an account', () => {
  const routes = createRoutes(64)
  const before = routes.workerOf(requestOf('a'))
  routes.learn(requestOf('a'), granted(0))
  expect(routes.workerOf(requestOf('a'))).toBe(before)
})
