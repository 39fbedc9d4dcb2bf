/**
 * Additional cases of a Redis Cluster: directory and accounts on different nodes, nodes that fail.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readBacklog } from '../../src/ledger/backlog.ts'
import { sessionKeyOf } from '../../src/ledger/keys.ts'
import { runScript } from '../../src/ledger/script.ts'
import { openDirectoryScript } from '../../src/ledger/scripts.ts'
import { openStreamReader } from '../../src/ledger/streams.ts'
import { emptyLedger, READ_BYTES, TEST_EPOCH } from '../support/ledger.ts'
import { startTestCluster, type TestCluster } from '../support/redis-cluster.ts'
import { waitUntil } from '../support/wait.ts'
import {
  aidOf,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  REPLAY_MS,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const MIB = 1_000_000

let cluster: TestCluster
let scene: ProcessorFixture
let other: ProcessorFixture

beforeAll(async () => {
  cluster = await startTestCluster()
  const options = { commandTimeoutMs: 5_000 }
  scene = await openProcessorFixture(cluster.url, options)
  other = await openProcessorFixture(cluster.url, options)
})
afterAll(async () => {
  await scene?.close()
  await other?.close()
  await cluster?.close()
})
beforeEach(async () => {
  await emptyLedger(scene.ledger)
  for (const node of [scene, other]) node.clock.set(NOW_MS)
})

/** One subscriber each of that many accounts, with money. */
async function subscribers(count: number): Promise<number[]> {
  const sids = Array.from({ length: count }, (_, index) => index * 100 + 1)
  for (const sid of sids) await scene.credit(sid, MONEY, 10 * MIB)
  return sids
}

function start(sid: number, sessionId: string) {
  return request('start', sid, 0, [service(MIB)], { sessionId })
}

describe('a batch', () => {
  it('reaches accounts on every node, and settles them as on a single Redis', async () => {
    const sids = await subscribers(40)
    const opened = await scene.charge(...sids.map((sid) => start(sid, `every${sid}`)))
    expect(opened.map(({ reason }) => reason)).toEqual(sids.map(() => 'granted'))
    const used = sids.map((sid) => {
      const session = { sessionId: `every${sid}` }
      return request('release', sid, 1, [service(0, MIB)], session)
    })
    const closed = await other.charge(...used)
    expect(closed.map(({ reason }) => reason)).toEqual(sids.map(() => 'granted'))
    for (const sid of sids) {
      const [bucket] = (await scene.owner(sid)).state.buckets
      expect(bucket).toMatchObject({ spent: 10_000, reserved: 0 })
    }
  })

  it('fails only on a node that is down, and finds the stored state when it is back', async () => {
    const sids = await subscribers(40)
    await scene.charge(...sids.map((sid) => start(sid, `away${sid}`)))
    const [victim] = await cluster.masters()
    await victim?.kill9()
    const updates = sids.map((sid) =>
      request('update', sid, 1, [service(MIB, MIB)], { sessionId: `away${sid}` }),
    )
    const first = await scene.charge(...updates)
    const reasons = new Set(first.map(({ reason }) => reason))
    expect(reasons).toEqual(new Set(['granted', 'storeDown']))
    expect((await readBacklog(scene.ledger)).limitBytes).toBeGreaterThan(0)
    await cluster.untilWhole(3, 0)
    let again = first
    await waitUntil('all requests are answered', async () => {
      again = await scene.charge(...updates)
      return again.every(({ reason }) => reason === 'granted')
    })
    for (const [index, outcome] of first.entries()) {
      if (outcome.reason === 'granted') expect(again[index]).toEqual(outcome)
    }
    for (const sid of sids) {
      const [bucket] = (await scene.owner(sid)).state.buckets
      expect(bucket).toMatchObject({ spent: 10_000, reserved: 10_000 })
    }
    expect([...scene.defects, ...other.defects]).toEqual([])
    await victim?.start()
    await cluster.untilWhole(3, 1)
  })
})

describe('replica acknowledgements', () => {
  it('are required for every answer, also a repeated one', async () => {
    const [sid = 0] = await subscribers(1)
    const careful = await openProcessorFixture(cluster.url, {
      commandTimeoutMs: 1_000,
      replicaAcks: 1,
    })
    const update = request('update', sid, 1, [service(MIB, MIB)], { sessionId: 'careful' })
    const isGranted = async (one: typeof update) => {
      return (await careful.charge(one))[0]?.reason === 'granted'
    }
    // A replica that has just joined may acknowledge too late.
    await waitUntil('a replica acknowledges', () => isGranted(start(sid, 'careful')))
    const masters = await cluster.masters()
    const replicas = cluster.nodes.filter((node) => !masters.some(({ port }) => port === node.port))
    for (const replica of replicas) await replica.kill9()
    for (let time = 0; time < 2; time += 1) {
      expect((await careful.charge(update))[0]?.reason).toBe('storeDown')
    }
    for (const replica of replicas) await replica.start()
    await cluster.untilWhole(3, 1)
    await waitUntil('a replica acknowledges again', () => isGranted(update))
    const [bucket] = (await careful.owner(sid)).state.buckets
    expect(bucket).toMatchObject({ spent: 10_000, reserved: 10_000 })
    await careful.close()
  })
})

describe('a lost partition', () => {
  it('keeps its own entries waiting and no others', async () => {
    const [lost = 0, ...others] = await subscribers(4)
    const { ledger } = scene
    const { keys, redis } = ledger
    const epoch = keys.epoch(keys.partitionOf(aidOf(lost)))
    const reader = await openStreamReader(ledger, 'test')
    await redis.client.del(epoch)
    const read = await reader.read(READ_BYTES, 1)
    expect(read.entries.map(({ owners }) => owners[0]?.sid).sort()).toEqual(others.sort())
    await redis.client.set(epoch, TEST_EPOCH)
    const pending = await reader.readPending(READ_BYTES, 0)
    expect(pending.entries.map(({ owners }) => owners[0]?.sid)).toContain(lost)
  })
})

describe('a session id registered by two accounts', () => {
  it('is opened in one of them, for any order of arrival', async () => {
    const sids = await subscribers(2)
    for (let round = 0; round < 30; round += 1) {
      const id = `race${round}`
      const [[one], [two]] = await Promise.all([
        scene.charge(start(sids[0] ?? 0, id)),
        other.charge(start(sids[1] ?? 0, id)),
      ])
      const granted = [one, two].filter((outcome) => outcome?.reason === 'granted')
      expect(granted).toHaveLength(1)
      const [location] = await scene.ledger.findLocations([sessionKeyOf('test', id)])
      expect(location).toMatchObject({ sid: granted[0]?.sid })
    }
  })

  it('can be registered again if nothing followed the registration', async () => {
    const sids = await subscribers(2)
    const sessionKey = sessionKeyOf('test', 'left')
    const { keys, epochs, redis } = scene.ledger
    const epoch = await epochs.get(keys.directoryPartitionOf(sessionKey))
    const key = keys.directory(sessionKey)
    const location = `${aidOf(sids[0] ?? 0)}:${sids[0]}`
    const claims = [{ key, location, expected: '', ttlMs: REPLAY_MS }]
    await runScript(redis, openDirectoryScript, { epoch, registrations: claims, nowMs: NOW_MS })
    const update = request('update', sids[0] ?? 0, 1, [service(MIB, 1)], { sessionId: 'left' })
    expect((await scene.charge(update))[0]?.reason).toBe('unknownSession')
    other.clock.set(NOW_MS + 6_000)
    const [opened] = await other.charge(start(sids[1] ?? 0, 'left'))
    expect(opened).toMatchObject({ reason: 'granted', sid: sids[1] })
  })

  it('keeps its location while it is repeated on another node', async () => {
    const [sid = 0] = await subscribers(1)
    const [[first], [second]] = await Promise.all([
      scene.charge(start(sid, 'twice')),
      other.charge(start(sid, 'twice')),
    ])
    expect(first?.reason).toBe('granted')
    expect(second).toEqual(first)
    const [bucket] = (await scene.owner(sid)).state.buckets
    expect(bucket).toMatchObject({ reserved: 10_000 })
  })
})
