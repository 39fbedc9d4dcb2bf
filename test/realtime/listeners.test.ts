/** Several event loops on one port, over real sockets. The threads run the built files. */
import { afterEach, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { fileTypeDefaultsOf } from '../../src/file-types/defaults.ts'
import { startListeners } from '../../src/realtime/listeners.ts'
import type { Realtime } from '../../src/realtime/start.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { bundled } from '../support/bundle.ts'
import { PATIENT } from '../support/product/patience.ts'
import { choosePort } from '../support/product/ports.ts'
import { openSocket, post } from '../support/realtime/http/socket.ts'
import { waitUntil } from '../support/wait.ts'

const LOOP = await bundled('test/support/realtime/loop-thread.mjs')

const open: Realtime[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
})

const slow = {
  name: 'SLOW',
  requestsPerSecond: 0.001,
  burst: 10,
  fileTypes: null,
  diameter: null,
  certificateNames: [],
  allowsAddress: () => true,
}

/** For requests that are not answered in time. */
const SHORT = {
  TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '100',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '2000',
}

async function nodeOf(env: Record<string, string> = {}, worker = 'pool-worker') {
  const metrics = createMetrics({ node: 'test', role: 'realtime' })
  const config = loadConfig({
    env: {
      TOLLGATE_REALTIME_PORT: '0',
      TOLLGATE_REALTIME_LISTENERS: '2',
      TOLLGATE_REALTIME_WORKERS: '1',
      TOLLGATE_DIAMETER_PORT: '0',
      ...PATIENT,
      TOLLGATE_LOG_LEVEL: 'silent',
      ...env,
    },
  })
  const fitness = { isRedisFit: true, isLedgerThere: true }
  const failures: string[] = []
  const byKey = (key: string) => (key === 'slow' ? slow : null)
  const node = await startListeners({
    config,
    defaults: fileTypeDefaultsOf(config),
    log: createLogger({ name: 'test', level: 'silent' }),
    metrics,
    clock: systemClock,
    isRedisFit: () => fitness.isRedisFit,
    isLedgerThere: () => fitness.isLedgerThere,
    follow: async (listener) => {
      const peers = {
        byKey,
        byOriginHost: () => null,
        byCertificate: () => null,
        all: [],
        skipped: [],
      }
      listener({ fileTypes: [], peers })
      return { close: async () => undefined }
    },
    workerFile: await bundled(`test/support/realtime/${worker}.mjs`),
    loopFile: LOOP,
    onFailure: (error) => failures.push(error.message),
  })
  open.push(node)
  return { node, fitness, failures, metrics }
}

type Metrics = Awaited<ReturnType<typeof nodeOf>>['metrics']

async function figure(metrics: Metrics, name: string) {
  const { metrics: all } = await metrics.snapshot()
  return (all.find((metric) => metric.name === name)?.values ?? []).map(({ labels, value }) => ({
    ...labels,
    value,
  }))
}

const inFlight = async (metrics: Metrics) => (await figure(metrics, 'tollgate_in_flight'))[0]?.value

const update = (sessionId: string, header = '') =>
  post(`{"record_type":"update_request","session_id":"${sessionId}"}`, header)

/** Requests answered by each event loop that has answered any. */
async function requestsByLoop(metrics: Metrics): Promise<Map<number, number>> {
  const found = await figure(metrics, 'tollgate_loop_requests_total')
  return new Map(found.map((sample) => [Number(Object(sample).loop), sample.value]))
}

type Node = Pick<Awaited<ReturnType<typeof nodeOf>>, 'node' | 'metrics'>

/** A connection, and the event loop that accepted it. No other request may be under way. */
async function connection({ node, metrics }: Node) {
  const before = await requestsByLoop(metrics)
  const socket = openSocket(node.port)
  await socket.connected
  await socket.send(update('hello'))
  await socket.answer()
  let loop = -1
  await waitUntil('the request is counted', async () => {
    for (const [index, count] of await requestsByLoop(metrics)) {
      if (count > (before.get(index) ?? 0)) loop = index
    }
    return loop >= 0
  })
  return { ...socket, loop }
}

/** This many connections to each of two event loops. */
async function connections(node: Node, each = 1) {
  const all: Awaited<ReturnType<typeof connection>>[] = []
  const of = (loop: number) => all.filter((one) => one.loop === loop)
  while (of(0).length < each || of(1).length < each) all.push(await connection(node))
  return [of(0).slice(0, each), of(1).slice(0, each)].flat()
}

it('accepts connections in all event loops, and adds up their counters', async () => {
  const node = await nodeOf()
  const { metrics } = node
  const both = await connections(node, 3)
  expect(both.map(({ loop }) => loop)).toEqual([0, 0, 0, 1, 1, 1])
  for (const socket of both) await socket.send(update('more'))
  for (const socket of both) expect(await socket.answer()).toMatchObject({ status: 200 })
  const byLoop = await figure(metrics, 'tollgate_loop_requests_total')
  expect(byLoop).toMatchObject([{ loop: '0' }, { loop: '1' }])
  const requests = byLoop.reduce((sum, { value }) => sum + value, 0)
  expect(Math.min(...byLoop.map(({ value }) => value))).toBeGreaterThanOrEqual(6)
  expect(await figure(metrics, 'tollgate_requests_total')).toEqual([
    { outcome: 'granted', code: 1, value: requests },
  ])
  expect(await inFlight(metrics)).toBe(0)
})

it('sends the requests of a session to one worker, whichever event loop has them', async () => {
  const sockets = await connections(await nodeOf(), 2)
  const sessions = Array.from({ length: 16 }, (_, index) => `session-${index}`)
  const workers = new Set<string>()
  for (const session of sessions) {
    const ofSession = new Set<string>()
    for (const socket of sockets) {
      await socket.send(update(session))
      ofSession.add(/worker \d/.exec((await socket.answer())?.body ?? '')?.[0] ?? '')
    }
    expect(ofSession.size).toBe(1)
    for (const worker of ofSession) workers.add(worker)
  }
  expect([...workers].sort()).toEqual(['worker 0', 'worker 1'])
})

it('reaches a worker again after its replacement, from all event loops', async () => {
  const sockets = await connections(await nodeOf(), 1)
  const asked = async (socket: (typeof sockets)[0], session: string) => {
    await socket.send(update(session))
    return socket.answer()
  }
  for (const [index, socket] of sockets.entries()) {
    // By their hashes, some of these sessions are of either worker.
    for (let count = 0; count < 8; count += 1) {
      expect((await asked(socket, `exit-${index}-${count}`))?.body).toContain('-92')
    }
    for (const other of sockets) {
      for (let count = 0; count < 8; count += 1) {
        await waitUntil('an answer', async () => {
          return (await asked(other, `after-${count}`))?.status === 200
        })
      }
    }
  }
})

it('lets workers answer requests of other event loops before it closes', async () => {
  const patient = {}
  const node = await nodeOf(patient, 'held-worker')
  const all = await connections(node, 8)
  const [sockets, idle] = [all.slice(0, 8), all[8]]
  const channel = new BroadcastChannel('held-worker')
  let replies = 0
  channel.onmessage = () => {
    replies += 1
  }
  const tellBoth = async (word: 'hold' | 'ask') => {
    replies = 0
    channel.postMessage(word)
    await waitUntil('both workers reply', () => replies === 2)
  }
  await tellBoth('hold')
  for (const [index, socket] of sockets.entries()) await socket.send(update(`held-${index}`))
  await waitUntil('all under way', async () => (await inFlight(node.metrics)) === 8)
  const closing = node.node.close()
  // The other event loop has nothing to answer, but its worker has.
  await waitUntil('it stops', async () => {
    await idle?.send('GET /health/ready HTTP/1.1\r\nHost: t\r\n\r\n')
    return (await idle?.answer())?.status !== 200
  })
  for (let count = 0; count < 10; count += 1) await tellBoth('ask')
  channel.postMessage('go')
  for (const socket of sockets) expect(await socket.answer()).toMatchObject({ status: 200 })
  await closing
  channel.close()
})

it('limits a peer to one rate, whichever event loops it connects to', async () => {
  const node = await nodeOf()
  const sockets = await connections(node, 2)
  const statuses: (number | undefined)[] = []
  for (let request = 0; request < 16; request += 1) {
    const socket = sockets[request % sockets.length]
    await socket?.send(update('one', 'X-Api-Key: slow\r\n'))
    statuses.push((await socket?.answer())?.status)
  }
  expect(statuses).toEqual([...Array(10).fill(200), ...Array(6).fill(429)])
})

it('fails on a port that is in use, alone or shared', async () => {
  for (const listeners of ['1', '2']) {
    const { node } = await nodeOf({ TOLLGATE_REALTIME_LISTENERS: listeners })
    const port = { TOLLGATE_REALTIME_PORT: String(node.port) }
    const alone = { ...port, TOLLGATE_REALTIME_LISTENERS: '1' }
    for (const env of [port, alone]) await expect(nodeOf(env)).rejects.toThrow('port is in use')
  }
})

it('does not start if one event loop fails, with its reason, and releases the port', async () => {
  const port = String(await choosePort())
  for (const [dir, why] of [
    ['fails', 'event loop 1: rules cannot be used'],
    ['fails-at-load', 'event loop 1: no such module'],
  ] as const) {
    const env = { TOLLGATE_REALTIME_PORT: port, TOLLGATE_DATA_DIR: dir }
    await expect(nodeOf(env)).rejects.toThrow(why)
  }
  const { node } = await nodeOf({ TOLLGATE_REALTIME_PORT: port })
  expect(String(node.port)).toBe(port)
})

it('is ready in all event loops or in none', async () => {
  const running = await nodeOf()
  const { fitness } = running
  const sockets = await connections(running)
  const statuses = async () => {
    for (const socket of sockets) {
      await socket.send('GET /health/ready HTTP/1.1\r\nHost: t\r\n\r\n')
    }
    return Promise.all(sockets.map(async (socket) => (await socket.answer())?.status))
  }
  await waitUntil('200 of both', async () => (await statuses()).join() === '200,200')
  fitness.isRedisFit = false
  await waitUntil('503 of both', async () => (await statuses()).join() === '503,503')
  fitness.isRedisFit = true
  fitness.isLedgerThere = false
  expect((await statuses())[0]).toBe(503)
  fitness.isLedgerThere = true
  await waitUntil('200 of both', async () => (await statuses()).join() === '200,200')
})

it('answers requests in flight in each event loop before it closes', async () => {
  const running = await nodeOf(SHORT)
  const { node, metrics } = running
  const sockets = await connections(running)
  for (const socket of sockets) await socket.send(update('wait'))
  await waitUntil('two under way', async () => (await inFlight(metrics)) === 2)
  const closing = node.close()
  for (const socket of sockets) expect(await socket.answer()).toMatchObject({ status: 503 })
  await closing
  for (const socket of sockets) await socket.closed()
  const late = openSocket(node.port)
  await late.closed()
})

it('divides the requests in flight between event loops', async () => {
  const running = await nodeOf({
    TOLLGATE_REALTIME_IN_FLIGHT_MAX: '2',
    ...SHORT,
  })
  const { metrics } = running
  const sockets = await connections(running, 2)
  const [waiting = [], others = []] = [0, 1].map((odd) => sockets.filter((_, i) => i % 2 === odd))
  for (const socket of waiting) await socket.send(update('wait'))
  await waitUntil('two under way', async () => (await inFlight(metrics)) === 2)
  for (const socket of others) await socket.send(update('more'))
  for (const socket of others) expect((await socket.answer())?.body).toContain('-90')
  for (const socket of waiting) expect((await socket.answer())?.body).toContain('-92')
  for (const socket of others) {
    await socket.send(update('again'))
    expect(await socket.answer()).toMatchObject({ status: 200 })
  }
})

it('reports once a failed event loop, is not ready then, and stops in order', async () => {
  const running = await nodeOf()
  const { node, failures } = running
  const [first, second] = await connections(running)
  for (let time = 0; time < 2; time += 1) {
    await second?.send(update('one', 'X-Api-Key: boom\r\n'))
    expect(await second?.answer()).toMatchObject({ status: 401 })
  }
  await waitUntil('the failure', () => failures.length > 0)
  expect(failures).toEqual(['event loop 1: boom'])
  await first?.send('GET /health/ready HTTP/1.1\r\nHost: t\r\n\r\n')
  expect(await first?.answer()).toMatchObject({ status: 503 })
  await second?.send(update('one'))
  expect(await second?.answer()).toMatchObject({ status: 200 })
  await node.close()
  expect(failures).toHaveLength(1)
})

it('considers an event loop that does not respond as failed', async () => {
  const running = await nodeOf()
  const { failures, metrics } = running
  const [, second] = await connections(running)
  await figure(metrics, 'tollgate_loop_requests_total')
  await second?.send(update('one', 'X-Api-Key: hang\r\n'))
  expect(await second?.answer()).toMatchObject({ status: 401 })
  await Promise.all(Array.from({ length: 19 }, () => metrics.snapshot()))
  expect(failures).toEqual([])
  await metrics.snapshot()
  expect(failures).toEqual(['event loop 1: does not answer'])
})

it('has one event loop without further threads by default', async () => {
  const running = await nodeOf({ TOLLGATE_REALTIME_LISTENERS: '1' })
  const { metrics } = running
  for (let count = 0; count < 8; count += 1) expect((await connection(running)).loop).toBe(0)
  expect(await figure(metrics, 'tollgate_loop_requests_total')).toEqual([{ loop: '0', value: 8 }])
})
