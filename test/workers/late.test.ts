import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { emptyLedger } from '../support/ledger.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { DATA_UNITS, NOW_MS, openScene, request, type Scene, service } from './scene.ts'

let redis: TestRedis
let scene: Scene

beforeAll(async () => {
  redis = await startTestRedis({ appendfsync: 'everysec' })
})
afterAll(() => redis.close())
beforeEach(async () => {
  scene = await openScene(redis.url)
  await emptyLedger(scene.ledger)
  await scene.credit(1, DATA_UNITS, 1_000)
  // The subscriber is in memory from now on.
  await scene.charge(event('first', 100))
  return async () => {
    expect(scene.defects).toEqual([])
    await scene.close()
  }
})

const event = (sessionId: string, units: number) =>
  request('event', 1, 0, [service(units)], { sessionId })

async function askedUntil(deadlineMs: number, ...requests: ChargeRequest[]) {
  const { outcomes, stats } = await scene.processor.process({
    ...{ requests, mayLookUp: false, deadlineMs },
  })
  return { reasons: outcomes.map((outcome) => outcome?.reason), late: stats['late'] }
}

const spent = async () => (await scene.owner(1)).state.buckets[0]?.spent

it('does not charge what nobody waits for any more; repeated, it is', async () => {
  const late = event('late', 50)
  expect(await askedUntil(NOW_MS, late, event('later', 50))).toEqual({
    ...{ reasons: ['timedOut', 'timedOut'], late: 2 },
  })
  expect(await spent()).toBe(100)
  expect(await askedUntil(NOW_MS + 1, late)).toEqual({ reasons: ['granted'], late: 0 })
  expect(await spent()).toBe(150)
})

it('looks when the turn of the account comes, and never after that', async () => {
  const sent = askedUntil(NOW_MS + 10, event('sent', 10))
  // Their account is under way.
  const waiting = askedUntil(NOW_MS + 10, event('waiting', 20), event('too', 20))
  const patient = askedUntil(NOW_MS + 11, event('patient', 40))
  scene.clock.set(NOW_MS + 10)
  expect((await sent).reasons).toEqual(['granted'])
  expect((await waiting).reasons).toEqual(['timedOut', 'timedOut'])
  expect((await patient).reasons).toEqual(['granted'])
  expect(await spent()).toBe(150)
  const [repeated] = await scene.charge(event('sent', 10))
  expect(repeated?.reason).toBe('granted')
  expect(await spent()).toBe(150)
})
