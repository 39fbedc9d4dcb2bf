import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OwnerState } from '../../src/domain/bucket.ts'
import { openSessions, streamBacklog } from '../../src/ledger/streams.ts'
import { waitForRedis } from '../../src/store/redis.ts'
import { aidOf, FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { AUDITED, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { audit } from '../support/system/auditor.ts'
import { tollgate as tollgateOn } from '../support/system/command.ts'
import {
  type Fields,
  type LedgerReader,
  openLedgerReader,
  post,
  type Reply,
} from '../support/system/exchange.ts'
import type { SessionTruth } from '../support/system/expected-sessions.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const SESSIONS = 300
const MIB = 1024 * 1024

const seed = seedOf()
const truths: SessionTruth[] = []
let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct({ environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  await product.start('realtime')
  await product.start('admin')
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

const tollgate = (...args: string[]) => tollgateOn(product, args)

const data = { sid: FIRST_SID, usaget: 'data', rating_group: 10 }
const starting = (session_id: string): Fields => ({
  record_type: 'start_request',
  session_id,
  request_num: 0,
  ...data,
  usagev: 1,
})
const updating = (session_id: string): Fields => ({
  record_type: 'update_request',
  session_id,
  request_num: 1,
  usaget: 'data',
  rating_group: 10,
  used_usagev: 1,
  usagev: 1,
})

async function workload(more: number): Promise<void> {
  const sessions = { seed: seed + more, sessions: SESSIONS, clients: 24, patienceMs: 60_000 }
  truths.push(...(await runWorkload({ ...sessions, port: product.realtimePort, ...AUDITED })))
}

async function allOwners(): Promise<OwnerState[]> {
  const owners: OwnerState[] = []
  for (let index = 0; index < AUDITED.subscribers; index += 1) {
    const aid = aidOf(index, AUDITED.subscribersPerAccount)
    for (const sid of [FIRST_SID + index, 0]) owners.push(await reader.ownerOf(aid, sid))
  }
  return owners
}

/** Every bucket, without fields that change between two reads of an idle ledger. */
async function balances(): Promise<Map<string, unknown>> {
  const owners = await allOwners()
  return new Map(
    owners.map(({ aid, sid, buckets, owed, repaid, nextBucketId }) => {
      const settled = buckets.map(({ reserved, free, ...bucket }) => {
        return { ...bucket, left: free + reserved }
      })
      return [`${aid}:${sid}`, { settled, owed, repaid, nextBucketId }]
    }),
  )
}

async function reserved(): Promise<number> {
  const buckets = (await allOwners()).flatMap((owner) => owner.buckets)
  return buckets.reduce((sum, bucket) => sum + bucket.reserved, 0)
}

describe(`a Redis that comes back empty, seed ${seed}`, () => {
  let before: Map<string, unknown>

  it('follows a workload without differences, with a session open', async () => {
    await workload(0)
    expect(await audit(product, AUDITED, truths)).toEqual([])
    const opened = await post(product.realtimePort, { ...starting('open'), usagev: MIB })
    expect(opened).toMatchObject({ status: 200, returnCode: 1 })
    const isRecorded = async () => (await streamBacklog(reader.ledger)) === 0
    await waitUntil('the recorder catches up', isRecorded)
    before = await balances()
    expect(await reserved()).toBe(MIB)
  })

  it('answers everything with 503, and denies no request', async () => {
    await product.kill9('redis')
    expect((await post(product.realtimePort, starting('dead'))).status).toBe(503)
    rmSync(join(product.folder, 'redis'), { recursive: true })
    await product.start('redis')
    const isLost = async () => {
      const ready = await fetch(`${product.adminUrl}/health/ready`)
      return ready.status === 503 && (await ready.text()).includes('"redis":"ok"')
    }
    await waitUntil('the control plane sees it', isLost)
    const ready = await fetch(`${product.adminUrl}/health/ready`)
    expect(await ready.json()).toMatchObject({ status: 'unavailable', ledger: 'lost' })
    const charging = `${product.realtimeUrl}/health/ready`
    await waitUntil('charging is not ready', async () => (await fetch(charging)).status === 503)
    for (let round = 0; round < 20; round += 1) {
      const event = { ...starting(`event-${round}`), record_type: 'event_request' }
      const release = { ...updating('open'), record_type: 'release_request' }
      for (const body of [starting(`new-${round}`), updating('open'), release, event]) {
        const { status, returnCode } = await post(product.realtimePort, body)
        // On a machine that pauses for a moment the answer may also be late.
        expect(status).toBe(503)
        expect([-91, -92]).toContain(returnCode)
      }
    }
  })

  it('makes commands name the rebuild', async () => {
    const refusal = { code: 1, stderr: expect.stringContaining("run 'tollgate ledger rebuild'") }
    expect(await tollgate('balance', 'show', '--sid', String(FIRST_SID))).toMatchObject(refusal)
    expect(await tollgate('audit')).toMatchObject(refusal)
    const add = ['--sid', String(FIRST_SID), '--include', '1', '--amount', '1']
    expect(await tollgate('balance', 'add', ...add)).toMatchObject(refusal)
  })

  it('is not rebuilt while a store is unavailable', async () => {
    const away = { TOLLGATE_MONGO_URL: 'mongodb://127.0.0.1:1' }
    const noMongo = await tollgateOn(product, ['ledger', 'rebuild'], away)
    expect([noMongo.code, noMongo.stderr]).toEqual([1, expect.stringMatching(/^.*MongoDB: .*\n$/)])
    const gone = { TOLLGATE_REDIS_URL: 'redis://127.0.0.1:1' }
    const noRedis = await tollgateOn(product, ['ledger', 'rebuild'], gone)
    const stderr = expect.stringMatching(/^.*redis did not answer within 1000 ms\n$/)
    expect([noRedis.code, noRedis.stderr]).toEqual([1, stderr])
  })

  it('is rebuilt under load: 503 until the rebuild is complete, then grants', async () => {
    const answers: Reply[] = []
    let isAsking = true
    const asking = (async () => {
      for (let number = 0; isAsking; number += 1) {
        const session = `asked-${number}`
        answers.push(await post(product.realtimePort, starting(session)))
        await pause(20)
      }
    })()
    const { code, stdout, stderr } = await tollgate('ledger', 'rebuild', '--json')
    expect([code, stderr]).toEqual([0, ''])
    const isBack = () => answers.slice(-5).every(({ status }) => status === 200)
    await waitUntil('answers come again', isBack).finally(() => {
      isAsking = false
    })
    await asking
    const codes = new Set(answers.map(({ status, returnCode }) => `${status} ${returnCode}`))
    expect([...codes].sort()).toEqual(['200 1', '503 -91'])
    const reports = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const accounts = AUDITED.subscribers / AUDITED.subscribersPerAccount
    expect(reports).toHaveLength(accounts + 1)
    expect(reports.at(-1)).toMatchObject({
      partitions: 64,
      epoch: expect.stringMatching(/^2-/),
      totals: { accounts, losses: 0, debt_ahead: 0, units: { voided: MIB } },
    })
  })

  it('has every balance as before, and nothing is reserved', async () => {
    await reader.close()
    reader = await openLedgerReader(product.redisUrl)
    await waitForRedis(reader.ledger.redis, 10_000)
    const isQuiet = async () => (await openSessions(reader.ledger)) === 0
    await waitUntil('sessions opened meanwhile expire', isQuiet)
    expect(await reserved()).toBe(0)
    expect(await balances()).toEqual(before)
  })

  it('has no earlier session, and opens new ones', async () => {
    const update = await post(product.realtimePort, updating('open'))
    expect([update.status, update.returnCode]).toEqual([200, -7])
    const started = await post(product.realtimePort, starting('open'))
    expect([started.status, started.returnCode]).toEqual([200, 1])
  })

  it('continues: ledger and lines agree, and every unit is accounted for', async () => {
    await workload(1)
    expect(await audit(product, AUDITED, truths)).toEqual([])
    expect(await tollgate('audit')).toMatchObject({ code: 0, stderr: '' })
    expect(await tollgate('ledger', 'rebuild')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'tollgate: the ledger is there: nothing to rebuild\n',
    })
  })
})
