/** Clients that charge with tokens and signatures, on a Redis of their own. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { withClient, withoutClient } from '../../../src/catalog/clients/client-changes.ts'
import { compileClients } from '../../../src/catalog/clients/clients.ts'
import { createSealer } from '../../../src/catalog/sealing.ts'
import { signatureOf, signedText } from '../../../src/catalog/signature/signed-text.ts'
import {
  type CallerStore,
  type Callers,
  createCallers,
} from '../../../src/realtime/http/callers.ts'
import type { Exchange } from '../../../src/realtime/http/exchange.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { type ExpiringKeys, openExpiringKeys } from '../../../src/store/expiring.ts'
import { openRedis, waitForRedis } from '../../../src/store/redis.ts'
import { createTokens, type Tokens } from '../../../src/store/tokens.ts'
import { startTestRedis, type TestRedis } from '../../support/redis.ts'
import { waitUntil } from '../../support/wait.ts'
import { accessOf, KINDS, type Kind, serverOf } from './server-of.ts'
import { openSocket } from './socket.ts'

const silent = createLogger({ name: 'test', level: 'silent' })
const NOW_MS = Date.UTC(2026, 10, 22, 12)
const KEY = '00112233445566778899aabbccddeeff'
const HOUR_MS = 3_600_000
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }

let redis: TestRedis
let connection: ReturnType<typeof openRedis>
let keys: ExpiringKeys
let tokens: Tokens
beforeAll(async () => {
  redis = await startTestRedis()
  const timeouts = { commandTimeoutMs: 2_000, connectTimeoutMs: 2_000 }
  connection = openRedis({ url: redis.url, ...timeouts }, silent)
  await waitForRedis(connection, 5_000)
  keys = openExpiringKeys(connection, 'auth')
  tokens = createTokens(keys)
})
afterAll(async () => {
  await connection.close()
  await redis.close()
})

const sealer = createSealer('')
const change = { nowMs: NOW_MS, by: 'test', sealer, timeZone: 'UTC' }
const time = { nowMs: NOW_MS, elapsedMs: 0 }
let list: readonly unknown[] = []
/** How often the store was asked for a token. */
let finds = 0
/** Resolves when the store may answer; each test begins with one that may. */
let gate: Promise<void> = Promise.resolve()

beforeEach(() => {
  list = []
  finds = 0
  gate = Promise.resolve()
  Object.assign(time, { nowMs: NOW_MS, elapsedMs: 0 })
  for (const [name, roles, key] of [
    ['pgw', ['charge'], KEY],
    ['boss', ['admin'], undefined],
    ['crm', ['read', 'write'], `crm-${KEY}`],
  ] as const) {
    list = withClient(list, { name, roles, ...(key === undefined ? {} : { key }) }, change).list
  }
})

const clientsNow = () => compileClients(list, sealer)

function callersOf(signature: object = {}, areRead = true): Callers {
  const store: CallerStore = {
    used: keys,
    tokens: {
      find: async (token) => {
        finds += 1
        await gate
        return tokens.access.find(token)
      },
    },
    close: async () => undefined,
  }
  const rules = { enabled: true, windowMs: 300_000, ...signature }
  return createCallers({
    now: () => (areRead ? { clients: clientsNow(), signature: rules } : null),
    open: async () => store,
    clock: { nowMs: () => time.nowMs },
    elapsedMs: () => time.elapsedMs,
    log: silent,
  })
}

async function tokenOf(name: string, more: object = {}): Promise<string> {
  const client = clientsNow().byName(name, NOW_MS)
  if (client === null) throw new Error(`there is no ${name}`)
  const holder = { client: name, fingerprint: client.fingerprint, user: null, family: null }
  const terms = { grant: 'client_credentials', scope: 'global', expiresMs: NOW_MS + HOUR_MS }
  return tokens.access.issue({ ...holder, ...terms, ...more }, HOUR_MS)
}

/** A server where everybody must authenticate unless told otherwise. */
async function world(kind: Kind, more: { callers?: Callers; mustAuthenticate?: boolean } = {}) {
  const { callers = callersOf(), mustAuthenticate = true } = more
  const server = await serverOf(kind, { authenticator: accessOf({ callers, mustAuthenticate }) })
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${server.url}/realtime${path}`, {
      ...{ method: 'POST', body: '{}', headers: JSON_TYPE, ...init },
    })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return { ...server, ask }
}

const bearer = (token: string) => ({ headers: { ...JSON_TYPE, authorization: `Bearer ${token}` } })

let count = 0
/** Parameters with a time, and one that no other request has. */
function fresh(more: readonly (readonly [string, unknown])[] = []): Map<string, unknown> {
  count += 1
  return new Map<string, unknown>([
    ['n', String(count)],
    ['_t_', String(time.nowMs / 1000)],
    ...more,
  ])
}

function signatureFor(sent: Map<string, unknown>, key = KEY): string {
  return signatureOf(signedText(sent), key)
}

function formText(sent: Map<string, unknown>): string {
  return new URLSearchParams([...sent] as [string, string][]).toString()
}

describe.each(KINDS)('a token: %s', (kind) => {
  it('gets in by header, query or form, and its client owns the sessions', async () => {
    const { ask, arrivals, bodies } = await world(kind)
    const token = await tokenOf('pgw')
    expect((await ask('', bearer(token))).status).toBe(200)
    expect((await ask(`?access_token=${token}`)).status).toBe(200)
    const body = `access_token=${token}&request=%7B%22a%22%3A1%7D`
    expect((await ask('', { headers: FORM, body })).status).toBe(200)
    expect(bodies).toEqual(['{}', '{}', '{"a":1}'])
    expect(arrivals).toMatchObject(
      Array.from({ length: 3 }, () => ({ origin: 'client:pgw', peer: 'client:pgw' })),
    )
    expect((await ask('', bearer(await tokenOf('boss')))).status).toBe(200)
    expect(arrivals.at(-1)).toMatchObject({ origin: 'client:boss' })
  })

  it('in the query is no part of a message there', async () => {
    const { ask, bodies } = await world(kind)
    const query = `?file_type=pairs&a=1&access_token=${await tokenOf('pgw')}&b=2`
    expect((await fetchGet(ask, query)).status).toBe(200)
    expect(bodies).toEqual(['a=1&b=2'])
  })

  it('that is unknown, ended, revoked or of a client that is gone is refused', async () => {
    const { ask, bodies, refused } = await world(kind)
    const [ended, revoked, gone] = [
      await tokenOf('pgw', { expiresMs: NOW_MS }),
      await tokenOf('pgw'),
      await tokenOf('boss'),
    ]
    await tokens.access.revoke(revoked)
    list = withoutClient(list, { name: 'boss' }, change).list
    // A client of the same name that is made anew is another one.
    list = withClient(list, { name: 'boss', roles: ['admin'] }, change).list
    for (const token of ['0'.repeat(40), ended, revoked, gone]) {
      const { status, text, headers } = await ask('', bearer(token))
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(text).toContain('Malformed request: authorization has no key or token that is known')
      expect(text).not.toContain(token)
      expect((await ask(`?access_token=${token}`)).status).toBe(401)
    }
    for (const token of ['', 'x', 'A'.repeat(40), '0'.repeat(41), `${ended}&access_token=`]) {
      expect((await ask(`?access_token=${token}`)).status).toBe(401)
    }
    expect(bodies).toEqual([])
    expect(new Set(refused)).toEqual(new Set([' credentials']))
  })

  it('is in one place', async () => {
    const { ask, bodies } = await world(kind)
    const token = await tokenOf('pgw')
    // Also where it is known already.
    expect((await ask('', bearer(token))).status).toBe(200)
    const { status, text } = await ask(`?access_token=${token}`, bearer(token))
    expect([status, bodies]).toEqual([401, ['{}']])
    expect(text).toContain('must be in one place')
  })

  it('needs the role: a client of the control plane alone does not charge', async () => {
    const { ask, bodies, refused } = await world(kind)
    const { status, text } = await ask('', bearer(await tokenOf('crm')))
    expect(status).toBe(403)
    expect(text).toContain('client must have the role charge or admin')
    const user = { id: 'u1', name: 'anna' }
    expect((await ask('', bearer(await tokenOf('pgw', { user })))).status).toBe(403)
    expect([bodies, refused]).toEqual([[], ['client:crm role', 'client:pgw role']])
  })

  it('is refused where nobody need authenticate, too, and gets nobody past a wrong key', async () => {
    const { ask, arrivals } = await world(kind, { mustAuthenticate: false })
    expect((await ask('')).status).toBe(200)
    expect((await ask(`?access_token=${'0'.repeat(40)}`)).status).toBe(401)
    const token = await tokenOf('pgw')
    const both = { headers: { ...JSON_TYPE, authorization: `Bearer ${token}`, 'x-api-key': 'no' } }
    expect((await ask('', both)).status).toBe(401)
    expect((await ask(`?access_token=${token}`)).status).toBe(200)
    expect(arrivals.map(({ origin }) => origin)).toEqual(['http', 'client:pgw'])
  })

  it('is known for a second, and asked for once by many at a time', async () => {
    const { ask } = await world(kind)
    const token = await tokenOf('pgw')
    const many = () => Promise.all(Array.from({ length: 8 }, () => ask('', bearer(token))))
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    const asking = many()
    await waitUntil('the store is asked', () => finds > 0)
    open()
    expect(new Set((await asking).map(({ status }) => status))).toEqual(new Set([200]))
    await many()
    expect(finds).toBe(1)
    await tokens.access.revoke(token)
    time.elapsedMs = 999
    expect((await ask('', bearer(token))).status).toBe(200)
    time.elapsedMs = 1000
    expect((await ask('', bearer(token))).status).toBe(401)
    expect(finds).toBe(2)
  })

  it('that is known ends at once with its client, its role, and its time', async () => {
    const { ask } = await world(kind)
    const status = async (token: string) => (await ask('', bearer(token))).status
    const [pgw, boss] = [await tokenOf('pgw'), await tokenOf('boss')]
    expect([await status(pgw), await status(boss)]).toEqual([200, 200])
    list = withClient(list, { name: 'pgw', disabled: true }, change).list
    list = withClient(list, { name: 'boss', roles: ['read'] }, change).list
    expect([await status(pgw), await status(boss)]).toEqual([401, 403])
    list = withClient(list, { name: 'pgw', disabled: false }, change).list
    expect(await status(pgw)).toBe(200)
    time.nowMs = NOW_MS + HOUR_MS
    expect(await status(pgw)).toBe(401)
  })

  it('cannot be told where clients were never read, or Redis is away: an outage', async () => {
    const unread = await world(kind, { callers: callersOf({}, false) })
    const token = await tokenOf('pgw')
    const { status, text } = await unread.ask('', bearer(token))
    expect([status, text.includes('clients were not read yet')]).toEqual([503, true])
    const away = openRedis(
      { url: 'redis://127.0.0.1:1', commandTimeoutMs: 100, connectTimeoutMs: 100 },
      silent,
    )
    const gone = openExpiringKeys(away, 'auth')
    const callers = createCallers({
      now: () => ({ clients: clientsNow(), signature: { enabled: true, windowMs: 300_000 } }),
      open: async () => ({
        ...{ tokens: createTokens(gone).access, used: gone, close: () => away.close() },
      }),
      ...{ clock: { nowMs: () => NOW_MS }, elapsedMs: () => 0, log: silent },
    })
    const { ask, bodies, refused } = await world(kind, { callers })
    const down = await ask('', bearer(token))
    expect([down.status, down.headers.get('retry-after')]).toEqual([503, '1'])
    const sent = fresh()
    sent.set('_sig_', signatureFor(sent))
    expect((await ask(`?${formText(sent)}`)).status).toBe(503)
    expect([bodies, refused]).toEqual([[], [' unavailable', ' unavailable']])
    await callers.close()
  })

  it('is asked for while the body comes in; who goes meanwhile is not charged', async () => {
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    const { port, bodies } = await world(kind)
    const head = `POST /realtime HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n`
    const auth = `Authorization: Bearer ${await tokenOf('pgw')}\r\n\r\n`
    const [slow, leaving] = [openSocket(port), openSocket(port)]
    await slow.send(`${head}${auth}{`)
    await leaving.send(`${head}${auth}{12}`)
    await waitUntil('the store is asked', () => finds === 1)
    leaving.reset()
    await leaving.closed()
    // Another request is through: the server has seen the end of that connection.
    expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200)
    open()
    await slow.send('34}')
    expect((await slow.answer())?.status).toBe(200)
    // The connection goes on.
    await slow.send(`${head}${auth}{56}`)
    expect((await slow.answer())?.status).toBe(200)
    slow.destroy()
    expect(bodies).toEqual(['{34}', '{56}'])
  })

  it('does not make a body larger than it may be', async () => {
    const { ask, port, bodies } = await world(kind)
    const token = await tokenOf('pgw')
    const init = { ...bearer(token), body: 'x'.repeat(65_537) }
    expect((await ask('', init)).status).toBe(413)
    expect((await ask('', { body: 'x'.repeat(65_537) })).status).toBe(413)
    const socket = openSocket(port)
    await socket.send(`POST /realtime?access_token=${token} HTTP/1.1\r\nHost: t\r\n`)
    await socket.send('Transfer-Encoding: chunked\r\n\r\n')
    await socket.send(`10001\r\n${'x'.repeat(65_537)}\r\n`)
    expect((await socket.answer())?.status).toBe(413)
    await socket.closed()
    expect(bodies).toEqual([])
  })
})

function fetchGet(
  ask: (path: string, init: RequestInit) => Promise<{ status: number }>,
  path: string,
) {
  return ask(path, { method: 'GET', body: null, headers: {} })
}

describe.each(KINDS)('a signature: %s', (kind) => {
  it.each(['_sig_', 'signature'])('as %s gets in: query, form, JSON', async (name) => {
    const { ask, arrivals, bodies } = await world(kind)
    const inQuery = fresh()
    inQuery.set(name, signatureFor(new Map([...inQuery, ['a', new Map()]])))
    expect((await ask(`?${formText(inQuery)}`, { body: '{"a":{}}' })).status).toBe(200)
    const form = fresh([['request', '{"b":"é/"}']])
    form.set(name, signatureFor(form))
    expect((await ask('', { headers: FORM, body: formText(form) })).status).toBe(200)
    const json = fresh([
      ['session_id', 'é/'],
      ['2', [1.5, true]],
      ['1', null],
    ])
    const members = [...json, [name, signatureFor(json)]].map(
      ([member, value]) => `${JSON.stringify(member)}: ${JSON.stringify(value)}`,
    )
    const body = `{${members.join()}}`
    expect((await ask('', { body })).status).toBe(200)
    const get = fresh([
      ['file_type', 'pairs'],
      ['c', '1'],
    ])
    get.set(name, signatureFor(get))
    expect((await fetchGet(ask, `?${formText(get)}`)).status).toBe(200)
    expect(bodies).toEqual(['{"a":{}}', '{"b":"é/"}', body, `n=${count}&c=1`])
    expect(new Set(arrivals.map(({ origin }) => origin))).toEqual(new Set(['client:pgw']))
  })

  it('is good once, whatever way it comes', async () => {
    const { ask, bodies } = await world(kind)
    const sent = fresh([['request', '{}']])
    sent.set('_sig_', signatureFor(sent))
    const form = () => ask('', { headers: FORM, body: formText(sent) })
    const answers = await Promise.all([form(), form(), form()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    const again = await ask(`?${formText(sent)}`, { body: '' })
    expect([again.status, again.text.includes('was used before')]).toEqual([401, true])
    expect(bodies).toEqual(['{}'])
  })

  it('covers the body: another one is refused, and one that it cannot cover', async () => {
    const { ask, bodies } = await world(kind)
    const sent = fresh()
    sent.set('_sig_', signatureFor(new Map([...sent, ['a', 1]])))
    const path = `?${formText(sent)}`
    for (const body of ['{"a":2}', '{"a":1,"b":1}', '{"a":"1"}', '', '{"a":1', '[1]', '\xff']) {
      expect((await ask(path, { body })).status).toBe(401)
    }
    const empty = fresh()
    empty.set('_sig_', signatureFor(empty))
    const xml = { headers: { 'content-type': 'application/xml' }, body: '<a/>' }
    const { status, text } = await ask(`/xml?${formText(empty)}`, xml)
    expect([status, text.includes('but not this body')]).toEqual([401, true])
    expect(bodies).toEqual([])
    expect((await ask(path, { body: '{"a":1}' })).status).toBe(200)
  })

  it('is refused for what is wrong with it, in words without it', async () => {
    const { ask, bodies, refused } = await world(kind)
    const refusedFor = async (sent: Map<string, unknown>) => {
      const { status, text, headers } = await ask(`?${formText(sent)}`, { body: '' })
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(text).not.toMatch(/[0-9a-f]{32}/)
      return text
    }
    const unknown = fresh()
    unknown.set('_sig_', signatureFor(unknown, 'nobody’s'))
    expect(await refusedFor(unknown)).toContain('is of no key that is known')
    const old = fresh([['_t_', String(NOW_MS / 1000 - 301)]])
    old.set('_sig_', signatureFor(old))
    expect(await refusedFor(old)).toContain('_t_ is more than 300 seconds')
    expect(await refusedFor(fresh([['_sig_', 'abc']]))).toContain('128 hexadecimal digits')
    const crm = fresh()
    crm.set('_sig_', signatureFor(crm, `crm-${KEY}`))
    expect((await ask(`?${formText(crm)}`, { body: '' })).status).toBe(403)
    expect([bodies, refused.at(-1)]).toEqual([[], 'client:crm role'])
    const off = await world(kind, { callers: callersOf({ enabled: false }) })
    expect((await off.ask(`?${formText(old)}`)).text).toContain('switched off')
  })

  it('is not looked for in the body of who need not authenticate', async () => {
    const { ask, arrivals } = await world(kind, { mustAuthenticate: false })
    expect((await ask('', { body: '{"_sig_":"x","signature":1}' })).status).toBe(200)
    expect((await ask('?signature=mine')).status).toBe(200)
    expect(arrivals.map(({ origin }) => origin)).toEqual(['http', 'http'])
    expect((await ask('?_sig_=x')).status).toBe(401)
  })
})

describe('a flood', () => {
  const exchange = { remoteAddress: () => '' } as Pick<Exchange, 'remoteAddress'>

  it('of unknown tokens is asked for up to a bound; who was known gets in all the same', async () => {
    const callers = callersOf()
    const known = await tokenOf('pgw')
    expect(await callers.ofToken(known, 'authorization')).toMatchObject({ name: 'client:pgw' })
    time.elapsedMs = 5_000
    expect(callers.known(known)).toBe(null)
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    const flood = Array.from({ length: 500 }, (_, index) =>
      callers.ofToken(index.toString(16).padStart(40, '0'), 'authorization'),
    )
    const asking = callers.ofToken(known, 'authorization')
    await waitUntil('the store is asked', () => finds > 100)
    expect(finds).toBe(130)
    open()
    const refusals = (await Promise.all(flood)).map((one) => 'refused' in one && one.refused)
    expect(refusals.filter((one) => one === 503)).toHaveLength(372)
    expect(refusals.filter((one) => one === 401)).toHaveLength(128)
    expect(await asking).toMatchObject({ name: 'client:pgw' })
    await callers.idle()
  })

  it('of signatures takes no more time than it may', async () => {
    const callers = callersOf()
    const ask = async () => {
      const found = await callers.ofSignature(fresh([['_sig_', 'x']]), 4 * 1024 * 1024)
      return 'refused' in found ? found.refused : 0
    }
    const refusals = []
    for (let number = 0; number < 12; number += 1) refusals.push(await ask())
    expect(new Set(refusals.slice(0, 3))).toEqual(new Set([401]))
    expect(new Set(refusals.slice(-6))).toEqual(new Set([503]))
    time.elapsedMs = 10_000
    expect(await ask()).toBe(401)
  })

  it('of bodies that cannot be read ends in refusals', async () => {
    const authenticator = accessOf({ callers: callersOf(), mustAuthenticate: true })
    const framing = { lengths: 0, length: '', encodings: 0, encoding: '' }
    const head = { method: 'POST', path: '/realtime', contentType: 'application/json', framing }
    const none = { authorization: null, apiKey: null, host: '', isBrowser: false }
    const deep = `{"_sig_":"x","a":${'['.repeat(60_000)}${']'.repeat(60_000)}}`
    for (const [query, body] of [
      ['', deep],
      ['', '{"_sig_":'],
      ['_sig_=%', ''],
      [`_sig_=x&${'a&'.repeat(2_000)}`, ''],
      [`_sig_=x&a${'[b]'.repeat(60)}=1`, ''],
      [`_sig_=x&${'n'.repeat(2_000)}=1`, ''],
    ] as const) {
      const asked = { ...head, ...none, query }
      const verdict = authenticator.authenticate(asked, exchange)
      if (verdict.refused !== 'undecided') throw new Error('it can be told')
      const decided = await authenticator.decide(asked, Buffer.from(body), verdict)
      expect(decided).toMatchObject({ refused: 401, cause: 'credentials' })
      expect(JSON.stringify(decided).length).toBeLessThan(400)
    }
  })
})
