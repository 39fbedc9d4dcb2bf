/** The routes of SAML over HTTP, with separate stores and a clock that tests set. */
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect } from 'vitest'
import {
  addSamlRoutes,
  type SamlProtocol,
} from '../../../../src/admin/auth/protocols/saml-routes.ts'
import { createServer } from '../../../../src/admin/server.ts'
import { createAudit } from '../../../../src/catalog/audit/audit.ts'
import { type Catalog, openCatalog } from '../../../../src/catalog/connection.ts'
import type { AuditDocument } from '../../../../src/catalog/records/audit-document.ts'
import { checkAuthSettings } from '../../../../src/catalog/settings/access/auth-settings.ts'
import { createCurrentSettings } from '../../../../src/catalog/settings/current-settings.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { SessionUser } from '../../../../src/identity/sessions.ts'
import type { Clock } from '../../../../src/runtime/clock.ts'
import { createLogger, type Logger } from '../../../../src/runtime/log.ts'
import { openExpiringKeys } from '../../../../src/store/expiring.ts'
import { openRedis, waitForRedis } from '../../../../src/store/redis.ts'
import { startTestMongo } from '../../mongo.ts'
import { startTestRedis } from '../../redis.ts'
import {
  type AssertionContent,
  answer,
  CALLBACK,
  IDP_ID,
  type KeyPair,
  newKeyPair,
  OUR_ID,
  requestIn,
} from './identity-provider.ts'

export const NOW_MS = Date.parse('2026-06-15T12:00:00Z')
const COOKIE = /^__Host-tollgate_saml=([\w-]{43}); (.*)$/

export interface Begun {
  /** Id of the request to the provider. */
  id: string
  /** The cookie that binds the login to this browser. */
  cookie: string
}

export interface SamlServer {
  provider(): KeyPair
  /** A signer that is not configured. */
  stranger(): KeyPair
  nowMs: number
  url(): string
  /** Users of the opened sessions. */
  opened: SessionUser[]
  /** The log since the server was started. */
  logged(): string
  begin: SamlProtocol['begin']
  configure(...protocols: Record<string, unknown>[]): Promise<void>
  settings(more?: Record<string, unknown>): Record<string, unknown>
  get(path: string, cookie?: string): Promise<Response>
  post(form: Record<string, string> | URLSearchParams, path?: string): Promise<Response>
  /** Begins a login in a new browser. */
  login(query?: string, cookie?: string): Promise<Begun>
  /** Content of an assertion that answers this login. */
  assertionFor(begun: Pick<Begun, 'id'> | null, more?: Partial<AssertionContent>): AssertionContent
  /** Posts a response, which must be refused for this reason, without a session. */
  refused(xml: string, reason: RegExp): Promise<void>
  /** Posts a response, and follows the redirect with the cookie. Returns the last answer. */
  accepted(xml: string, begun: Begun): Promise<Response>
  audited(): Promise<AuditDocument[]>
}

/** Resources of one test file. */
interface Running {
  provider: KeyPair
  stranger: KeyPair
  catalog: Catalog
  url: string
  begin: SamlProtocol['begin']
  close(): Promise<void>
}

const protocolSettings = (provider: KeyPair) => ({
  type: 'saml',
  name: 'corp',
  entry_point: 'https://idp.example.net/sso',
  issuer: OUR_ID,
  callback_url: CALLBACK,
  idp_certs: [provider.cert],
  idp_issuer: IDP_ID,
  roles: { map: [{ value: 'staff', roles: ['read', 'write'] }] },
})

export function useSamlServer(): SamlServer {
  let running: Running
  const lines: string[] = []
  const opened: SessionUser[] = []
  beforeAll(async () => {
    const log = createLogger({
      name: 'test',
      level: 'trace',
      destination: { write: (line) => void lines.push(line) },
    })
    running = await startRunning(log, { nowMs: () => world.nowMs }, opened)
    await world.configure(world.settings())
  })
  afterAll(() => running?.close())
  const world: SamlServer = {
    nowMs: NOW_MS,
    opened,
    logged: () => lines.join(''),
    provider: () => running.provider,
    stranger: () => running.stranger,
    url: () => running.url,
    begin: (...call) => running.begin(...call),
    ...requests(() => running.url),
    settings: (more = {}) => ({ ...protocolSettings(running.provider), ...more }),
    async configure(...protocols) {
      const value = checkAuthSettings({ protocols })
      const document = { rev: 1, value, changed: new Date(world.nowMs), changed_by: 'test' }
      await running.catalog.config.replaceOne({ _id: 'auth' }, document, { upsert: true })
      world.nowMs += 1000
    },
    async login(query = '', cookie = undefined) {
      const response = await world.get(`/auth/saml/corp/login${query}`, cookie)
      expect(response.status).toBe(302)
      const set = COOKIE.exec(response.headers.get('set-cookie') ?? '')
      expect(set?.[2]).toBe('Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure')
      const { id } = requestIn(response.headers.get('location') ?? '')
      return { id, cookie: `__Host-tollgate_saml=${set?.[1]}` }
    },
    assertionFor: (begun, more = {}) => ({
      nowMs: world.nowMs,
      inResponseTo: begun?.id ?? null,
      ...more,
    }),
    async refused(xml, reason) {
      const [sessions, from] = [opened.length, lines.length]
      const response = await world.post({ SAMLResponse: base64(xml) })
      const body = (await response.json()) as object
      const errors = [{ path: '', code: 'not_allowed', why: expect.any(String) }]
      const refusal = { status: 0, code: 403, desc: expect.any(String), errors }
      expect([response.status, body]).toEqual([403, refusal])
      expect(lines.slice(from).join('')).toMatch(reason)
      expect(response.headers.get('set-cookie')).toBeNull()
      expect(opened.length).toBe(sessions)
    },
    async accepted(xml, { cookie }) {
      const response = await world.post({ SAMLResponse: base64(xml) })
      const { status, headers } = response
      expect([status, headers.get('location')]).toEqual([303, '/auth/saml/corp/done'])
      expect(headers.get('set-cookie')).toBeNull()
      return world.get('/auth/saml/corp/done', cookie)
    },
    audited: () => running.catalog.audit.find().sort({ urt: 1 }).toArray(),
  }
  return world
}

async function startRunning(log: Logger, clock: Clock, opened: SessionUser[]): Promise<Running> {
  const [provider, stranger] = [newKeyPair('provider'), newKeyPair('stranger')]
  const [store, mongo] = await Promise.all([
    // Data need not survive a crash.
    startTestRedis({ appendfsync: 'everysec' }),
    startTestMongo(),
  ])
  const redis = openRedis(
    { url: store.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 },
    log,
  )
  await waitForRedis(redis, 20_000)
  const { url, database } = mongo
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  const deps = {
    log,
    clock,
    audit: createAudit(catalog),
    keys: openExpiringKeys(redis, 'auth'),
    settings: createCurrentSettings(catalog, clock, 1000),
  }
  const sessions = {
    async open(user: SessionUser) {
      opened.push(user)
      return `session-${opened.length}`
    },
  }
  const server = createServer(loadConfig({ env: {} }).admin, log)
  const { begin } = addSamlRoutes(server, deps, {
    sessions,
    limit: async () => undefined,
    setCookie: (reply, _request, value) => void reply.header('set-cookie', `tollgate=${value}`),
  })
  await server.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.server.address() as AddressInfo
  return {
    provider,
    stranger,
    catalog,
    begin,
    url: `http://127.0.0.1:${port}`,
    async close() {
      await server.close()
      await Promise.all([redis.close(), catalog.close()])
      await Promise.all([store.close(), mongo.close()])
    },
  }
}

function requests(url: () => string): Pick<SamlServer, 'get' | 'post'> {
  const redirect = 'manual'
  return {
    get: (path, cookie) =>
      fetch(`${url()}${path}`, { redirect, headers: cookie === undefined ? {} : { cookie } }),
    post(form, path = '/auth/saml/corp/acs') {
      const body = form instanceof URLSearchParams ? form : new URLSearchParams(form)
      return fetch(`${url()}${path}`, { redirect, method: 'POST', body })
    },
  }
}

export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}

/** A login that must succeed, with an assertion of this content. Returns the last answer. */
export async function loggedIn(
  world: SamlServer,
  more: Partial<AssertionContent> = {},
): Promise<Response> {
  const begun = await world.login()
  const done = await world.accepted(
    answer(world.assertionFor(begun, more), world.provider()),
    begun,
  )
  expect(done.status).toBe(303)
  return done
}
