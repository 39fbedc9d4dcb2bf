/** Refusals while the workers are stalled, over the sockets of both protocols. */
import { beforeEach, describe, expect, it } from 'vitest'
import { compilePeers } from '../../src/catalog/settings/peers/peers.ts'
import { loadConfig } from '../../src/config/load.ts'
import { fileTypeDefaultsOf } from '../../src/file-types/defaults.ts'
import { command, flags } from '../../src/realtime/codecs/diameter-wire/protocol.ts'
import { type Realtime, startRealtime } from '../../src/realtime/start.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { bundled } from '../support/bundle.ts'
import { openSocket, post } from '../support/realtime/http/socket.ts'
import { dataSession, GATEWAY, NODE_SETTINGS } from '../support/system/diameter/gateway-requests.ts'
import { connectLink, type Link } from '../support/system/diameter/link.ts'
import { waitUntil } from '../support/wait.ts'

const WORKER = await bundled('test/support/realtime/held-worker.mjs')

const channel = new BroadcastChannel('held-worker')
channel.unref()

const setWorkers = (word: 'hold' | 'go') => {
  if (word === 'go') {
    channel.postMessage(word)
    return Promise.resolve()
  }
  return new Promise<void>((resolve) => {
    channel.onmessage = () => resolve()
    channel.postMessage(word)
  })
}

let room: Realtime
let link: Link
let metrics: ReturnType<typeof createMetrics>

/** Eight requests may always be in flight: two and a half batches of one worker. */
const SETTINGS = {
  TOLLGATE_REALTIME_PORT: '0',
  TOLLGATE_DIAMETER_PORT: '0',
  ...NODE_SETTINGS,
  TOLLGATE_REALTIME_WORKERS: '1',
  TOLLGATE_REALTIME_BATCHES_IN_FLIGHT_MAX: '1',
  TOLLGATE_REALTIME_BATCH_SIZE_MAX: '3',
  TOLLGATE_REALTIME_IN_FLIGHT_MAX: '100',
  TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '30000',
  TOLLGATE_SHUTDOWN_TIMEOUT_MS: '90000',
}

async function start(
  queueMsMax: number,
  newSessionsPercent: number,
  httpServer = 'auto',
): Promise<void> {
  metrics = createMetrics({ node: 'test', role: 'realtime' })
  const config = loadConfig({
    env: {
      ...SETTINGS,
      TOLLGATE_REALTIME_QUEUE_MS_MAX: String(queueMsMax),
      TOLLGATE_REALTIME_NEW_SESSIONS_PERCENT: String(newSessionsPercent),
      TOLLGATE_REALTIME_HTTP_SERVER: httpServer,
    },
  })
  room = await startRealtime({
    config,
    metrics,
    clock: systemClock,
    defaults: fileTypeDefaultsOf(config),
    log: createLogger({ name: 'test', level: 'silent' }),
    follow: async (listener) => {
      listener({ fileTypes: [], peers: compilePeers([]) })
      return { close: async () => undefined }
    },
    workerFile: WORKER,
  })
  link = await connectLink({ port: room.diameterPort, identity: GATEWAY })
  await setWorkers('hold')
}

const open: ReturnType<typeof openSocket>[] = []
beforeEach(() => async () => {
  await setWorkers('go')
  for (const socket of open.splice(0)) socket.destroy()
  await link.close()
  await room.close()
})

async function figure(name: string, cause?: string): Promise<number> {
  const { metrics: all } = await metrics.snapshot()
  const values = all.find((metric) => metric.name === name)?.values ?? []
  return values.find(({ labels }) => cause === undefined || labels['cause'] === cause)?.value ?? -1
}

const refused = (cause: string) => figure('tollgate_overload_refused_total', cause)
const inFlight = () => figure('tollgate_in_flight')
const waiting = () => figure('tollgate_reports_waiting')

type Kind = 'start' | 'update' | 'release' | 'event'

/** Over HTTP; the answer comes when the worker continues, or immediately. */
async function charge(kind: Kind, session: string, fileType = 'json') {
  const socket = openSocket(room.port)
  open.push(socket)
  const fields = {
    record_type: `${kind}_request`,
    session_id: session,
    request_num: 3,
    sid: 1,
    usaget: 'data',
    usagev: 5,
    event: kind === 'event',
  }
  const pairs = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
  const isJson = fileType === 'json'
  const sent = post(isJson ? JSON.stringify(fields) : pairs.join('&'))
  await socket.send(sent.replace('/realtime', `/realtime/${fileType}`))
  const answer = await socket.answer()
  socket.destroy()
  const { status = 0, headers, body = '{}' } = answer ?? {}
  return { ...(isJson ? JSON.parse(body) : {}), status, retry: headers?.get('retry-after') }
}

const TOO_MANY = { status: 503, retry: '1', returnCode: -90, requestNum: 3 }

/** Waits until this number of requests is in flight. */
async function underWay(asked: Promise<unknown>, count: number): Promise<void> {
  asked.catch(() => undefined)
  await waitUntil(`${count} under way`, async () => (await inFlight()) === count)
}

describe('while open sessions are served', () => {
  beforeEach(() => start(60_000, 1))

  it('starts and events are refused, in the message format of the request', async () => {
    const update = charge('update', 'a')
    await underWay(update, 1)
    for (const kind of ['start', 'event'] as const) {
      expect(await charge(kind, 'b')).toMatchObject({ ...TOO_MANY, sessionId: 'b' })
    }
    const initial = await link.ask(command.creditControl, dataSession('gw;1', 0).initial(5))
    expect(initial.named).toMatchObject({
      'Result-Code': 3004,
      'Session-Id': 'gw;1',
      'CC-Request-Number': 0,
    })
    expect(initial.flags & (flags.error | flags.request)).toBe(flags.error)
    expect([await refused('new'), await refused('queue')]).toEqual([3, 0])
    const next = link.ask(command.creditControl, dataSession('gw;2', 0).update(1, { used: 5 }))
    await underWay(next, 2)
    await setWorkers('go')
    expect((await update).status).toBe(200)
    expect((await next).named['Result-Code']).toBe(2001)
    expect((await charge('start', 'c')).status).toBe(200)
  })
})

describe('while nothing is answered', () => {
  beforeEach(() => start(1, 80))

  it('usage reports and terminations wait, and are charged when workers continue', async () => {
    const asked: Promise<{ status: number }>[] = []
    // The limit falls to the requests in flight, but not below eight.
    await waitUntil('a refusal', async () => {
      asked.push(charge('update', `s${asked.length}`))
      return (await refused('queue')) > 0
    })
    const taken = await inFlight()
    expect(taken).toBeGreaterThanOrEqual(8)
    expect(taken).toBeLessThan(100)
    for (const kind of ['start', 'event', 'update'] as const) {
      expect(await charge(kind, 'b')).toMatchObject(TOO_MANY)
    }
    const { update, termination } = dataSession('gw;1', 0)
    const reports = [
      link.ask(command.creditControl, update(1, { used: 5 })),
      link.ask(command.creditControl, termination(2, 5)),
      link.ask(command.creditControl, dataSession('gw;2', 0).termination(1, 5)),
    ]
    // A new request must not overtake a waiting report of its session, and is refused.
    const asking = await link.ask(command.creditControl, update(3, { asked: 5 }))
    expect(asking.named['Result-Code']).toBe(3004)
    const releases = [...Array(8).keys()].flatMap((each) => [
      charge('release', `json${each}`),
      charge('release', `kv${each}`, 'keyvalue'),
    ])
    const all = releases.length + reports.length
    await waitUntil(
      'all are taken',
      async () => (await waiting()) + (await inFlight()) === taken + all,
    )
    expect(await waiting()).toBeGreaterThan(0)
    await setWorkers('go')
    expect((await Promise.all(releases)).map(({ status }) => status)).toEqual(
      releases.map(() => 200),
    )
    for (const { named } of await Promise.all(reports)) expect(named['Result-Code']).toBe(2001)
    expect(await waiting()).toBe(0)
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(taken)
    for (const kind of ['start', 'event', 'update', 'release'] as const) {
      expect(await charge(kind, 'd')).toMatchObject({ status: 200, returnCode: 1 })
    }
  })
})

describe('a client that disconnects while its request waits', () => {
  it.each(['native', 'javascript'])('is not charged, and the next one is: %s', async (server) => {
    await start(60_000, 1, server)
    const first = charge('update', 'a')
    await underWay(first, 1)
    const disconnecting = charge('update', 'b')
    await underWay(disconnecting, 2)
    const behind = charge('update', 'c')
    await underWay(behind, 3)
    open[1]?.reset()
    expect(await disconnecting).toMatchObject({ status: 0 })
    // By the time these are refused, the node has seen the disconnection.
    for (let asked = 0; asked < 3; asked += 1) expect((await charge('start', 'd')).status).toBe(503)
    await setWorkers('go')
    expect((await first).status).toBe(200)
    expect((await behind).status).toBe(200)
    expect(await figure('tollgate_requests_dropped_total', 'gone')).toBe(1)
    expect(await inFlight()).toBe(0)
  })
})
