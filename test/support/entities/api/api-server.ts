/** The entity API over HTTP: admins with their own stores, and a clock that tests set. */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Admin } from '../../../../src/admin/start.ts'
import type { Collection } from '../../../../src/catalog/collections.ts'
import { ENTITIES } from '../../../../src/catalog/entities/entity-table.ts'
import {
  type FieldCategory,
  writeStoredConfig,
} from '../../../../src/catalog/settings/stored-config.ts'
import { requireDocumented } from '../../admin/openapi/answer-check.ts'
import { startTestAdmin } from '../../admin/test-admin.ts'
import { startTestStores, type TestStores } from '../../recorder/accounts.ts'

export type Fields = Record<string, unknown>

/** Encoding of the parameters. */
export type Way = 'form' | 'json' | 'multipart' | 'query'

export interface Answer {
  http: number
  contentType: string
  text: string
  body: Body
}

/** Any of the envelopes; a test checks the members that it reads. */
export interface Body {
  status: number
  details: unknown
  entity: Fields & { _id: { $id: string } }
  next_page: boolean
  code: number
  message: string
  display: { code: number; desc: string } | string
  data: { message: string }
  totalUpdated: number
  totalCreated: number
  warnings: string[]
}

/** Noon in the middle of 2026. */
export const NOW = '2026-06-15T12:00:00Z'

export interface ApiServer {
  stores(): TestStores
  /** Base addresses of the admins. */
  urls: string[]
  now(): number
  /** Sets the clock. */
  setNow(text: string): void
  send(path: string, init: RequestInit): Promise<Answer>
  call(collection: string, action: string, params?: Fields, way?: Way): Promise<Answer>
  /** A call that must succeed. */
  ok(collection: string, action: string, params?: Fields, way?: Way): Promise<Body>
  /** A call that must be refused, and must not write. */
  refused(collection: string, action: string, params?: Fields): Promise<Body>
  /** The rows of a read. */
  rows(collection: string, params?: Fields, action?: string): Promise<Fields[]>
  /** Stores configured fields, and advances the clock until the admins read them. */
  configure(category: FieldCategory, value: unknown): Promise<void>
  /** Digest of the stored documents, without sequence counters. */
  digest(): Promise<string>
}

export interface ApiServerOptions {
  admins?: number
  env?: Record<string, string>
}

/** Starts them before the tests of a file, and stops them after. */
export function useApiServer({ admins = 1, env = {} }: ApiServerOptions = {}): ApiServer {
  let stores: TestStores
  let nowMs = Date.parse(NOW)
  const running: Admin[] = []
  const urls: string[] = []
  const clock = { nowMs: () => nowMs }
  beforeAll(async () => {
    stores = await startTestStores()
    for (let index = 0; index < admins; index += 1) {
      const admin = await startTestAdmin(stores, env, { clock })
      running.push(admin)
      urls.push(`http://127.0.0.1:${admin.port}`)
    }
  })
  afterAll(async () => {
    for (const admin of running) await admin.close(0)
    await stores.close()
  })
  // The store only changes by requests, unless a test has accessed the stores.
  let known: string | null = null
  const send = (path: string, init: RequestInit) => {
    known = null
    return sendTo(`${urls[0]}${path}`, init)
  }
  const call: ApiServer['call'] = (collection, action, params = {}, way = 'form') => {
    const [query, init] = requestOf(params, way)
    const answer = send(`/billapi/${collection}/${action}${query}`, init)
    return checked(answer, { path: `/billapi/${collection}/${action}`, init, params })
  }
  const ok: ApiServer['ok'] = async (...request) => {
    const answer = await call(...request)
    expect(answer.text).toMatch(/^\{"status":1[,}]/)
    expect([answer.http, answer.contentType]).toEqual([200, JSON_TYPE])
    return answer.body
  }
  const digest = () => digestOf(stores)
  return {
    urls,
    send,
    call,
    ok,
    digest,
    stores() {
      known = null
      return stores
    },
    now: () => nowMs,
    setNow(text) {
      nowMs = Date.parse(text)
    },
    async configure(category, value) {
      known = null
      const change = { nowMs, by: 'test' }
      await writeStoredConfig(stores.catalog, category, () => value, change)
      nowMs += 60_000
    },
    async refused(...request) {
      const before = known ?? (await digest())
      const answer = await call(...request)
      expect(answer.text).toMatch(/^\{"status":0[,}]/)
      expect([answer.http, answer.contentType]).toEqual([200, JSON_TYPE])
      known = await digest()
      expect(known).toBe(before)
      return answer.body
    },
    async rows(collection, params = {}, action = 'get') {
      return (await ok(collection, action, params)).details as Fields[]
    },
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

export async function sendTo(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, init)
  const text = await response.text()
  const contentType = response.headers.get('content-type') ?? ''
  return { http: response.status, contentType, text, body: bodyOf(text) }
}

function bodyOf(text: string): Body {
  try {
    return JSON.parse(text) as Body
  } catch {
    throw new Error(`no JSON: ${text.slice(0, 200)}`)
  }
}

/** The answer, which must conform to the OpenAPI document. */
async function checked(
  answer: Promise<Answer>,
  { path, init, params }: { path: string; init: RequestInit; params: Fields },
): Promise<Answer> {
  const { http: status, contentType, text, body } = await answer
  const method = init.method === 'GET' ? 'GET' : 'POST'
  const { project } = params
  const names = typeof project === 'string' ? [project] : Object.keys(project ?? {})
  // A projected part of a compound value may lack required members.
  if (names.some((name) => name.includes('.'))) return answer
  const isJson = contentType.startsWith('application/json')
  requireDocumented({ method, sent: path, status, contentType, body: isJson ? body : text })
  return answer
}

/** Texts are sent unchanged, other values as a text of JSON; a JSON body is sent unchanged. */
export function requestOf(params: Fields, way: Way): [query: string, init: RequestInit] {
  const sent = Object.entries(params).filter(([, value]) => value !== undefined)
  const texts = sent.map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const form = new URLSearchParams(texts)
  if (way === 'query') return [texts.length === 0 ? '' : `?${form}`, { method: 'GET' }]
  if (way === 'form') return ['', { method: 'POST', body: form }]
  if (way === 'json') {
    const headers = { 'Content-Type': 'application/json' }
    return ['', { method: 'POST', headers, body: JSON.stringify(params) }]
  }
  const parts = new FormData()
  for (const [name, value] of texts) parts.append(name, value)
  return ['', { method: 'POST', body: parts }]
}

const DIGESTED = [
  ...Object.keys(ENTITIES),
  'lines',
  'balances',
  'bills',
  'billrun',
  'cards',
  'config',
  'audit',
]

async function digestOf({ catalog }: TestStores): Promise<string> {
  const collections = catalog as unknown as Record<string, Collection>
  const digests = await Promise.all(
    DIGESTED.map(async (name) => {
      const found = await collections[name]?.find().sort({ _id: 1 }).toArray()
      const hash = createHash('sha256').update(JSON.stringify(found)).digest('hex').slice(0, 16)
      return `${name} ${found?.length} ${hash}`
    }),
  )
  return digests.join('\n')
}

export function idOf({ entity }: Pick<Body, 'entity'>): string {
  return entity._id.$id
}

/** Display code of an error of shape A. */
export function displayCode({ display }: Body): unknown {
  return typeof display === 'object' ? display.code : display
}

/** Refused as an error of shape A with a display code and a text that contains these parts. */
export async function isRefusedBy(
  world: ApiServer,
  [collection, action]: readonly [string, string],
  params: Fields,
  [code, ...parts]: readonly [number, ...unknown[]],
): Promise<Body> {
  const body = await world.refused(collection, action, params)
  expect(Object.keys(body)).toEqual(['status', 'code', 'message', 'display', 'errors'])
  expect([body.code, displayCode(body)]).toEqual([17_577, code])
  for (const part of parts) expect(body.message).toContain(String(part))
  return body
}

/** Begins and ends of the revisions of an entity, by begin; an open end is `-`. */
export async function periods(world: ApiServer, store: string, filter: Fields): Promise<string[]> {
  const found = await stored(world, store, filter)
  return found.map(({ from, to }) => `${dayOf(from)} ${dayOf(to)}`)
}

/** The day, or the full time unless that is midnight. */
export function dayOf(value: unknown): string {
  if (!(value instanceof Date)) return String(value)
  if (value.getTime() > Date.UTC(2100, 0, 1)) return '-'
  return value.toISOString().replace(/T00:00:00\.000Z$/, '')
}

/** Documents of a collection of the store. */
export async function stored(world: ApiServer, store: string, filter: Fields): Promise<Fields[]> {
  const collections = world.stores().catalog as unknown as Record<string, Collection>
  const found = await collections[store]
    ?.find({ ...filter, deleted: { $ne: true } })
    .sort({ from: 1 })
    .toArray()
  return (found ?? []) as Fields[]
}
