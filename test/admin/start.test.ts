import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMongoServer } from '@tollgate/embedded-mongo'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Admin } from '../../src/admin/start.ts'
import { beginEpoch } from '../../src/ledger/install.ts'
import type { CustomerSystemState } from '../../src/runtime/customer-metrics.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { publishSnapshot } from '../../src/store/metrics-exchange.ts'
import { QUICK_RECORDER, startTestAdmin } from '../support/admin/test-admin.ts'
import { TEST_EPOCH } from '../support/ledger.ts'
import { fillStore } from '../support/mongo.ts'
import { silent, startTestStores, type TestStores, topUp } from '../support/recorder/accounts.ts'
import { mountProblem, mountSmallDisk } from '../support/small-disk.ts'
import { type StoreProxy, startStoreProxy } from '../support/store-proxy.ts'

let stores: TestStores
let proxy: StoreProxy
const running: Admin[] = []

beforeAll(async () => {
  stores = await startTestStores()
  proxy = await startStoreProxy(stores.mongo.url)
})
afterAll(async () => {
  await proxy.close()
  await stores.close()
})
afterEach(async () => {
  for (const admin of running.splice(0)) await admin.close(500)
})

async function start(env: Record<string, string> = {}, log = silent) {
  const mongo = { TOLLGATE_MONGO_URL: proxy.url, TOLLGATE_MONGO_TIMEOUT_MS: '300' }
  const admin = await startTestAdmin(stores, { ...mongo, ...QUICK_RECORDER, ...env }, { log })
  running.push(admin)
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${admin.port}${path}`, init)
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  return { admin, get }
}

describe('health', () => {
  it('is live, and ready when both stores answer', async () => {
    const { get } = await start()
    expect(await get('/health/live')).toMatchObject({ status: 200, body: '{"status":"live"}' })
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    expect((await get('/health/ready')).body).toBe(
      '{"status":"ready","redis":"ok","mongo":"ok","ledger":"ok","changes":"ok",' +
        '"catalogue":"unknown"}',
    )
  })

  it('names the unavailable store, stays live, and becomes ready again by itself', async () => {
    const { get } = await start()
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    await proxy.cut()
    const errors = [{ path: 'mongo', code: 'unavailable', why: 'unavailable' }]
    const away = { status: 'unavailable', redis: 'ok', mongo: 'unavailable', ledger: 'ok', errors }
    await expect
      .poll(async () => JSON.parse((await get('/health/ready')).body))
      .toEqual({ ...away, changes: 'ok', catalogue: 'unknown' })
    expect((await get('/health/ready')).status).toBe(503)
    expect(JSON.parse((await get('/api')).body)).toMatchObject({
      ...{ status: 0, message: 'MongoDB unavailable' },
      errors: [{ path: '', code: 'unavailable', why: 'MongoDB unavailable' }],
    })
    expect((await get('/health/live')).status).toBe(200)
    await proxy.restore()
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
  })
})

const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

describe.skipIf(problem !== undefined)(`a MongoDB on a full disk${why}`, () => {
  it('is not ready while writes are refused, and says so', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tg-full-'))
    const disk = mountSmallDisk(join(folder, 'disk'), 24 * 1024 * 1024)
    const place = { dataDir: join(disk.path, 'm'), socketPath: join(folder, 'm.sock') }
    const mongo = await startMongoServer(place)
    try {
      const { admin, get } = await start({
        TOLLGATE_MONGO_URL: mongo.url,
        TOLLGATE_MONGO_TIMEOUT_MS: '20000',
      })
      await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
      disk.fill()
      const health = async () => {
        const { status, body } = await get('/health/ready')
        return { code: status, ...JSON.parse(body) }
      }
      // Pages that a read transaction held while the store was filled can be free afterwards.
      const healthWhenFull = async () => {
        await fillStore(mongo.url)
        return health()
      }
      const refused = { code: 503, status: 'unavailable', mongo: 'cannot_write', redis: 'ok' }
      await expect.poll(healthWhenFull, { timeout: 30_000 }).toMatchObject(refused)
      expect((await get('/metrics')).body).toMatch(/^tollgate_mongo_cannot_write{.*} 1$/m)
      disk.makeRoom()
      await expect.poll(health, { timeout: 30_000 }).toMatchObject({ code: 200, mongo: 'ok' })
      running.splice(running.indexOf(admin), 1)
      await admin.close(500)
    } finally {
      await mongo.close()
      disk.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('a control plane where everybody has to log in', () => {
  it('is not ready until the first user exists', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tg-first-'))
    await proxy.cut()
    const closed = { TOLLGATE_ADMIN_OPEN_TO: 'nobody', TOLLGATE_DATA_DIR: dataDir }
    const { get } = await start(closed)
    expect(JSON.parse((await get('/health/ready')).body)).toMatchObject({ users: 'none' })
    await proxy.restore()
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    const password = readFileSync(join(dataDir, 'admin-password'), 'utf8')
    expect(password).not.toBe('')
    expect(JSON.parse((await get('/health/ready')).body)).not.toHaveProperty('users')
    rmSync(dataDir, { recursive: true })
  })
})

describe('a catalogue with unusable entities', () => {
  it('is reported by health, which names the skipped entities and stays ready', async () => {
    const { get } = await start()
    const charging = createMetrics({ node: 'n1', role: 'realtime' })
    const tell = async (count: number) => {
      const named = { collection: 'rates', name: 'CALL', path: 'rates.call', reason: 'is missing' }
      const entities = count === 0 ? [] : [named]
      charging.catalogueSkipped({ catalogueSkipped: { rates: count }, entities })
      await publishSnapshot(stores.ledger.redis, 'charging-1', await charging.snapshot())
      const ready = await get('/health/ready')
      const names = await get('/health/catalogue')
      return [ready.status, JSON.parse(ready.body).catalogue, JSON.parse(names.body)]
    }
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    const entity = { node: 'n1', role: 'realtime', collection: 'rates', name: 'CALL' }
    const skipped = [{ ...entity, path: 'rates.call', reason: 'is missing' }]
    expect(await tell(1)).toEqual([200, 'incomplete', { status: 'incomplete', skipped }])
    expect(await tell(0)).toEqual([200, 'ok', { status: 'ok', skipped: [] }])
  })
})

describe('external customer mode', () => {
  const states = ['closed', 'half-open', 'open'] as const

  it('is reported by health, which stays ready while it is not called', async () => {
    const { get } = await start()
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    expect(JSON.parse((await get('/health/ready')).body)).not.toHaveProperty('customers')
    const charging = createMetrics({ node: 'n1', role: 'realtime' })
    const tell = async (calls: CustomerSystemState['calls']) => {
      charging.customerSystem({ worker: 0, calls, stale: 2 })
      await publishSnapshot(stores.ledger.redis, 'charging-1', await charging.snapshot())
      const { status, body } = await get('/health/ready')
      return [status, JSON.parse(body).customers]
    }
    const outcomes = { ok: 5, timeout: 3 }
    const seen = []
    for (const circuit of states) seen.push(await tell([{ call: 'subscriber', circuit, outcomes }]))
    expect(seen).toEqual([
      [200, 'ok'],
      [200, 'unavailable'],
      [200, 'unavailable'],
    ])
    const lines = (await get('/metrics')).body.split('\n')
    const from = 'node="n1",role="realtime"'
    expect(lines).toEqual(
      expect.arrayContaining([
        `tollgate_customer_circuit{call="subscriber",worker="0",${from}} 2`,
        `tollgate_customer_calls_total{call="subscriber",outcome="timeout",${from}} 3`,
        `tollgate_customer_stale_total{${from}} 2`,
      ]),
    )
    expect(await tell([])).toEqual([200, undefined])
  })
})

describe('an address that others reach', () => {
  it('is accepted if the operator has opened it, with a warning in the log', async () => {
    const lines: string[] = []
    const destination = { write: (line: string) => lines.push(line) }
    const log = createLogger({ name: 'test', level: 'warn', destination })
    const open = { TOLLGATE_ADMIN_HOST: '0.0.0.0', TOLLGATE_ADMIN_OPEN_TO: 'network' }
    const { admin, get } = await start(open, log)
    expect(await get('/health/live')).toMatchObject({ status: 200 })
    const opened = { level: 'warn', host: '0.0.0.0', port: admin.port }
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(expect.objectContaining(opened))
  })
})

describe('a ledger that Redis has lost', () => {
  it('is not ready until its data is restored', async () => {
    const { get } = await start({ TOLLGATE_RECORDER_ENABLED: 'false' })
    await expect.poll(async () => (await get('/health/ready')).status).toBe(200)
    const { redis, keys } = stores.ledger
    await redis.client.del(keys.epoch(0))
    expect(await get('/health/ready')).toMatchObject({
      status: 503,
      body: expect.stringMatching(
        /^{"status":"unavailable","redis":"ok","mongo":"ok","ledger":"lost","changes":"ok",/,
      ),
    })
    await beginEpoch(redis, keys, [0], TEST_EPOCH)
    expect((await get('/health/ready')).status).toBe(200)
  })
})

describe('metrics', () => {
  it('are those of this process and of all that publish', async () => {
    const { get } = await start()
    const other = createMetrics({ node: 'test', role: 'realtime' })
    other.request('granted', 1, 1)
    await publishSnapshot(stores.ledger.redis, 'other', await other.snapshot())
    const { status, headers, body } = await get('/metrics')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    const lines = body.split('\n')
    const granted = 'outcome="granted",code="1",node="test",role="realtime"'
    expect(lines).toContain(`tollgate_requests_total{${granted}} 1`)
    expect(lines.some((line) => /^tollgate_stream_backlog.*role="admin"/.test(line))).toBe(true)
  })
})

describe('the recorder', () => {
  const isRecorded = async (sid: number) =>
    (await stores.catalog.balances.find({ sid }).toArray()).length

  it('runs in the control plane, unless it runs by itself', async () => {
    const { admin } = await start({ TOLLGATE_RECORDER_ENABLED: 'false' })
    await topUp(stores.ledger, 1, 11, 10, 'op-1')
    await admin.close(500)
    expect(await isRecorded(11)).toBe(0)
    await start()
    await expect.poll(() => isRecorded(11)).toBe(1)
  })
})

describe('an error', () => {
  it('is JSON for any request, and reveals no internals', async () => {
    const { get } = await start()
    const { status, headers, body } = await get('/nowhere?token=secret')
    expect(status).toBe(404)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(headers.has('server') || headers.has('x-powered-by')).toBe(false)
    const desc = 'there is no route for GET /nowhere'
    const errors = [{ path: '', code: 'not_found', why: desc }]
    expect(JSON.parse(body)).toEqual({ status: 0, code: 404, desc, errors })
  })

  it.each([
    ['too large', 413, 'x'.repeat(300 * 1024)],
    ['not JSON', 400, '{"a":'],
  ])('for a body that is %s', async (_, expected, sent) => {
    const { get } = await start()
    const headers = { 'Content-Type': 'application/json' }
    const { status, body } = await get('/health/live', { method: 'POST', headers, body: sent })
    expect([status, JSON.parse(body).status]).toEqual([expected, 0])
  })
})

describe('the port', () => {
  it('in use is named', async () => {
    const { admin } = await start()
    const again = start({ TOLLGATE_ADMIN_PORT: String(admin.port) })
    await expect(again).rejects.toThrow(`cannot listen on 127.0.0.1:${admin.port}: EADDRINUSE`)
  })
})

describe('a standing job that MongoDB interrupts', () => {
  it.each([
    ['cards', 'cards'],
    ['autorenew', 'autorenew'],
    ['payments', 'gatewaycharges'],
    ['retention', 'audit'],
  ] as const)('%s goes on by itself, and soon', async (kind, collection) => {
    await stores.catalog.jobs.deleteMany({})
    await stores.catalog.cards.deleteMany({})
    let said = ''
    const write = (line: string) => {
      said += line
    }
    const log = createLogger({ name: 'test', level: 'info', destination: { write } })
    await start({ TOLLGATE_JOBS_POLL_MS: '100', TOLLGATE_JOBS_RETRY_MS: '100' }, log)
    const job = { kind, ...(collection === 'audit' && { subject: collection }) }
    const found = () => stores.catalog.jobs.findOne(job)
    await expect.poll(async () => (await found())?.state, { timeout: 20_000 }).toBe('waiting')
    let isCut = false
    proxy.cutBefore((request) => {
      const isRead = request.includes('find\0') && request.includes(`\0${collection}\0`)
      if (isCut || !isRead) return false
      isCut = true
      return true
    })
    await stores.catalog.cards.insertOne({ status: 'Idle', to: new Date(0) } as never)
    const cutMs = Date.now()
    await stores.catalog.jobs.updateOne(job, { $set: { due: new Date(0) } })
    // The failure cannot be stored either.
    const text = /"a job failed; it will be retried".*"cannot read the jobs that are due"/s
    await expect.poll(() => said, { timeout: 20_000 }).toMatch(text)
    await proxy.restore()
    const done = async () => {
      const { state, error, changed } = (await found()) ?? {}
      return state === 'waiting' && error === '' && Number(changed) > cutMs
    }
    // Sooner than the lease of the job ends.
    await expect.poll(done, { timeout: 30_000 }).toBe(true)
    if (kind !== 'cards') return
    expect((await found())?.counts).toEqual({ expired: 1 })
    expect(await stores.catalog.audit.countDocuments({ type: 'expire' })).toBe(1)
  })
})
