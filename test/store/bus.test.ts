import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../../src/runtime/log.ts'
import { publish, type Subscription, subscribe } from '../../src/store/bus.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../src/store/redis.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { startTestCluster } from '../support/redis-cluster.ts'
import { startStoreProxy } from '../support/store-proxy.ts'
import { waitUntil } from '../support/wait.ts'

const log = createLogger({ name: 'test', level: 'silent' })
const SETTINGS = { commandTimeoutMs: 500, connectTimeoutMs: 500 }
let server: TestRedis
let redis: RedisConnection
const open: (() => unknown)[] = []

beforeAll(async () => {
  server = await startTestRedis()
  redis = await connect(server.url)
})
afterAll(async () => {
  await redis.close()
  await server.close()
})
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function connect(url: string): Promise<RedisConnection> {
  const connection = openRedis({ url, ...SETTINGS }, log)
  await waitForRedis(connection, 20_000)
  return connection
}

function listen(
  by: RedisConnection,
  listener?: (payload: string) => void,
): { received: string[]; subscription: Subscription } {
  const received: string[] = []
  const take = (payload: string) => {
    received.push(payload)
    listener?.(payload)
  }
  const subscription = subscribe(by, 'tollgate:test', take, log)
  open.push(() => subscription.close())
  return { received, subscription }
}

const listening = ({ subscription }: ReturnType<typeof listen>) =>
  waitUntil('it listens', () => subscription.isListening())

it('the bus delivers each message to all subscribers of its channel', async () => {
  const [one, two] = [listen(redis), listen(redis)]
  await Promise.all([listening(one), listening(two)])
  expect(await publish(redis, 'tollgate:other', 'x')).toBe(true)
  expect(await publish(redis, 'tollgate:test', 'a')).toBe(true)
  expect(await publish(redis, 'tollgate:test', 'b')).toBe(true)
  await waitUntil('all', () => one.received.length + two.received.length === 4)
  expect([one.received, two.received]).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
})

it('the bus survives exceptions of listeners, and delivers nothing once closed', async () => {
  const first = listen(redis, (payload) => {
    if (payload === 'a') throw new Error('a defect')
  })
  const second = listen(redis)
  await Promise.all([listening(first), listening(second)])
  await publish(redis, 'tollgate:test', 'a')
  await publish(redis, 'tollgate:test', 'b')
  await waitUntil('the second message', () => first.received.length === 2)
  first.subscription.close()
  expect(first.subscription.isListening()).toBe(false)
  await publish(redis, 'tollgate:test', 'c')
  await waitUntil('the third one', () => second.received.length === 3)
  expect(first.received).toEqual(['a', 'b'])
})

it('the bus tolerates an unavailable Redis, and subscribes again when it is back', async () => {
  const proxy = await startStoreProxy(server.url)
  open.push(() => proxy.close())
  const through = await connect(proxy.url)
  open.push(() => through.close())
  const subscriber = listen(through)
  await listening(subscriber)
  await proxy.cut()
  await waitUntil('it is cut off', () => !subscriber.subscription.isListening())
  expect(await publish(through, 'tollgate:test', 'lost')).toBe(false)
  await proxy.restore()
  await listening(subscriber)
  await publish(redis, 'tollgate:test', 'found')
  await waitUntil('a message', () => subscriber.received.length > 0)
  expect(subscriber.received).toEqual(['found'])
})

it('the bus detects on its own that the other end no longer answers', async () => {
  const proxy = await startStoreProxy(server.url)
  open.push(() => proxy.close())
  const through = await connect(proxy.url)
  open.push(() => through.close())
  const subscriber = listen(through)
  await listening(subscriber)
  proxy.hang()
  await waitUntil('it gives up', () => !subscriber.subscription.isListening())
  await proxy.restore()
  await listening(subscriber)
})

it('the bus receives messages from any node of a cluster, even if its own is gone', async () => {
  const cluster = await startTestCluster()
  open.push(() => cluster.close())
  const both = [await connect(cluster.url), await connect(cluster.url)] as const
  const subscriber = listen(both[0])
  await listening(subscriber)
  for (let index = 0; index < 10; index += 1) await publish(both[1], 'tollgate:test', `${index}`)
  await waitUntil('all', () => subscriber.received.length === 10)
  const [{ host, port } = {}] = both[0].nodes()
  const [own] = cluster.nodes.filter((node) => node.port === port && host === '127.0.0.1')
  await own?.kill9()
  await waitUntil('another node', async () => {
    await publish(both[1], 'tollgate:test', 'again')
    return subscriber.received.includes('again')
  })
  for (const one of both) await one.close()
})
