/** Logging in over HTTP, with separate stores and a clock that tests set. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { addSessionRoutes } from '../../../src/admin/auth/session-routes.ts'
import { createServer } from '../../../src/admin/server.ts'
import { createAudit } from '../../../src/catalog/audit/audit.ts'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { createSealer } from '../../../src/catalog/sealing/sealing.ts'
import { createCurrentSettings } from '../../../src/catalog/settings/current-settings.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import type { AuthDeps } from '../../../src/identity/auth-deps.ts'
import { createPasswords, type Passwords } from '../../../src/identity/passwords.ts'
import type { LoginProtocols } from '../../../src/identity/protocols/login-protocols.ts'
import { createSessions } from '../../../src/identity/session-store.ts'
import type { LoginSessions } from '../../../src/identity/sessions.ts'
import { createSecondFactors, type SecondFactors } from '../../../src/identity/totp/factors.ts'
import { createUsers, type Users } from '../../../src/identity/users.ts'
import { openExpiringKeys } from '../../../src/store/expiring.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../../src/store/redis.ts'
import { requireDocumented } from '../admin/openapi/answer-check.ts'
import { recordingLog } from '../catalog/store.ts'
import { writeEntity } from '../catalog/write.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { silent } from '../recorder/accounts.ts'
import { startTestRedis, type TestRedis } from '../redis.ts'

export const BEGIN_MS = Date.UTC(2026, 5, 15, 12)
export const MINUTE_MS = 60_000
export const USER = 'ops@example.org'
export const PASSWORD = 'correct horse battery'

const CONFIG = loadConfig({ env: {} })

export interface LoginServer {
  readonly deps: AuthDeps
  readonly redis: RedisConnection
  readonly sessions: LoginSessions
  readonly users: Users
  readonly factors: SecondFactors
  readonly server: FastifyInstance
  /** For each compared password, whether there was a hash of a user. */
  readonly compared: boolean[]
  /** The written lines of the log. */
  logged(): string
  now(): number
  pass(ms: number): void
}

export interface LoginServerParts {
  readonly deps?: Partial<AuthDeps>
  readonly passwords?: Passwords
  readonly protocols?: Partial<LoginProtocols>
  readonly dataDir?: string
  readonly addressOf?: () => string
  readonly trustedProxies?: readonly string[]
}

export interface AuthStores {
  catalog(): Catalog
  redis(): RedisConnection
  server(parts?: LoginServerParts): LoginServer
}

/** Both stores are empty before each test. */
export function useAuth(): AuthStores {
  let server: TestRedis
  let mongo: TestMongo
  let redis: RedisConnection
  let catalog: Catalog
  const servers: FastifyInstance[] = []
  beforeAll(async () => {
    ;[server, mongo] = await Promise.all([startTestRedis(), startTestMongo()])
    redis = openRedis(
      { url: server.url, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 },
      silent,
    )
    const { url, database } = mongo
    catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
    await Promise.all([waitForRedis(redis, 20_000), catalog.ensureIndexes()])
  })
  afterEach(async () => {
    for (const each of servers.splice(0)) await each.close()
    await redis.onEachMaster((master) => master.flushall())
    for (const name of ['users', 'audit', 'config', 'secondfactors'] as const) {
      await catalog[name].deleteMany({})
    }
  })
  afterAll(async () => {
    await Promise.all([redis.close(), catalog.close()])
    await Promise.all([server.close(), mongo.close()])
  })
  return {
    catalog: () => catalog,
    redis: () => redis,
    server(parts) {
      const world = serverOn(catalog, redis, parts)
      servers.push(world.server)
      return world
    },
  }
}

function serverOn(
  catalog: Catalog,
  redis: RedisConnection,
  parts: LoginServerParts = {},
): LoginServer {
  let nowMs = BEGIN_MS
  const clock = { nowMs: () => nowMs }
  const { log, records } = recordingLog()
  const { passwords: given = createPasswords(), protocols, dataDir = '/nowhere' } = parts
  const deps: AuthDeps = {
    catalog,
    clock,
    log,
    keys: openExpiringKeys(redis, 'auth'),
    settings: createCurrentSettings(catalog, clock, 0),
    audit: createAudit(catalog),
    config: CONFIG,
    ...parts.deps,
  }
  const compared: boolean[] = []
  const passwords: Passwords = {
    hash: given.hash,
    isRight(password, stored) {
      compared.push(stored !== null)
      return given.isRight(password, stored)
    },
  }
  const sessions = createSessions(deps)
  const users = createUsers(deps)
  const { trustedProxies = [] } = parts
  const server = createServer({ ...CONFIG.admin, trustedProxies }, log)
  const others = { password: [], redirect: [], options: async () => [], ...protocols }
  const { addressOf } = parts
  const sealer = createSealer('a key of the tests')
  const factors = createSecondFactors({ ...deps, sealer })
  const own = { sessions, users, factors, passwords, protocols: others, dataDir }
  addSessionRoutes(server, { ...deps, ...own, ...(addressOf && { addressOf }) })
  return {
    deps,
    redis,
    sessions,
    users,
    factors,
    server,
    compared,
    logged: () => JSON.stringify(records),
    now: () => nowMs,
    pass(ms) {
      nowMs += ms
    },
  }
}

const HASHES = new Map<string, Promise<string>>()

/** Creates a user and returns the id. Hashing is slow, so hashes are cached by password. */
export async function addUser(
  catalog: Catalog,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { password = PASSWORD, ...others } = fields
  const text = String(password)
  const hash = HASHES.get(text) ?? createPasswords().hash(text)
  HASHES.set(text, hash)
  const period = { from: new Date(0), to: new Date(FOREVER_MS) }
  const roles = ['read', 'write']
  const user = { username: USER, roles, password: await hash, ...period, ...others }
  const stored = await writeEntity(catalog, 'users', user, { mode: 'insert', timeZone: 'UTC' })
  return stored._id.toHexString()
}

/** Stores settings of the category `security`. */
export async function setSecurity(catalog: Catalog, value: object): Promise<void> {
  const document = { _id: 'security', rev: 1, value, changed: new Date(0), changed_by: 'test' }
  await catalog.config.replaceOne({ _id: 'security' }, document, { upsert: true })
}

export interface LoginAnswer {
  readonly http: number
  readonly body: { status: number; desc: string; details: unknown; input?: unknown; code?: number }
  readonly headers: Readonly<Record<string, unknown>>
  /** Value of the session cookie in the answer; null if absent. */
  readonly cookie: string | null
  /** All `Set-Cookie` headers. */
  readonly setCookie: string
}

export interface Sent {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent unchanged, anything else as JSON. */
  readonly payload?: unknown
}

export async function send(
  { server }: Pick<LoginServer, 'server'>,
  { method, url, headers = {}, payload }: Sent,
): Promise<LoginAnswer> {
  if (!server.server.listening) await server.listen({ host: '127.0.0.1', port: 0 })
  const isText = typeof payload === 'string' || payload === undefined
  const type: Record<string, string> = isText ? {} : { 'content-type': 'application/json' }
  const response = await fetch(`http://127.0.0.1:${portOf(server)}${url}`, {
    method,
    headers: { ...type, ...headers },
    ...(payload !== undefined && { body: isText ? payload : JSON.stringify(payload) }),
  })
  const setCookie = response.headers.getSetCookie().join(', ')
  const cookie = /tollgate_session=([^;]*)/.exec(setCookie)?.[1] ?? null
  const body = (await response.json()) as LoginAnswer['body']
  const received = Object.fromEntries(response.headers)
  const contentType = response.headers.get('content-type') ?? ''
  // Both spellings are served.
  const sent = url.toLowerCase()
  requireDocumented({ method, sent, status: response.status, contentType, body })
  return { http: response.status, body, headers: received, cookie, setCookie }
}

function portOf({ server }: FastifyInstance): number {
  return (server.address() as AddressInfo).port
}

/** Sends a form to `/auth/...`, with the cookie if there is one. */
export function post(
  world: LoginServer,
  path: string,
  fields: Readonly<Record<string, string>> = {},
  cookie: string | null = null,
): Promise<LoginAnswer> {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const headers = { ...type, ...cookieHeader(cookie) }
  const payload = new URLSearchParams(fields).toString()
  return send(world, { method: 'POST', url: `/auth/${path}`, headers, payload })
}

export function logIn(
  world: LoginServer,
  username = USER,
  password = PASSWORD,
): Promise<LoginAnswer> {
  return post(world, 'login', { username, password })
}

export function who(world: LoginServer, cookie: string | null): Promise<LoginAnswer> {
  return send(world, { method: 'GET', url: '/auth/login', headers: cookieHeader(cookie) })
}

function cookieHeader(cookie: string | null): Record<string, string> {
  return cookie === null ? {} : { cookie: `tollgate_session=${cookie}` }
}

/** Logs in, which must succeed; returns the cookie. */
export async function cookieOf(world: LoginServer, username = USER): Promise<string> {
  const { body, cookie } = await logIn(world, username)
  if (body.status !== 1 || cookie === null) throw new Error(`no login: ${JSON.stringify(body)}`)
  return cookie
}
