/** The product on a Redis Cluster: ledger and lines agree, also when a master dies under load. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEFAULT_LIMITS } from '../support/product/patience.ts'
import { populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { startTestCluster, type TestCluster } from '../support/redis-cluster.ts'
import { AUDITED, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { audit } from '../support/system/auditor.ts'
import type { SessionTruth } from '../support/system/expected-sessions.ts'
import { Random } from '../support/system/random.ts'
import { withRecentLogs } from '../support/system/recent-logs.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const SESSIONS = 300
/** Sessions that have to finish once the cluster is complete again. */
const RECOVERED = 48

let cluster: TestCluster
let product: Product
const truths: SessionTruth[] = []

beforeAll(async () => {
  cluster = await startTestCluster()
  const environment = {
    ...DEFAULT_LIMITS,
    ...FAST_EXPIRY,
    TOLLGATE_RECORDER_ENABLED: 'false',
    TOLLGATE_REDIS_REPLICA_ACKS: '1',
  }
  product = await startProduct({ redisUrl: cluster.url, environment })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await product.start('realtime')
  await product.start('recorder')
})
afterAll(async () => {
  await product?.stop()
  await cluster?.close()
})

describe(`a Redis Cluster, seed ${seed}`, () => {
  it('keeps each account in one slot, and uses all masters', async () => {
    truths.push(...(await runWorkload(workload(1))))
    expect(await audit(product, AUDITED, truths)).toEqual([])
  })

  it('loses nothing acknowledged when a master is killed and its replica promoted', async () => {
    const random = new Random(seed)
    let isKilling = true
    let finished = 0
    const load = runWorkload({
      ...workload(2),
      goesOn: () => isKilling,
      onSession: (count) => {
        finished = count
      },
    })
    const killing = (async () => {
      await pause(random.between(50, 700))
      const victim = random.pick(await cluster.masters())
      await victim.kill9()
      await waitUntil('another has taken its place', async () => {
        const masters = await cluster.masters()
        return masters.length === 3 && !masters.includes(victim)
      })
      await victim.start()
      await cluster.untilWhole(3, 1)
      const before = finished
      await waitUntil('sessions finish', () => finished >= before + RECOVERED)
    })().finally(() => {
      isKilling = false
    })
    const [sessions] = await withRecentLogs(product, Promise.all([load, killing]))
    truths.push(...sessions)
    expect(await audit(product, AUDITED, truths)).toEqual([])
  })
})

function workload(round: number) {
  return {
    ...AUDITED,
    seed: seed + round,
    port: product.realtimePort,
    sessions: SESSIONS,
    clients: 24,
    patienceMs: 60_000,
  }
}
