import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import {
  openRedis,
  type RedisConnection,
  StoreDownError,
  waitForRedis,
} from '../../src/store/redis.ts'
import {
  checkRedisPolicy,
  replicasMissing,
  StorePolicyError,
} from '../../src/store/redis-policy.ts'
import { startTestCluster, type TestCluster } from '../support/redis-cluster.ts'
import { waitUntil } from '../support/wait.ts'

const log = createLogger({ name: 'test', level: 'silent' })

let cluster: TestCluster
let redis: RedisConnection

beforeAll(async () => {
  cluster = await startTestCluster()
  const timeouts = { commandTimeoutMs: 5_000, connectTimeoutMs: 20_000 }
  redis = openRedis({ url: cluster.url, ...timeouts, replicaAcks: 1 }, log)
  await waitForRedis(redis, 20_000)
  await waitUntil(
    'the replicas that a write waits for are online',
    async () => (await replicasMissing(redis)) === null,
  )
})
afterAll(async () => {
  await redis?.close()
  await cluster?.close()
})

/** One key per hash tag; the tags are distributed over all nodes. */
const TAGS = Array.from({ length: 16 }, (_, index) => `{p${index}}:k`)
const SET = "return redis.call('SET', KEYS[1], ARGV[1])"

function write(key: string, value: string): Promise<unknown> {
  const call = { name: 'put', text: SET, keys: [key], args: [value], isDurable: true }
  return redis.runScript(call)
}

/** False for a store that is unavailable. Throws other errors. */
function notYet(error: unknown): false {
  if (error instanceof StoreDownError) return false
  throw error
}

it('a cluster client runs scripts and commands on the node of their keys', async () => {
  // A replica may acknowledge too late on a busy machine.
  const isWritten = (key: string) => write(key, 'a').then(() => true, notYet)
  await Promise.all(TAGS.map((key) => waitUntil(`${key} is written`, () => isWritten(key))))
  const found = await Promise.all(TAGS.map((key) => redis.guard(redis.client.get(key))))
  expect(new Set(found)).toEqual(new Set(['a']))
  const sizes = await redis.onEachMaster((master) => master.dbsize())
  expect(sizes).toHaveLength(3)
  expect(Math.min(...sizes)).toBeGreaterThan(0)
})

it('a cluster client detects a policy that would lose units on any master', async () => {
  await checkRedisPolicy(redis, log)
  const [, second] = await cluster.masters()
  await second?.client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  await expect(checkRedisPolicy(redis, log)).rejects.toBeInstanceOf(StorePolicyError)
  await second?.client.config('SET', 'maxmemory-policy', 'noeviction')
})

it('a cluster client fails fast while a master is down, and uses its replica then', async () => {
  let losses = 0
  redis.onLost(() => {
    losses += 1
  })
  const [victim] = await cluster.masters()
  await cluster.takeOver(false)
  await victim?.kill9()
  await waitUntil('the keys of the other masters are written', async () => {
    const results = await Promise.allSettled(TAGS.map((key) => write(key, 'b')))
    const failed = results.filter((result) => result.status === 'rejected')
    for (const { reason } of failed) expect(reason).toBeInstanceOf(StoreDownError)
    expect(failed.length).toBeGreaterThan(0)
    return failed.length < TAGS.length
  })
  await waitUntil('the loss is noticed', () => losses > 0)
  await cluster.takeOver(true)
  await cluster.untilWhole(3, 0)
  // The promoted replica has no replica to wait for; acknowledged data is present.
  await waitUntil('every key is read', async () => {
    const found = await Promise.allSettled(TAGS.map((key) => redis.guard(redis.client.get(key))))
    return found.every((result) => result.status === 'fulfilled' && result.value !== null)
  })
  expect(await replicasMissing(redis)).toBe('redis: a master has 0 of 1 replicas')
  await victim?.start()
  await cluster.untilWhole(3, 1)
  await waitUntil('every key is written', async () => {
    const written = await Promise.allSettled(TAGS.map((key) => write(key, 'c')))
    return written.every((result) => result.status === 'fulfilled')
  })
})
