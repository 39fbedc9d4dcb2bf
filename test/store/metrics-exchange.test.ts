import { expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import {
  publishSnapshot,
  readSnapshots,
  startSnapshotPublisher,
} from '../../src/store/metrics-exchange.ts'
import { useRedis } from '../support/connected-redis.ts'

const log = createLogger({ name: 'test', level: 'silent' })

const { redis } = useRedis()

const snapshotOf = (role: string) => createMetrics({ node: 'n1', role }).snapshot()

it('the metrics exchange returns the newest snapshot of every process', async () => {
  await publishSnapshot(redis(), 'a', await snapshotOf('old'))
  await publishSnapshot(redis(), 'a', await snapshotOf('realtime'))
  await publishSnapshot(redis(), 'b', await snapshotOf('recorder'))
  const roles = (await readSnapshots(redis())).map(({ role }) => role)
  expect(roles.sort()).toEqual(['realtime', 'recorder'])
})

it('the metrics exchange drops silent processes and invalid snapshots', async () => {
  await publishSnapshot(redis(), 'a', await snapshotOf('realtime'))
  await publishSnapshot(redis(), 'b', await snapshotOf('recorder'))
  const ttlMs = await redis().client.pttl('{tollgate:metrics}:a')
  expect(ttlMs).toBeGreaterThan(0)
  await redis().client.del('{tollgate:metrics}:a')
  await redis().client.set('{tollgate:metrics}:b', 'of another release')
  expect(await readSnapshots(redis())).toEqual([])
  expect(await redis().client.smembers('{tollgate:metrics}')).toEqual(['b'])
})

it('the metrics exchange is fed by a publisher from its start', async () => {
  const metrics = createMetrics({ node: 'n1', role: 'admin' })
  metrics.openSessions(3)
  const publisher = startSnapshotPublisher(redis(), 'c', metrics, log)
  const published = async () => (await readSnapshots(redis())).some(({ role }) => role === 'admin')
  await expect.poll(published).toBe(true)
  publisher.stop()
})
