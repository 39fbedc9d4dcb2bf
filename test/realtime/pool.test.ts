import { memoryUsage } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import type { ChargeOutcome } from '../../src/domain/charge-outcome.ts'
import { type ChargeRequest, serviceRequest } from '../../src/domain/charge-request.ts'
import type { WorkerTask } from '../../src/domain/worker-task.ts'
import { type Pool, type PoolOptions, startPool } from '../../src/realtime/pool.ts'
import type { ServePort } from '../../src/realtime/shared-workers.ts'
import type { RequestSender } from '../../src/realtime/worker-queue.ts'
import { createRouteTable } from '../../src/realtime/worker-routes.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { bundled } from '../support/bundle.ts'
import { createPoolWork } from '../support/realtime/pool-work.ts'
import { requestOf } from '../support/realtime/requests.ts'
import { waitUntil } from '../support/wait.ts'

const WORKER = await bundled('test/support/realtime/pool-worker.mjs')

const WAITING = { isGone: false }
/** Characters of a message. */
const MESSAGE = 10_000

const open: Pool[] = []
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close()
})

async function poolOf(options: Partial<PoolOptions> = {}) {
  const batches: number[] = []
  const stats: Record<string, number>[] = []
  const pool = await startPool({
    workerFile: WORKER,
    workerData: (worker) => ({ worker }),
    workers: 1,
    batchSizeMax: 4,
    batchesInFlightMax: 2,
    requestTimeoutMs: 20_000,
    log: createLogger({ name: 'test', level: 'silent' }),
    onBatch: (size) => batches.push(size),
    onStats: (figures) => stats.push({ ...figures }),
    ...options,
  })
  open.push(pool)
  const ask = (request: ChargeRequest | string, client: RequestSender = WAITING) =>
    new Promise<ChargeOutcome>((resolve) => {
      pool.submit(typeof request === 'string' ? requestOf(request) : request, resolve, client)
    })
  return { pool, ask, batches, stats }
}

const ids = (outcomes: ChargeOutcome[]) => outcomes.map(({ transactionId }) => transactionId)
const reasonsOf = (outcomes: ChargeOutcome[]) => outcomes.map(({ reason }) => reason)

/** Options of a pool whose only worker is of this kind. */
const KINDS: Readonly<Record<'thread' | 'inline', Partial<PoolOptions>>> = {
  thread: {},
  inline: {
    async buildInline(emit) {
      emit({ kind: 'skipped', catalogueSkipped: { rates: 3 }, entities: [] })
      return { process: createPoolWork(0), close: async () => undefined }
    },
  },
}

describe.each(Object.entries(KINDS))('a worker of the kind %s', (kind, ofKind) => {
  const poolWith = (options: Partial<PoolOptions> = {}) => poolOf({ ...ofKind, ...options })

  it('receives batches and returns every outcome to its request', async () => {
    const { ask, batches, stats } = await poolWith()
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    expect(ids(await Promise.all(names.map((name) => ask(name))))).toEqual(names)
    expect(batches).toEqual([4, 2])
    expect(stats).toEqual([
      { requests: 4, conflicts: 1 },
      { requests: 2, conflicts: 1 },
    ])
  })

  it('passes on its events', async () => {
    const events: unknown[] = []
    await poolWith({ onEvent: (event) => events.push(event) })
    await waitUntil('an event', () => events.length === 1)
    expect(events).toEqual([{ kind: 'skipped', catalogueSkipped: { rates: 3 }, entities: [] }])
  })

  it('receives a request for a lookup again if it has not cached its data', async () => {
    const { ask } = await poolWith({ batchSizeMax: 2, batchesInFlightMax: 1 })
    const [known, unknown] = await Promise.all([ask('known'), ask('look-up')])
    expect(known?.detail).toBe('worker 0, batch of 2')
    expect(unknown?.detail).toBe('worker 0, batch of 1, slow')
  })

  it('receives a request again for a customer system; waiting ones delay no lookup', async () => {
    const { ask } = await poolWith({ batchSizeMax: 1, batchesInFlightMax: 1 })
    const asked = Array.from({ length: 20 }, (_, index) => ask(`ask-and-wait-${index}`))
    // More than lookups may be in flight.
    expect((await ask('look-up')).detail).toBe('worker 0, batch of 1, slow')
    expect((await ask('ask')).detail).toBe('worker 0, batch of 1, asked')
    await ask('release')
    const details = (await Promise.all(asked)).map(({ detail }) => detail)
    expect(new Set(details)).toEqual(new Set(['worker 0, batch of 1, asked']))
  })

  it.each(['throw', 'miscount'])('fails its batch by %s, and continues', async (word) => {
    const { ask } = await poolWith()
    const lost = await Promise.all([ask('good'), ask(word)])
    expect(reasonsOf(lost)).toEqual(['timedOut', 'timedOut'])
    expect(await ask('after')).toMatchObject({ reason: 'granted', transactionId: 'after' })
  })

  it('receives further batches when some do not end', async () => {
    const { ask } = await poolWith({
      requestTimeoutMs: 50,
      batchSizeMax: 1,
      batchesInFlightMax: 1,
    })
    expect((await ask('wait')).reason).toBe('timedOut')
    let outcome = await ask('after')
    while (outcome.reason !== 'granted') outcome = await ask('after')
    expect(outcome.transactionId).toBe('after')
  })

  it('that cannot be started is a named error with its cause', async () => {
    const started = poolOf({
      workerData: () => ({ failsAtStart: true }),
      ...(kind === 'inline' && { buildInline: () => Promise.reject(new Error('no catalogue')) }),
    })
    await expect(started).rejects.toThrow('worker did not start: no catalogue')
    await expect(started).rejects.toMatchObject({ name: 'WorkerStartError' })
  })

  describe('a time-out', () => {
    it('answers once; the late result is dropped', async () => {
      const { pool, ask } = await poolWith({ requestTimeoutMs: 100, batchSizeMax: 1 })
      const answers: ChargeOutcome[] = []
      await new Promise<void>((resolve) => {
        const take = (outcome: ChargeOutcome) => {
          answers.push(outcome)
          resolve()
        }
        pool.submit(requestOf('wait'), take, WAITING)
      })
      expect(reasonsOf(answers)).toEqual(['timedOut'])
      await ask('release')
      // Two more round trips: the late result has returned before the second.
      await ask('next')
      expect(answers).toHaveLength(1)
    })

    it('answers a request that waits for a batch, which is not sent then', async () => {
      const { ask, batches } = await poolWith({
        requestTimeoutMs: 100,
        batchSizeMax: 1,
        batchesInFlightMax: 2,
      })
      const turn = () => new Promise((resolve) => setImmediate(resolve))
      const asked = [ask('wait-1'), ask('wait-2')]
      await turn()
      asked.push(ask('queued-1'), ask('queued-2'))
      expect(reasonsOf(await Promise.all(asked))).toEqual(Array(4).fill('timedOut'))
      expect(batches).toEqual([1, 1])
    })

    it('answers the request of a disconnected client, which is not sent', async () => {
      const dropped: string[] = []
      const { ask, batches } = await poolWith({
        batchSizeMax: 1,
        batchesInFlightMax: 1,
        onDropped: (cause) => dropped.push(cause),
      })
      const first = ask('first')
      await new Promise((resolve) => setImmediate(resolve))
      const [gone, behind] = await Promise.all([ask('gone', { isGone: true }), ask('behind')])
      expect(reasonsOf([await first, gone, behind])).toEqual(['granted', 'timedOut', 'granted'])
      expect(dropped).toEqual(['gone'])
      expect(batches).toEqual([1, 1])
    })

    it('comes immediately when the pool is closed', async () => {
      const { pool, ask } = await poolWith()
      const waiting = ask('wait')
      await new Promise((resolve) => setImmediate(resolve))
      await pool.close()
      expect((await waiting).reason).toBe('timedOut')
    })
  })
})

describe('a worker thread', () => {
  it('that ends fails its batch, and is replaced', async () => {
    const { ask } = await poolOf()
    const lost = await Promise.all([ask('good'), ask('exit')])
    expect(reasonsOf(lost)).toEqual(['timedOut', 'timedOut'])
    expect(await ask('after')).toMatchObject({ reason: 'granted', transactionId: 'after' })
  })

  it('that ends fails only its own batches in flight', async () => {
    const { ask } = await poolOf({ workers: 2, batchSizeMax: 1, batchesInFlightMax: 4 })
    const at = (sessionId: string, worker: number) =>
      ask(requestOf(sessionId, { subscriberKey: 'sid', subscriberValue: String(worker) }))
    // The router learns the workers of the accounts 2 and 3.
    await Promise.all([at('x', 2), at('y', 3)])
    const both = await Promise.all([at('wait', 2), at('exit', 2), at('other', 3)])
    expect(reasonsOf(both)).toEqual(['timedOut', 'timedOut', 'granted'])
  })

  it('is replaced if it hangs', async () => {
    const { ask, stats } = await poolOf({
      requestTimeoutMs: 150,
      batchSizeMax: 1,
      batchesInFlightMax: 1,
    })
    const [hung, behind] = await Promise.all([ask('spin'), ask('stale')])
    expect(reasonsOf([hung, behind])).toEqual(['timedOut', 'timedOut'])
    let outcome = await ask('after')
    while (outcome.reason !== 'granted') outcome = await ask('after')
    expect(outcome.transactionId).toBe('after')
    // A request answered in between was not sent to the new worker.
    expect(stats.filter(({ stale }) => stale !== undefined)).toEqual([])
  })
})

it('the requests of one account go to one worker', async () => {
  const { ask } = await poolOf({ workers: 3 })
  const aid = '7'
  const start = (subscriberValue: string, sessionId: string) =>
    ask(requestOf(sessionId, { kind: 'start', subscriberKey: 'sid', subscriberValue }))
  await start(aid, 'session-1')
  const updates = await Promise.all([ask('session-1'), start(aid, 'session-2'), ask('session-1')])
  const workers = new Set(updates.map(({ detail }) => detail.split(',')[0]))
  expect([...workers]).toEqual(['worker 1'])
})

describe('a worker on the event loop', () => {
  it('is closed with the pool', async () => {
    const closed: string[] = []
    const close = async () => void closed.push('closed')
    const buildInline = async () => ({ process: createPoolWork(0), close })
    const { pool, ask } = await poolOf({ buildInline })
    await ask('a')
    expect(closed).toEqual([])
    await pool.close()
    expect(closed).toEqual(['closed'])
  })

  it('may keep texts of a request without keeping its message in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const kept: string[] = []
    const work = createPoolWork(0)
    const process = (task: WorkerTask) => {
      for (const { sessionId, stamp, subscriberValue, fields, services } of task.requests) {
        const [service] = services
        kept.push(sessionId, stamp, subscriberValue, fields?.['other'] ?? '')
        kept.push(service?.calledNumber ?? '', service?.fields?.['other'] ?? '')
      }
      return work(task)
    }
    const { ask } = await poolOf({
      buildInline: async () => ({ process, close: async () => undefined }),
    })
    const TEXTS = ['ascii-0123456789', 'latin-\xe9-0123456789', 'lone-\ud800-0123456789']
    collect()
    const before = memoryUsage().heapUsed
    for (let round = 0; round < 100; round += 1) {
      for (const text of TEXTS) {
        const cut = () =>
          Buffer.from(`${'x'.repeat(MESSAGE)}${text}`, 'utf16le')
            .toString('utf16le')
            .slice(MESSAGE)
        const service = serviceRequest({
          usaget: 'data',
          calledNumber: cut(),
          fields: { other: cut() },
        })
        const texts = { stamp: cut(), subscriberValue: cut(), fields: { other: cut() } }
        await ask(requestOf(cut(), { ...texts, services: [service] }))
      }
    }
    collect()
    expect(new Set(kept)).toEqual(new Set(TEXTS))
    expect(memoryUsage().heapUsed - before).toBeLessThan((kept.length * MESSAGE) / 10)
  })
})

describe('two event loops', () => {
  /** Their pools, with one worker each. */
  async function poolsOf(options: Partial<PoolOptions> = {}) {
    const routes = createRouteTable()
    const serve: ServePort[] = []
    const pools = await Promise.all(
      [0, 1].map((loop) => {
        const connect: ServePort = (worker, port) => serve[worker]?.(worker, port)
        const onConnect = (ofLoop: ServePort) => {
          serve[loop] = ofLoop
        }
        return poolOf({ ...options, shared: { loop, loops: 2, routes, connect, onConnect } })
      }),
    )
    await Promise.all(pools.map(({ pool }) => pool.reachOthers()))
    // The route of this account is learned by all.
    const [first, second] = pools as [(typeof pools)[0], (typeof pools)[0]]
    const at = ({ ask }: typeof first, sessionId: string, worker: number) =>
      ask(requestOf(sessionId, { subscriberKey: 'sid', subscriberValue: String(worker + 2) }))
    for (const worker of [0, 1]) await at(first, `learn-${worker}`, worker)
    return { first, second, at }
  }

  /** Repeats a request until its worker has been replaced. */
  async function granted(ask: () => Promise<ChargeOutcome>): Promise<ChargeOutcome> {
    let outcome = await ask()
    await waitUntil('the worker answers', async () => {
      if (outcome.reason !== 'granted') outcome = await ask()
      return outcome.reason === 'granted'
    })
    return outcome
  }

  it('send the requests of an account to one worker of the process', async () => {
    const { first, second, at } = await poolsOf()
    for (const worker of [0, 1]) {
      const session = `session-${worker}`
      await at(second, session, worker)
      const outcomes = [await first.ask(session), await second.ask(session)]
      for (const loop of [first, second]) outcomes.push(await at(loop, `new-${worker}`, worker))
      for (const { detail } of outcomes) expect(detail).toContain(`worker ${worker},`)
    }
  })

  it('look up in the worker of the other', async () => {
    const { first, at } = await poolsOf()
    expect((await at(first, 'look-up', 1)).detail).toBe('worker 1, batch of 1, slow')
  })

  it.each([
    ['of the owner', 1],
    ['of the other', 0],
  ])('reach a worker again that ended by a request %s', async (_, by) => {
    const { first, second, at } = await poolsOf({ batchSizeMax: 1 })
    const waiting = [at(first, 'wait', 1), at(second, 'wait', 1)]
    await Promise.all([at(first, 'x', 1), at(second, 'x', 1)])
    const lost = [...waiting, at(by === 0 ? first : second, 'exit', 1)]
    expect(reasonsOf(await Promise.all(lost))).toEqual(Array(3).fill('timedOut'))
    for (const loop of [first, second]) {
      const outcome = await granted(() => at(loop, 'after', 1))
      expect(outcome.detail).toContain('worker 1,')
    }
    expect(await at(first, 'own', 0)).toMatchObject({ reason: 'granted' })
  })

  it('replace a worker that hangs on a request of the other', async () => {
    const { first, at } = await poolsOf({ requestTimeoutMs: 150 })
    expect((await at(first, 'spin', 1)).reason).toBe('timedOut')
    expect((await granted(() => at(first, 'after', 1))).detail).toContain('worker 1,')
  })

  it('answer what waits for a worker of a closed pool', async () => {
    const { first, second, at } = await poolsOf({ batchSizeMax: 1 })
    const waiting = at(first, 'wait', 1)
    await at(first, 'x', 1)
    await second.pool.close()
    expect((await waiting).reason).toBe('timedOut')
  })
})
