import { memoryUsage } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { type ChargeOutcome, plainOutcome } from '../../src/domain/charge-outcome.ts'
import { type ChargeRequest, serviceRequest } from '../../src/domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../../src/domain/worker-task.ts'
import { type Pool, type PoolOptions, startPool } from '../../src/realtime/pool.ts'
import { createRouteTable } from '../../src/realtime/routes.ts'
import type { ServePort } from '../../src/realtime/thread-context.ts'
import type { RequestSender } from '../../src/realtime/worker-queue.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { bundled } from '../support/bundle.ts'
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

it('sends batches and returns every outcome to its request', async () => {
  const { ask, batches, stats } = await poolOf()
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  expect(ids(await Promise.all(names.map((name) => ask(name))))).toEqual(names)
  expect(batches).toEqual([4, 2])
  expect(stats).toEqual([
    { requests: 4, conflicts: 1 },
    { requests: 2, conflicts: 1 },
  ])
})

it('passes on the events of a worker', async () => {
  const events: unknown[] = []
  await poolOf({ workers: 2, onEvent: (event) => events.push(event) })
  await waitUntil('both', () => events.length === 2)
  const expected = [3, 4].map((rates) => ({
    kind: 'skipped',
    catalogueSkipped: { rates },
    entities: [],
  }))
  expect(events).toEqual(expect.arrayContaining(expected))
})

it('sends a request for a lookup again if the worker has not cached its data', async () => {
  const { ask } = await poolOf({ batchSizeMax: 2, batchesInFlightMax: 1 })
  const [known, unknown] = await Promise.all([ask('known'), ask('look-up')])
  expect(known?.detail).toBe('worker 0, batch of 2')
  expect(unknown?.detail).toBe('worker 0, batch of 1, slow')
})

it('sends a request again for a customer system, and those that wait delay no lookup', async () => {
  const { ask } = await poolOf({ batchSizeMax: 1, batchesInFlightMax: 1 })
  const asked = Array.from({ length: 20 }, (_, index) => ask(`ask-and-wait-${index}`))
  // More than lookups may be in flight.
  expect((await ask('look-up')).detail).toBe('worker 0, batch of 1, slow')
  expect((await ask('ask')).detail).toBe('worker 0, batch of 1, asked')
  await ask('release')
  const details = (await Promise.all(asked)).map(({ detail }) => detail)
  expect(new Set(details)).toEqual(new Set(['worker 0, batch of 1, asked']))
})

describe('a worker that fails', () => {
  it.each(['throw', 'exit', 'miscount'])(
    'by %s ends its batch, and the pool continues',
    async (word) => {
      const { ask } = await poolOf()
      const lost = await Promise.all([ask('good'), ask(word)])
      expect(reasonsOf(lost)).toEqual(['timedOut', 'timedOut'])
      expect(await ask('after')).toMatchObject({ reason: 'granted', transactionId: 'after' })
    },
  )

  it('ends only the batches in flight in its thread', async () => {
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

  it('at the start is a named error with its cause', async () => {
    const started = poolOf({ workerData: () => ({ failsAtStart: true }) })
    await expect(started).rejects.toThrow('worker did not start: no catalogue')
    await expect(started).rejects.toMatchObject({ name: 'WorkerStartError' })
  })
})

describe('a time-out', () => {
  it('answers once; the late result is dropped', async () => {
    const { pool, ask } = await poolOf({ requestTimeoutMs: 100, batchSizeMax: 1 })
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
    const { ask, batches } = await poolOf({
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
    const { ask, batches } = await poolOf({
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
    const { pool, ask } = await poolOf()
    const waiting = ask('wait')
    await new Promise((resolve) => setImmediate(resolve))
    await pool.close()
    expect((await waiting).reason).toBe('timedOut')
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
  /** Behaves as pool-worker.mjs does. */
  function inlineWorker() {
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const closed: string[] = []
    const process = async ({ requests, mayLookUp }: WorkerTask): Promise<WorkerResult> => {
      const does = (word: string) => requests.some(({ sessionId }) => sessionId.startsWith(word))
      if (does('release')) release()
      if (does('throw')) throw new Error('a defect')
      if (does('wait')) await released
      const outcomes = requests.map(({ sessionId }) => {
        if (sessionId.startsWith('look-up') && !mayLookUp) return null
        return { ...plainOutcome('granted'), transactionId: sessionId }
      })
      return { outcomes, stats: {} }
    }
    return { process, close: async () => void closed.push('closed'), closed }
  }

  async function inlinePool(options: Partial<PoolOptions> = {}) {
    const worker = inlineWorker()
    const events: unknown[] = []
    const buildInline: PoolOptions['buildInline'] = async (emit) => {
      emit({ kind: 'reauthorizeAll' })
      return worker
    }
    const onEvent = (event: unknown) => events.push(event)
    return { ...(await poolOf({ buildInline, onEvent, ...options })), worker, events }
  }

  it('receives batches, passes on its events, and is closed with the pool', async () => {
    const { pool, ask, batches, events, worker } = await inlinePool()
    const names = ['a', 'b', 'c', 'd', 'look-up', 'f']
    expect(ids(await Promise.all(names.map((name) => ask(name))))).toEqual(names)
    expect(batches).toEqual([4, 2, 1])
    expect(events).toEqual([{ kind: 'reauthorizeAll' }])
    expect(worker.closed).toEqual([])
    await pool.close()
    expect(worker.closed).toEqual(['closed'])
  })

  it('ends only the batch that fails', async () => {
    const { ask } = await inlinePool({ batchSizeMax: 1 })
    const asked = await Promise.all([ask('good'), ask('throw'), ask('after')])
    expect(reasonsOf(asked)).toEqual(['granted', 'timedOut', 'granted'])
  })

  it('receives further batches when some do not end', async () => {
    const { ask } = await inlinePool({
      requestTimeoutMs: 50,
      batchSizeMax: 1,
      batchesInFlightMax: 1,
    })
    expect((await ask('wait')).reason).toBe('timedOut')
    let outcome = await ask('after')
    while (outcome.reason !== 'granted') outcome = await ask('after')
    expect(outcome.transactionId).toBe('after')
  })

  it('may keep texts of a request without keeping its message in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const kept: string[] = []
    const worker = inlineWorker()
    const process = (task: WorkerTask) => {
      for (const { sessionId, stamp, subscriberValue, fields, services } of task.requests) {
        const [service] = services
        kept.push(sessionId, stamp, subscriberValue, fields?.['other'] ?? '')
        kept.push(service?.calledNumber ?? '', service?.fields?.['other'] ?? '')
      }
      return worker.process(task)
    }
    const { ask } = await poolOf({ buildInline: async () => ({ ...worker, process }) })
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

  it('that cannot be built is a named error with its cause', async () => {
    const buildInline = () => Promise.reject(new Error('no catalogue'))
    const started = poolOf({ buildInline })
    await expect(started).rejects.toThrow('worker did not start: no catalogue')
    await expect(started).rejects.toMatchObject({ name: 'WorkerStartError' })
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
