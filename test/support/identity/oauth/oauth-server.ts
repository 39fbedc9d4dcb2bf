/** The endpoints of OAuth 2.0 on real stores behind proxies, with a clock that tests set. */
import { fastify } from 'fastify'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { addOAuthRoutes } from '../../../../src/admin/auth/oauth/routes.ts'
import { createAudit } from '../../../../src/catalog/audit/audit.ts'
import { withClient } from '../../../../src/catalog/clients/client-changes.ts'
import { clientsSetting } from '../../../../src/catalog/clients/clients.ts'
import { type Catalog, openCatalog } from '../../../../src/catalog/connection.ts'
import { createSealer } from '../../../../src/catalog/sealing/sealing.ts'
import { createCurrentSettings } from '../../../../src/catalog/settings/current-settings.ts'
import { writeStoredConfig } from '../../../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { CurrentUser } from '../../../../src/identity/checks.ts'
import type { OAuthDeps, VerifyUser } from '../../../../src/identity/oauth/oauth-deps.ts'
import { createTokenCheck } from '../../../../src/identity/oauth/token-check.ts'
import { openExpiringKeys } from '../../../../src/store/expiring.ts'
import { openRedis, type RedisConnection, waitForRedis } from '../../../../src/store/redis.ts'
import { createTokens, type Tokens } from '../../../../src/store/tokens.ts'
import { type LogRecord, recordingLog } from '../../catalog/store.ts'
import { startTestMongo } from '../../mongo.ts'
import { startTestRedis } from '../../redis.ts'
import { type StoreProxy, startStoreProxy } from '../../store-proxy.ts'

export type Fields = Record<string, string>

export interface Answer {
  http: number
  headers: Headers
  text: string
  body: Fields & { expires_in: number; status: number }
}

/** A user as the token check reads it. */
export function userNow(given: Partial<CurrentUser>): CurrentUser {
  const user = {
    id: 'u1',
    name: 'ops',
    roles: ['read'],
    mustChangePassword: false,
    mustEnrolTotp: false,
  }
  return { ...user, hasGeneratedPassword: false, ...given } as CurrentUser
}

export interface OAuthServer {
  url: string
  redis: RedisConnection
  catalog: Catalog
  tokens: Tokens
  redisProxy: StoreProxy
  mongoProxy: StoreProxy
  check: ReturnType<typeof createTokenCheck>
  /** The current users by id; the password of all is `PASSWORD`. */
  users: Map<string, CurrentUser>
  logs: LogRecord[]
  nowMs: number
  /** Stores a client, and returns its secret. */
  client(given: { name: string; [field: string]: unknown }): Promise<string>
  changeClients(change: (list: unknown) => readonly unknown[]): Promise<void>
  security(value: object): Promise<void>
  send(path: string, init: RequestInit): Promise<Answer>
  /** Sends a form to the token endpoint. */
  ask(form: Fields, headers?: Fields): Promise<Answer>
  revoke(form: Fields, headers?: Fields): Promise<Answer>
  audit(): Promise<{ type: string; key: string; new: unknown; user: unknown }[]>
}

export const NOW_MS = Date.UTC(2026, 5, 15, 12)
export const SECRETS_KEY = 'a key for tests'
/** With a character beyond the Basic Multilingual Plane. */
export const PASSWORD = 'pass-wörd 🔑'
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
export const sealer = createSealer(SECRETS_KEY)
export const changeOf = (nowMs: number) => ({ nowMs, by: 'test', sealer, timeZone: 'UTC' })

export const basic = (name: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`,
})

/** Everything is empty before each test. */
export function useOAuthServer(): OAuthServer {
  const scene = {} as OAuthServer
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    const [server, mongo] = await Promise.all([
      startTestRedis({ appendfsync: 'everysec' }),
      startTestMongo(),
    ])
    const [redisProxy, mongoProxy] = await Promise.all([
      startStoreProxy(server.url),
      startStoreProxy(mongo.url),
    ])
    const { log, records } = recordingLog()
    const timeouts = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const redis = openRedis({ url: redisProxy.url, ...timeouts }, log)
    await waitForRedis(redis, 20_000)
    const { database } = mongo
    const catalog = await openCatalog({
      url: mongoProxy.url,
      database,
      timeoutMs: 5_000,
      appName: 'test',
    })
    const clock = { nowMs: () => scene.nowMs }
    const keys = openExpiringKeys(redis, 'auth')
    const users = new Map<string, CurrentUser>()
    const deps: Omit<OAuthDeps, 'refusals'> = {
      catalog,
      keys,
      clock,
      log,
      audit: createAudit(catalog),
      settings: createCurrentSettings(catalog, clock, 0),
      config: loadConfig({ env: {} }),
      clients: clientsSetting(sealer),
      tokens: createTokens(keys),
      users: async (id) => users.get(id) ?? null,
      verifyUser: verifierOf(users),
    }
    const web = fastify({ forceCloseConnections: true })
    addOAuthRoutes(web, deps)
    const url = await web.listen({ host: '127.0.0.1', port: 0 })
    Object.assign(scene, { ...methodsOf(scene), redis, catalog, redisProxy, mongoProxy, users })
    Object.assign(scene, { url, check: createTokenCheck(deps) })
    Object.assign(scene, { logs: records, tokens: deps.tokens })
    const proxies = [redisProxy, mongoProxy]
    ends.push(
      () => web.close(),
      () => redis.close(),
      () => catalog.close(),
    )
    ends.push(...proxies.map((each) => () => each.close()), () => server.close())
    ends.push(() => mongo.close())
  })
  beforeEach(async () => {
    scene.nowMs = NOW_MS
    scene.users.clear()
    scene.logs.splice(0)
    await Promise.all([
      scene.redis.client.flushall(),
      scene.catalog.config.deleteMany({}),
      scene.catalog.audit.deleteMany({}),
    ])
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })
  return scene
}

/** Like the login; the user `slow` is locked. */
function verifierOf(users: ReadonlyMap<string, CurrentUser>): VerifyUser {
  return async (username, password) => {
    if (username === 'slow') return { retryAfterS: 17 }
    const user = [...users.values()].find(({ name }) => name === username)
    return user !== undefined && password === PASSWORD ? user : null
  }
}

function methodsOf(scene: OAuthServer): Partial<OAuthServer> {
  const send = (path: string, init: RequestInit) => answerOf(fetch(scene.url + path, init))
  const form =
    (path: string) =>
    (fields: Fields, headers: Fields = {}) =>
      send(path, {
        method: 'POST',
        body: new URLSearchParams(fields),
        headers: { ...FORM, ...headers },
      })
  return {
    send,
    ask: form('/oauth2/token'),
    revoke: form('/oauth2/revoke'),
    async client(given) {
      let secret: string | null = null
      await scene.changeClients((list) => {
        const changed = withClient(list, given, changeOf(scene.nowMs))
        secret = changed.secret
        return changed.list
      })
      return secret ?? ''
    },
    async changeClients(change) {
      const by = { nowMs: scene.nowMs, by: 'test' }
      await writeStoredConfig(scene.catalog, 'shared_secret', change, by)
    },
    async security(value) {
      const stored = { rev: 1, value, changed: new Date(0), changed_by: 'test' }
      await scene.catalog.config.replaceOne({ _id: 'security' }, stored, { upsert: true })
    },
    audit: () => scene.catalog.audit.find().sort({ urt: 1, _id: 1 }).toArray(),
  }
}

async function answerOf(answered: Promise<Response>): Promise<Answer> {
  const {
    status: http,
    headers,
    ...response
  } = await answered.then(async (each) => {
    return { status: each.status, headers: each.headers, text: await each.text() }
  })
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('pragma')).toBe('no-cache')
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  return { http, headers, text: response.text, body: JSON.parse(response.text) }
}
