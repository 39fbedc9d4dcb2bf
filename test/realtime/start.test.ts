import { afterEach, expect, it } from 'vitest'
import { withClient } from '../../src/catalog/clients/client-changes.ts'
import { compileClients } from '../../src/catalog/clients/clients.ts'
import { createSealer } from '../../src/catalog/sealing/sealing.ts'
import { compilePeers } from '../../src/catalog/settings/peers/peers.ts'
import { signatureOf } from '../../src/catalog/signature/signed-text.ts'
import { loadConfig } from '../../src/config/load.ts'
import { fileTypeDefaultsOf } from '../../src/file-types/defaults.ts'
import { type Realtime, startRealtime } from '../../src/realtime/start.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { bundled } from '../support/bundle.ts'
import { postJson } from '../support/post-json.ts'
import { PATIENT } from '../support/product/patience.ts'
import { openSocket, post } from '../support/realtime/http/socket.ts'
import { startTestRedis } from '../support/redis.ts'

const WORKER = await bundled('test/support/realtime/pool-worker.mjs')

const open: Realtime[] = []
afterEach(async () => {
  for (const realtime of open.splice(0)) await realtime.close()
})

const KEY = '00112233445566778899aabbccddeeff'
const sealer = createSealer('')
const change = { nowMs: 0, by: 'test', sealer, timeZone: 'UTC' }
const stored = withClient([], { name: 'pgw', key: KEY, roles: ['charge'] }, change).list
const clients = compileClients(stored, sealer)

const silent = createLogger({ name: 'test', level: 'silent' })

async function realtimeOf(
  env: Record<string, string> = {},
  log = silent,
  peers = compilePeers([]),
) {
  const metrics = createMetrics({ node: 'test', role: 'realtime' })
  const config = loadConfig({
    env: {
      TOLLGATE_REALTIME_PORT: '0',
      TOLLGATE_DIAMETER_PORT: '0',
      ...PATIENT,
      ...env,
    },
  })
  const defaults = fileTypeDefaultsOf(config)
  const realtime = await startRealtime({
    config,
    defaults,
    log,
    metrics,
    clock: systemClock,
    follow: async (listener, onClients) => {
      listener({ fileTypes: [], peers })
      onClients({ clients, signature: { enabled: true, windowMs: 300_000 } })
      return { close: async () => undefined }
    },
    workerFile: WORKER,
  })
  open.push(realtime)
  const charge = async (sessionId: string, headers: Record<string, string> = {}, query = '') => {
    const url = `http://127.0.0.1:${realtime.port}/realtime${query}`
    const body = { record_type: 'update_request', session_id: sessionId }
    const response = await postJson(url, body, headers)
    return { status: response.status, answer: await response.json() }
  }
  const figure = async (name: string) => {
    const { metrics: all } = await metrics.snapshot()
    const values = all.find((metric) => metric.name === name)?.values ?? []
    return values.filter(({ metricName = name }) => !metricName.endsWith('bucket'))
  }
  return { realtime, charge, figure }
}

it('passes a request from the socket to a worker and back, and counts it', async () => {
  const { charge, figure } = await realtimeOf()
  expect(await charge('one')).toMatchObject({
    status: 200,
    answer: { status: 1, returnCode: 1, sessionId: 'one', transactionId: 'one' },
  })
  expect(await charge('')).toMatchObject({ status: 400, answer: { returnCode: -20 } })
  const requests = await figure('tollgate_requests_total')
  expect(requests.map(({ labels }) => `${labels['outcome']} ${labels['code']}`)).toEqual([
    'granted 1',
    'denied -20',
  ])
  expect(await figure('tollgate_batch_size')).toMatchObject([{ value: 1 }, { value: 1 }])
  expect(await figure('tollgate_commit_conflicts_total')).toMatchObject([{ value: 1 }])
})

it('listens on the network if the operator has opened it, and logs that', async () => {
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const log = createLogger({ name: 'test', level: 'warn', destination })
  const open = { TOLLGATE_REALTIME_HOST: '0.0.0.0', TOLLGATE_REALTIME_OPEN_TO: 'network' }
  const { realtime, charge } = await realtimeOf(open, log)
  expect(await charge('one')).toMatchObject({ status: 200 })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 'warn',
      host: '0.0.0.0',
      port: realtime.port,
      msg: expect.stringContaining('open to the'),
    },
  ])
  await realtimeOf({ TOLLGATE_REALTIME_OPEN_TO: 'network' }, log)
  expect(lines).toHaveLength(1)
})

it('requires authentication if it listens on the network without being opened', async () => {
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const log = createLogger({ name: 'test', level: 'warn', destination })
  const peer = {
    name: 'PGW',
    requestsPerSecond: 0,
    burst: 0,
    fileTypes: null,
    diameter: null,
    certificateNames: [],
    allowsAddress: () => true,
  }
  const peers = {
    byKey: (key: string) => (key === 'key-1' ? peer : null),
    byOriginHost: () => null,
    byCertificate: () => null,
    all: [peer],
    skipped: [],
  }
  for (const openTo of ['loopback', 'nobody']) {
    const host = openTo === 'nobody' ? '127.0.0.1' : '0.0.0.0'
    const env = { TOLLGATE_REALTIME_HOST: host, TOLLGATE_REALTIME_OPEN_TO: openTo }
    const { charge, figure } = await realtimeOf(env, log, peers)
    expect(await charge('one')).toMatchObject({ status: 401, answer: { returnCode: -20 } })
    expect(await charge('one', { 'X-Api-Key': 'key-1' })).toMatchObject({ status: 200 })
    expect(await figure('tollgate_peer_requests_total')).toMatchObject([
      { labels: { peer: 'PGW', file_type: 'json' }, value: 1 },
    ])
    expect(await figure('tollgate_requests_refused_total')).toMatchObject([
      { labels: { peer: '', cause: 'unauthenticated' }, value: 1 },
    ])
  }
  expect(lines).toEqual([])
})

it('accepts signed requests of clients, with the Redis of the configuration', async () => {
  const redis = await startTestRedis()
  try {
    const { charge, figure } = await realtimeOf({ TOLLGATE_REDIS_URL: redis.url })
    const seconds = Math.floor(systemClock.nowMs() / 1000)
    const body = '"record_type":"update_request","session_id":"one"'
    const query = `?_t_=${seconds}&_sig_=${signatureOf(`{"_t_":"${seconds}",${body}}`, KEY)}`
    expect(await charge('one', {}, query)).toMatchObject({ status: 200 })
    expect(await charge('one', {}, query)).toMatchObject({ status: 401 })
    expect(await figure('tollgate_peer_requests_total')).toMatchObject([
      { labels: { peer: 'client:pgw', file_type: 'json' }, value: 1 },
    ])
    const token = `Bearer ${'0'.repeat(40)}`
    expect(await charge('one', { Authorization: token })).toMatchObject({ status: 401 })
  } finally {
    await redis.close()
  }
})

it('has the configured default file type', async () => {
  const { charge } = await realtimeOf({ TOLLGATE_REALTIME_DEFAULT_FILE_TYPE: 'gy' })
  expect(await charge('one')).toMatchObject({
    status: 404,
    answer: { desc: 'Malformed request: file_type gy is unknown' },
  })
})

it('refuses requests above the limit immediately, and continues when there is room', async () => {
  const { charge, figure } = await realtimeOf({
    TOLLGATE_REALTIME_IN_FLIGHT_MAX: '1',
    TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '100',
    TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '500',
  })
  const waiting = charge('wait')
  while ((await figure('tollgate_in_flight'))[0]?.value !== 1) await charge('')
  expect(await charge('two')).toMatchObject({ status: 503, answer: { returnCode: -90 } })
  expect(await waiting).toMatchObject({ status: 503, answer: { returnCode: -92 } })
  expect(await charge('three')).toMatchObject({ status: 200 })
})

it('answers requests in flight before it closes', async () => {
  const { realtime, charge, figure } = await realtimeOf({
    TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '100',
    TOLLGATE_REALTIME_REQUEST_TIMEOUT_MS: '300',
  })
  const kept = openSocket(realtime.port)
  await kept.connected
  const waiting = charge('wait')
  while ((await figure('tollgate_in_flight'))[0]?.value !== 1) await charge('')
  const closing = realtime.close()
  await kept.send(post('{"record_type":"update_request","session_id":"late"}'))
  expect(await kept.answer()).toMatchObject({ status: 503 })
  expect(await waiting).toMatchObject({ status: 503, answer: { returnCode: -92 } })
  await closing
  await kept.closed()
})

it('names the reason if it cannot start, and leaves no thread running', async () => {
  const { realtime } = await realtimeOf()
  const started = realtimeOf({ TOLLGATE_REALTIME_PORT: String(realtime.port) })
  await expect(started).rejects.toThrow('the port is in use')
})
