/** The OpenAPI document of the charging port describes what a running node accepts and answers. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { chargingDocument } from '../../src/admin/openapi/charging.ts'
import { CHARGE_REQUESTS } from '../../src/admin/openapi/charging-examples.ts'
import { refName, type Schema } from '../../src/catalog/entities/json-schema.ts'
import type { Peer } from '../../src/catalog/settings/peers/peers.ts'
import { loadConfig } from '../../src/config/load.ts'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { builtInFileTypes } from '../../src/file-types/built-in.ts'
import { fileTypeDefaultsOf } from '../../src/file-types/defaults.ts'
import { FORM_TYPE, REQUEST_TYPES } from '../../src/file-types/media-types.ts'
import { type Realtime, startRealtime } from '../../src/realtime/start.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { createAnswerCheck } from '../support/admin/openapi/answer-check.ts'
import { useOpened } from '../support/opened.ts'
import { PATIENT } from '../support/product/patience.ts'
import { DECODE_CONTEXT } from '../support/realtime/codecs/settings.ts'
import { examplesOf, wireExamples } from '../support/realtime/wire-examples.ts'
import { silent } from '../support/recorder/accounts.ts'

const config = loadConfig({
  env: {
    ...PATIENT,
    TOLLGATE_REALTIME_PORT: '0',
    TOLLGATE_DIAMETER_ENABLED: 'false',
    TOLLGATE_REALTIME_OPEN_TO: 'nobody',
    TOLLGATE_REALTIME_WORKERS: '1',
    TOLLGATE_REALTIME_WORKER_KIND: 'inline',
  },
})
const DOCUMENT = chargingDocument(config, '6.0')
const check = createAnswerCheck(DOCUMENT)
const { schemas } = DOCUMENT.components

interface Described {
  readonly content: Readonly<Record<string, Media>>
}
interface Media {
  readonly schema: Schema
  readonly examples?: Examples
  /** The fields, if it is a form. */
  readonly example?: Readonly<Record<string, string>>
}
type Examples = Readonly<Record<string, { value: unknown }>>

const operations = Object.values(DOCUMENT.paths).flatMap(({ get, post }) => [get, post])
const responses: Readonly<Record<string, Schema>> =
  DOCUMENT.paths['/realtime']?.post?.responses ?? {}
const exampleOf = (status: number, name: string) =>
  (responses[status] as unknown as Described).content['application/json']?.examples?.[name]?.value

/** The outcomes of docs/WIRE.md, by the session and number of the request. */
const outcomes = new Map(
  examplesOf('json').flatMap(([, { request = '', outcome }]) => {
    if (outcome === undefined) return []
    const { session_id: session, request_num: number = -1 } = JSON.parse(request)
    return [[`${session} ${number}`, outcome] as const]
  }),
)
const outcomeOf = ({ sessionId, requestNumber }: ChargeRequest) =>
  outcomes.get(`${sessionId} ${requestNumber}`) ?? plainOutcome('unknownSubscriber')

const peerOf = (name: string, more: Partial<Peer> = {}): Peer => ({
  name,
  allowsAddress: () => true,
  requestsPerSecond: 0,
  burst: 0,
  fileTypes: null,
  certificateNames: [],
  diameter: null,
  ...more,
})
const PEERS = new Map([
  ['free', peerOf('free')],
  ['slow', peerOf('slow', { requestsPerSecond: 1, burst: 1 })],
  ['plain', peerOf('plain', { fileTypes: new Set(['json']) })],
])

const realtime = useOpened<Realtime>(() =>
  startRealtime({
    config,
    log: silent,
    metrics: createMetrics({ node: 'test', role: 'realtime' }),
    clock: { nowMs: () => DECODE_CONTEXT.nowMs },
    defaults: fileTypeDefaultsOf(config),
    buildWorker: async () => ({
      process: async ({ requests }) => ({
        outcomes: requests.map(outcomeOf),
        stats: { requests: requests.length, conflicts: 0 },
      }),
      close: async () => undefined,
    }),
    follow: async (onStored) => {
      const byKey = (key: string) => PEERS.get(key) ?? null
      const others = { byOriginHost: () => null, byCertificate: () => null }
      onStored({ fileTypes: [], peers: { byKey, ...others, all: [], skipped: [] } })
      return { close: async () => undefined }
    },
  }),
)

interface Sent {
  readonly path?: string
  readonly name?: string
  readonly key?: string
  readonly type?: string
  readonly method?: 'GET' | 'POST'
  readonly body?: string | ReadableStream
}

/** Sends a request; its answer must be as documented. */
async function send(sent: Sent) {
  const { path = '/realtime', name = '', key = 'free', method = 'POST', body = '' } = sent
  const { type = 'application/json' } = sent
  const url = `http://127.0.0.1:${realtime().port}${path.replace('{file_type}', name)}`
  const headers = { 'content-type': type, ...(key !== '' && { 'x-api-key': key }) }
  const more = method === 'POST' && { body, duplex: 'half' }
  const response = await fetch(url, { method, headers, ...more } as RequestInit)
  const contentType = response.headers.get('content-type') ?? ''
  const text = await response.text()
  const isJson = contentType.startsWith('application/json')
  const { status } = response
  const answer: unknown = isJson ? JSON.parse(text) : text
  expect(check.problems({ method, path, status, contentType, body: answer })).toEqual([])
  const operation = DOCUMENT.paths[path]?.[method === 'GET' ? 'get' : 'post']
  const documented = operation?.responses[status]
  for (const header of Object.keys((documented?.['headers'] ?? {}) as object)) {
    expect(response.headers.get(header)).not.toBeNull()
  }
  const { content } = (documented ?? { content: {} }) as unknown as Described
  return { status, answer, media: content[contentType.split(';')[0] ?? ''] }
}

const text = (example: object | undefined) => JSON.stringify(example)

describe('the document of charging', () => {
  it('has the examples of docs/WIRE.md', () => {
    const wire = (name: string) => wireExamples().get(name)
    for (const [name, request] of Object.entries(CHARGE_REQUESTS)) {
      expect([name, request]).toEqual([name, JSON.parse(wire(name)?.request ?? '')])
    }
    for (const name of ['start', 'services', 'denied']) {
      expect(exampleOf(200, name)).toEqual(JSON.parse(wire(name)?.response ?? ''))
    }
    expect(exampleOf(503, 'failed')).toEqual(JSON.parse(wire('failed')?.response ?? ''))
  })

  it('describes every field that the plain format reads, and no other', () => {
    const read = ['decode', 'services'].flatMap((name) => {
      const url = new URL(`../../src/realtime/codecs/json/${name}.ts`, import.meta.url)
      return [...readFileSync(url, 'utf8').matchAll(/object\['(\w+)'\]/g)].map(([, each]) => each)
    })
    const described = Object.keys((schemas['chargeRequest']?.['properties'] ?? {}) as object)
    const others = ['msisdn', 'imsi']
    expect(described.sort()).toEqual([...new Set([...read, ...others])].sort())
  })

  it('describes the requests and answers of docs/WIRE.md', () => {
    const ref = (name: string) => schemas[name] ?? {}
    for (const [name, { request = '', outcome, response = '' }] of examplesOf('json')) {
      if (outcome === undefined) continue
      const of = name === 'failed' ? 'chargeFailure' : 'chargeAnswer'
      const found = [
        ...check.mismatches(ref('chargeRequest'), JSON.parse(request)),
        ...check.mismatches(ref(of), JSON.parse(response)),
      ]
      expect([name, found]).toEqual([name, []])
    }
  })

  it('does not describe malformed requests', () => {
    const { start } = CHARGE_REQUESTS
    const wrong = [
      { ...start, record_type: 'stop_request' },
      { ...start, record_type: 5 },
      { ...start, session_id: '' },
      { ...start, session_id: 'x'.repeat(257) },
      { ...start, usagev: 1.5 },
      { ...start, usaget: 'a-b' },
      { ...start, rating_group: 2 ** 32 },
      { ...start, balances: 1 },
      { record_type: 'release_request' },
    ]
    const found = wrong.map((each) => check.mismatches(schemas['chargeRequest'] ?? {}, each))
    expect(found.filter((problems) => problems.length === 0)).toEqual([])
  })

  it('has no dangling reference and no unused component', () => {
    const names = new Set<string>()
    JSON.stringify(DOCUMENT, (_key, value) => {
      const name = typeof value === 'object' && value !== null ? refName(value) : null
      if (name !== null) names.add(name)
      return value
    })
    expect([...names].sort()).toEqual(Object.keys(schemas).sort())
  })
})

describe('a running node', () => {
  it.each(Object.keys(CHARGE_REQUESTS))('answers the example %s as documented', async (name) => {
    const { status, answer } = await send({ body: text(CHARGE_REQUESTS[name])! })
    expect(status).toBe(200)
    expect(answer).toMatchObject(exampleOf(200, name) ?? { returnCode: 1 })
  })

  const start = text(CHARGE_REQUESTS['start'])!
  const chunks = () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(start))
        controller.close()
      },
    })
  const plainOnly = { path: '/realtime/{file_type}', key: 'plain', name: 'xml' } as const
  const unknown = { path: '/realtime/{file_type}', name: 'nobody' } as const
  const failing = { record_type: 'update_request', session_id: 's-1', request_num: 3 }
  const REFUSED: readonly (readonly [number, () => Sent])[] = [
    [400, () => ({ body: '{"record_type":"release_request"}' })],
    [401, () => ({ key: '', body: start })],
    [403, () => ({ ...plainOnly, type: 'text/xml', body: '<request/>' })],
    [404, () => ({ ...unknown, body: start })],
    [405, () => ({ path: '/realtime/{file_type}', name: 'json', method: 'GET' })],
    [411, () => ({ body: chunks() })],
    [413, () => ({ body: 'x'.repeat(config.realtime.bodyBytesMax + 1) })],
    [415, () => ({ type: 'text/plain', body: start })],
    [429, () => ({ key: 'slow', body: start })],
    [503, () => ({ body: text({ ...failing, usaget: 'data', used_usagev: 512 })! })],
  ]

  it('has all documented statuses, and these only', () => {
    const documented = new Set(operations.flatMap((each) => Object.keys(each?.responses ?? {})))
    expect([...documented].sort()).toEqual(['200', ...REFUSED.map(([status]) => String(status))])
  })

  it.each(REFUSED)('answers %s as documented', async (expected, request) => {
    if (expected === 429) await send(request())
    const { status, answer } = await send(request())
    expect(status).toBe(expected)
    expect(answer).toEqual(exampleOf(status, status === 503 ? 'failed' : 'refused'))
  })

  it.each([
    ['json', 'application/json', start],
    ['json', 'application/x-www-form-urlencoded', `request=${encodeURIComponent(start)}`],
    ['xml', 'application/xml', wireExamples().get('xml-start')?.request],
    ['xml', 'text/xml', wireExamples().get('xml-doctype')?.request],
    ['keyvalue', 'text/plain', wireExamples().get('kv-start')?.request],
    ['keyvalue', 'text/plain', wireExamples().get('kv-gap')?.request],
    ['diameter', 'application/json', wireExamples().get('diameter-start')?.request],
    ['diameter', 'application/json', wireExamples().get('diameter-missing')?.request],
  ])('accepts and answers messages of %s as %s', async (name, type, body = '') => {
    const { status } = await send({ path: '/realtime/{file_type}', name, type, body })
    expect([200, 400]).toContain(status)
    const media = DOCUMENT.paths['/realtime/{file_type}']?.post?.requestBody?.['content'] ?? {}
    expect(Object.keys(media)).toContain(type)
  })

  const types = [...new Set([...Object.values(REQUEST_TYPES).flat(), FORM_TYPE])]

  it.each([...builtInFileTypes().keys()].flatMap((name) => types.map((type) => [name, type])))(
    'takes the example of %s as %s only if that is documented',
    async (name = '', type = '') => {
      const path = `/realtime/${name}`
      const body = DOCUMENT.paths[path]?.post?.requestBody ?? { content: {} }
      const { content } = body as unknown as Described
      const { example, examples } = content[type] ?? {}
      const message = examples?.['start']?.value ?? ''
      const plain = typeof message === 'string' ? message : JSON.stringify(message)
      const sent = example === undefined ? plain : String(new URLSearchParams(example))
      const { status, answer, media } = await send({ path, type, body: sent })
      expect(status).toBe(content[type] === undefined ? 415 : 200)
      if (status === 200) expect(answer).toEqual(media?.examples?.['start']?.value)
    },
  )
})
