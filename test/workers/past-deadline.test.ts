import { beforeEach, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { useNode } from '../support/workers/nodes.ts'
import { DATA_UNITS, NOW_MS, request, service } from '../support/workers/processor-fixture.ts'

const { scene } = useNode()
beforeEach(async () => {
  await scene().credit(1, DATA_UNITS, 1_000)
  // The subscriber is cached from now on.
  await scene().charge(event('first', 100))
})

const event = (sessionId: string, units: number) =>
  request('event', 1, 0, [service(units)], { sessionId })

async function sendWithDeadline(deadlineMs: number, ...requests: ChargeRequest[]) {
  const { outcomes, stats } = await scene().processor.process({
    requests,
    mayLookUp: false,
    deadlineMs,
  })
  return { reasons: outcomes.map((outcome) => outcome?.reason), late: stats['late'] }
}

const spent = async () => (await scene().owner(1)).state.buckets[0]?.spent

it('a request past its deadline is not charged; repeated, it is', async () => {
  const late = event('late', 50)
  expect(await sendWithDeadline(NOW_MS, late, event('later', 50))).toEqual({
    reasons: ['timedOut', 'timedOut'],
    late: 2,
  })
  expect(await spent()).toBe(100)
  expect(await sendWithDeadline(NOW_MS + 1, late)).toEqual({ reasons: ['granted'], late: 0 })
  expect(await spent()).toBe(150)
})

it('the deadline is checked when the account becomes free, and never later', async () => {
  const sent = sendWithDeadline(NOW_MS + 10, event('sent', 10))
  // Their account is in use.
  const waiting = sendWithDeadline(NOW_MS + 10, event('waiting', 20), event('too', 20))
  const patient = sendWithDeadline(NOW_MS + 11, event('patient', 40))
  scene().clock.set(NOW_MS + 10)
  expect((await sent).reasons).toEqual(['granted'])
  expect((await waiting).reasons).toEqual(['timedOut', 'timedOut'])
  expect((await patient).reasons).toEqual(['granted'])
  expect(await spent()).toBe(150)
  const [repeated] = await scene().charge(event('sent', 10))
  expect(repeated?.reason).toBe('granted')
  expect(await spent()).toBe(150)
})

it('later requests of the same session are repeated in order', async () => {
  const session = { sessionId: 'long' }
  const report = (number: number, used: number) =>
    request('update', 1, number, [service(100, used)], session)
  const other = request('start', 1, 0, [service(100)], { sessionId: 'other' })
  await scene().charge(request('start', 1, 0, [service(100)], session))
  const sent = sendWithDeadline(NOW_MS + 20, event('sent', 10))
  // Their account is in use.
  const first = sendWithDeadline(NOW_MS + 10, report(1, 30))
  const behind = sendWithDeadline(NOW_MS + 20, report(2, 20), other)
  scene().clock.set(NOW_MS + 10)
  expect((await sent).reasons).toEqual(['granted'])
  expect((await first).reasons).toEqual(['timedOut'])
  expect((await behind).reasons).toEqual(['timedOut', 'granted'])
  expect(await spent()).toBe(110)
  for (const again of [report(1, 30), report(2, 20)]) {
    expect((await sendWithDeadline(NOW_MS + 30, again)).reasons).toEqual(['granted'])
  }
  expect(await spent()).toBe(160)
})

it('later requests of the session are repeated in order also if the batch is full', async () => {
  const session = { sessionId: 'long' }
  const report = (number: number) => request('update', 1, number, [service(1, 1)], session)
  await scene().charge(request('start', 1, 0, [service(1)], session))
  const sent = sendWithDeadline(NOW_MS + 20, event('sent', 10))
  const first = sendWithDeadline(NOW_MS + 10, report(1))
  const many = Array.from({ length: 600 }, (_, index) => event(`many-${index}`, 1))
  const behind = sendWithDeadline(NOW_MS + 20, ...many, report(2))
  scene().clock.set(NOW_MS + 10)
  expect((await sent).reasons).toEqual(['granted'])
  expect((await first).reasons).toEqual(['timedOut'])
  const { reasons } = await behind
  expect(new Set(reasons.slice(0, -1))).toEqual(new Set(['granted']))
  expect(reasons.at(-1)).toBe('timedOut')
})
