/** Servers for clients with tokens and signatures, on their own Redis. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { withClient } from '../../../../src/catalog/clients/client-changes.ts'
import { type ApiClients, compileClients } from '../../../../src/catalog/clients/clients.ts'
import { createSealer } from '../../../../src/catalog/sealing/sealing.ts'
import { signatureOf, signedText } from '../../../../src/catalog/signature/signed-text.ts'
import {
  type ClientAuthenticator,
  type ClientAuthenticatorStore,
  createClientAuthenticator,
} from '../../../../src/realtime/http/client-authenticator.ts'
import { createLogger } from '../../../../src/runtime/log.ts'
import { type ExpiringKeys, openExpiringKeys } from '../../../../src/store/expiring.ts'
import type { openRedis } from '../../../../src/store/redis.ts'
import { createTokens, type Tokens } from '../../../../src/store/tokens.ts'
import { connectRedis, startTestRedis, type TestRedis } from '../../redis.ts'
import { accessOf, type Kind, serverOf } from './server-of.ts'

export const silent = createLogger({ name: 'test', level: 'silent' })
export const NOW_MS = Date.UTC(2026, 10, 22, 12)
export const KEY = '00112233445566778899aabbccddeeff'
export const HOUR_MS = 3_600_000
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
export const JSON_TYPE = { 'content-type': 'application/json' }

const sealer = createSealer('')
export const change = { nowMs: NOW_MS, by: 'test', sealer, timeZone: 'UTC' }

/** State that tests set; reset before each of them. */
export const state = {
  nowMs: NOW_MS,
  elapsedMs: 0,
  /** Stored clients. */
  list: [] as readonly unknown[],
  /** The number of token lookups in the store. */
  lookups: 0,
  /** Resolves when the store may answer. */
  gate: Promise.resolve(),
  /** Blocks the store; the returned function releases it. */
  blockStore(): () => void {
    let open = () => {}
    state.gate = new Promise((resolve) => {
      open = resolve
    })
    return () => open()
  },
}

let redis: TestRedis
let connection: ReturnType<typeof openRedis>
let keys: ExpiringKeys
export let tokens: Tokens

/** Starts Redis before the tests of a file. */
export function useClients(): void {
  beforeAll(async () => {
    redis = await startTestRedis()
    connection = await connectRedis(redis.url)
    keys = openExpiringKeys(connection, 'auth')
    tokens = createTokens(keys)
  })
  beforeEach(() => {
    const initial = { nowMs: NOW_MS, elapsedMs: 0, list: [], lookups: 0, gate: Promise.resolve() }
    Object.assign(state, initial)
    store({ name: 'pgw', roles: ['charge'], key: KEY })
    store({ name: 'boss', roles: ['admin'] })
    store({ name: 'crm', roles: ['read', 'write'], key: `crm-${KEY}` })
  })
  afterAll(async () => {
    await connection.close()
    await redis.close()
  })
}

/** Creates or changes a client. */
export function store(client: object): void {
  state.list = withClient(state.list, client, change).list
}

export function clientsNow(): ApiClients {
  return compileClients(state.list, sealer)
}

export function callersOf(signature: object = {}, areRead = true): ClientAuthenticator {
  const kept: ClientAuthenticatorStore = {
    used: keys,
    tokens: {
      find: async (token) => {
        state.lookups += 1
        await state.gate
        return tokens.access.find(token)
      },
    },
    close: async () => undefined,
  }
  const rules = { enabled: true, windowMs: 300_000, ...signature }
  return createClientAuthenticator({
    now: () => (areRead ? { clients: clientsNow(), signature: rules } : null),
    open: async () => kept,
    clock: { nowMs: () => state.nowMs },
    elapsedMs: () => state.elapsedMs,
    log: silent,
  })
}

export async function tokenOf(name: string, more: object = {}): Promise<string> {
  const client = clientsNow().byName(name, NOW_MS)
  if (client === null) throw new Error(`there is no ${name}`)
  const holder = { client: name, fingerprint: client.fingerprint, user: null, family: null }
  const terms = { grant: 'client_credentials', scope: 'global', expiresMs: NOW_MS + HOUR_MS }
  return tokens.access.issue({ ...holder, ...terms, ...more }, HOUR_MS)
}

/** A server that requires authentication by default. */
export async function clientServer(
  kind: Kind,
  more: { callers?: ClientAuthenticator; mustAuthenticate?: boolean } = {},
) {
  const { callers = callersOf(), mustAuthenticate = true } = more
  const server = await serverOf(kind, { authenticator: accessOf({ callers, mustAuthenticate }) })
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${server.url}/realtime${path}`, {
      method: 'POST',
      body: '{}',
      headers: JSON_TYPE,
      ...init,
    })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return { ...server, ask }
}

export const bearer = (token: string) => ({
  headers: { ...JSON_TYPE, authorization: `Bearer ${token}` },
})

/** The number of calls of `fresh`. */
export let count = 0
/** Parameters with a time, and one that no other request has. */
export function fresh(more: readonly (readonly [string, unknown])[] = []): Map<string, unknown> {
  count += 1
  return new Map<string, unknown>([
    ['n', String(count)],
    ['_t_', String(state.nowMs / 1000)],
    ...more,
  ])
}

export function signatureFor(sent: Map<string, unknown>, key = KEY): string {
  return signatureOf(signedText(sent), key)
}

export function formText(sent: Map<string, unknown>): string {
  return new URLSearchParams([...sent] as [string, string][]).toString()
}

export function fetchGet(
  ask: (path: string, init: RequestInit) => Promise<{ status: number }>,
  path: string,
) {
  return ask(path, { method: 'GET', body: null, headers: {} })
}
