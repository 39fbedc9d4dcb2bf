/** Attacks on the whole admin port, over real HTTP, real Redis and the MongoDB wire protocol. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signatureOf, signedText } from '../../../src/catalog/signature/signed-text.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { type ClosedAdmin, startClosedAdmin } from '../../support/identity/closed-admin.ts'

const PASSWORD = 'a good password'
const WRITER = 'writer@example.org'
const BOSS = 'boss@example.org'

let closed: ClosedAdmin
let logged = ''

beforeAll(async () => {
  const write = (line: string) => {
    logged += line
  }
  const log = createLogger({ name: 'admin', level: 'trace', destination: { write } })
  closed = await startClosedAdmin({ TOLLGATE_LOG_LEVEL: 'trace' }, log)
  await closed.addUser(WRITER, PASSWORD, ['read', 'write'])
  await closed.addUser(BOSS, PASSWORD, ['admin'])
})
afterAll(() => closed?.close())

interface Answer {
  http: number
  headers: Headers
  text: string
  body: Record<string, unknown>
}

async function send(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${closed.url}${path}`, { redirect: 'manual', ...init })
  const text = await response.text()
  const isJson = text !== '' && response.headers.get('content-type')?.includes('json') === true
  const body = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { http: response.status, headers: response.headers, text, body }
}

const form = (fields: Record<string, string>) => ({
  method: 'POST',
  body: new URLSearchParams(fields),
})

function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  return send(path, { ...form(fields), headers })
}

/** The raw bytes of the answer, without normalisation by an HTTP client. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(closed.port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
  })
}

const get = (path: string, more = '') =>
  raw(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${more}\r\n`)

async function clientSecret(name: string, roles: readonly string[]): Promise<string> {
  const cookie = await closed.cookieOf(BOSS, PASSWORD)
  const data = JSON.stringify({ name, roles })
  const fields = { action: 'set', category: 'shared_secret', data }
  const { body } = await post('/api/settings', fields, { cookie })
  expect(body['status']).toBe(1)
  const { key } = body['details'] as { key: string }
  expect(key).toMatch(/^[0-9a-f]{32}$/)
  closed.pass(1000)
  return key
}

describe('CSRF', () => {
  const update = JSON.stringify({ name: 'X' })

  it.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['the null origin', { origin: 'null' }],
    ['fetch metadata', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling site', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.2' }],
  ])('by %s is refused before anything is done', async (_, headers) => {
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    const answer = await post('/billapi/plans/create', { update }, { cookie, ...headers })
    expect(answer.http).toBe(403)
    expect(await closed.stores.catalog.plans.countDocuments({ name: 'X' })).toBe(0)
  })

  it('by a form with content type text/plain is refused', async () => {
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    const headers = { cookie, 'content-type': 'text/plain' }
    const answer = await send('/billapi/plans/create', { method: 'POST', headers, body: update })
    expect(answer.http).toBe(415)
  })

  it('by a link does nothing: writes require POST', async () => {
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    const path = `/billapi/plans/create?update=${encodeURIComponent(update)}`
    expect((await send(path, { headers: { cookie } })).http).toBe(405)
    const settings = '/api/settings?action=set&category=security&data=%7B%7D'
    expect((await send(settings, { headers: { cookie } })).body['status']).toBe(0)
  })

  it('by HEAD, which is served where GET is, does nothing either', async () => {
    const cookie = await closed.cookieOf(BOSS, PASSWORD)
    const head = { method: 'HEAD', headers: { cookie } }
    const path = `/billapi/plans/create?update=${encodeURIComponent(update)}`
    expect((await send(path, head)).http).toBe(405)
    expect(await closed.stores.catalog.plans.countDocuments({ name: 'X' })).toBe(0)
    const settings = '/api/settings?action=set&category=security&data=%7B%7D'
    expect((await send(settings, head)).http).toBe(405)
    expect(await closed.stores.catalog.config.findOne({ _id: 'security' })).toBeNull()
  })

  it('protection accepts requests of its own page and of programs', async () => {
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    const own = { cookie, origin: closed.url, 'sec-fetch-site': 'same-origin' }
    expect((await post('/billapi/plans/get', {}, own)).body['status']).toBe(1)
    expect((await post('/billapi/plans/get', {}, { cookie })).body['status']).toBe(1)
  })
})

describe('a session', () => {
  it('is never adopted from the client, and ends with the logout', async () => {
    const brought = `tollgate_session=${'x'.repeat(43)}`
    const login = form({ username: WRITER, password: PASSWORD })
    const { headers } = await send('/auth/login', { ...login, headers: { cookie: brought } })
    const [set = ''] = headers.getSetCookie()
    expect(set).toMatch(/; HttpOnly/)
    expect(set).toMatch(/; SameSite=(Lax|Strict)/)
    const cookie = set.split(';')[0] ?? ''
    expect(cookie).not.toBe(brought)
    expect((await post('/billapi/plans/get', {}, { cookie: brought })).body['code']).toBe(17574)
    expect((await post('/billapi/plans/get', {}, { cookie })).body['status']).toBe(1)
    await post('/auth/logout', {}, { cookie })
    expect((await post('/billapi/plans/get', {}, { cookie })).body['code']).toBe(17574)
  })

  it('has the current roles of its user', async () => {
    await closed.addUser('passing@example.org', PASSWORD, ['read'])
    const cookie = await closed.cookieOf('passing@example.org', PASSWORD)
    expect((await post('/billapi/plans/get', {}, { cookie })).body['status']).toBe(1)
    const boss = await closed.cookieOf(BOSS, PASSWORD)
    const query = JSON.stringify({ username: 'passing@example.org', effective_date: 'now' })
    const update = JSON.stringify({ roles: ['reports'] })
    const changed = await post('/billapi/users/update', { query, update }, { cookie: boss })
    expect(changed.body).toMatchObject({ status: 1 })
    closed.pass(1000)
    expect((await post('/billapi/plans/get', {}, { cookie })).body['code']).toBe(17575)
  })
})

describe('privileges', () => {
  it('are not gained by users/update or by undeclared fields', async () => {
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    const before = await closed.stores.catalog.users.findOne({ username: WRITER })
    const query = JSON.stringify({ username: WRITER, effective_date: 'now' })
    const update = JSON.stringify({ roles: ['admin'] })
    const asked = await post('/billapi/users/update', { query, update }, { cookie })
    expect(asked.body['code']).toBe(17575)
    for (const extra of [
      { roles: 'admin' },
      { 'roles[]': 'admin' },
      { permissions: '["admin"]' },
    ]) {
      await post(
        '/auth/password',
        { password: 'wrong one', new_password: 'x', ...extra },
        { cookie },
      )
      await post('/auth/login', { username: WRITER, password: PASSWORD, ...extra })
    }
    const user = { username: 'new@example.org', password: PASSWORD, roles: ['read'] }
    const more = { ...user, last_login: 'now', password_generated: true, _id: 'x', rev: 9 }
    const boss = await closed.cookieOf(BOSS, PASSWORD)
    const made = JSON.stringify(more)
    await post('/billapi/users/create', { update: made }, { cookie: boss })
    const stored = await closed.stores.catalog.users.findOne({ username: 'new@example.org' })
    expect(stored).not.toHaveProperty('last_login')
    expect(stored?.password_generated).not.toBe(true)
    const after = await closed.stores.catalog.users.findOne({ username: WRITER })
    expect(after?.roles).toEqual(before?.roles)
  })

  it('to read users reveal no passwords, not even by the order of rows', async () => {
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    for (const sort of ['{"password":1}', '{"password_generated":-1}', '{"password.x":1}']) {
      const { body } = await post('/billapi/users/get', { sort }, { cookie })
      expect(body).toMatchObject({ status: 0, message: expect.stringContaining('sort') })
    }
  })

  it('of a client are those granted to it', async () => {
    const key = await clientSecret('reader', ['read'])
    const basic = `Basic ${Buffer.from(`reader:${key}`).toString('base64')}`
    const grant = { grant_type: 'client_credentials' }
    const { body } = await post('/oauth2/token', grant, { authorization: basic })
    const bearer = { authorization: `Bearer ${String(body['access_token'])}` }
    expect((await post('/billapi/plans/get', {}, bearer)).body['status']).toBe(1)
    const create = { update: JSON.stringify({ name: 'Y' }) }
    expect((await post('/billapi/plans/create', create, bearer)).body['code']).toBe(17575)
    const inBody = { access_token: String(body['access_token']) }
    expect((await post('/billapi/plans/get', inBody)).body['status']).toBe(1)
    const twice = await post('/billapi/plans/get', inBody, bearer)
    expect(twice.body).toMatchObject({ status: 0, code: 17574 })
    const other = `/billapi/plans/get?access_token=${'0'.repeat(40)}`
    expect((await post(other, inBody)).body['status']).toBe(0)
    const path = `/billapi/plans/get?access_token=${inBody.access_token}`
    const apart = await post(path, { access_token: '0'.repeat(40) })
    expect(apart.body).toMatchObject({ status: 0, code: 17574 })
  })
})

describe('a signature', () => {
  const signed = (key: string, pairs: readonly (readonly [string, string])[]) => {
    const sent = new Map<string, unknown>(pairs)
    return new URLSearchParams([...pairs, ['_sig_', signatureOf(signedText(sent), key)]] as never)
  }

  it('is accepted once; not again, in another order or with another value', async () => {
    const key = await clientSecret('signer', ['read'])
    const time = String(Math.floor(closed.now() / 1000))
    const pairs = [
      ['query', '{"name":"GOLD"}'],
      ['size', '1'],
      ['_t_', time],
    ] as const
    const good = signed(key, pairs)
    const sig = good.get('_sig_') ?? ''
    const path = '/billapi/plans/get'
    const swapped = new URLSearchParams([pairs[1], pairs[0], pairs[2], ['_sig_', sig]] as never)
    const other = new URLSearchParams(good)
    other.set('size', '2')
    for (const tampered of [swapped, other]) {
      expect((await send(`${path}?${tampered}`)).body).toMatchObject({ status: 0, code: 17574 })
    }
    expect((await send(`${path}?${good}`)).body).toMatchObject({ status: 1 })
    expect((await send(`${path}?${good}`)).body).toMatchObject({ status: 0, code: 17574 })
    const late = signed(key, [
      ['size', '1'],
      ['_t_', String(Number(time) - 400)],
    ])
    expect((await send(`${path}?${late}`)).body).toMatchObject({ status: 0, code: 17574 })
    const inBody = signed(key, [
      ['size', '3'],
      ['_t_', time],
    ])
    expect((await send(path, { method: 'POST', body: inBody })).body).toMatchObject({ status: 1 })
  })

  it('covers settings in the order of sending, where names are numbers', async () => {
    const key = await clientSecret('setter', ['read'])
    const time = Math.floor(closed.now() / 1000)
    const text = `{"_t_":${time},"action":"list","data":{"b":1,"10":2,"2":3}}`
    const body = text.replace(/}$/, `,"signature":"${signatureOf(text, key)}"}`)
    const headers = { 'content-type': 'application/json' }
    const answer = await send('/api/settings', { method: 'POST', headers, body })
    expect(answer.body).toMatchObject({ status: 1 })
  })

  it('of an import does not admit parameters of the body, which it does not cover', async () => {
    const key = await clientSecret('importer', ['admin'])
    const time = String(Math.floor(closed.now() / 1000))
    const path = '/billapi/accounts/import'
    const good = signed(key, [['_t_', time]])
    const answer = await post(`${path}?${good}`, { progress: '1', import_id: 'x' })
    expect(answer.body).toMatchObject({ status: 0, code: 17574 })
    const whole = signed(key, [
      ['_t_', time],
      ['progress', '1'],
      ['import_id', 'x'],
    ])
    expect((await post(`${path}?${whole}`, {})).body).not.toMatchObject({ code: 17574 })
  })
})

describe('paths', () => {
  it.each([
    '//billapi/users/get',
    '/billapi//users/get',
    '/billapi/./users/get',
    '/health/../billapi/users/get',
    '/health/live/..%2f..%2fbillapi/users/get',
    '/health%2f..%2fbillapi/users/get',
    '/%62illapi/users/get',
    '/billapi/users;x=/get',
    '/billapi/USERS/get',
    '/BILLAPI/users/get',
    '/billapi/users/GET',
    '/billapi/users/get/',
    '/billapi/users/get/5',
    '/docs/../billapi/users/get',
    '/billapi/%75sers/get',
    '/billapi/users/get%00',
    '/billapi/users%c0%afget',
  ])('%s returns nothing without a login', async (path) => {
    const answer = await get(path)
    expect(answer).not.toContain('"status":1')
    expect(answer).not.toContain(WRITER)
    expect(answer).toMatch(/^HTTP\/1\.1 (?:200|40[0-9]|414)/)
    if (answer.startsWith('HTTP/1.1 200')) expect(answer).toContain('"code":17574')
  })
})

describe('logs and audit records', () => {
  it('have no password, token, cookie, key or signature', async () => {
    const key = await clientSecret('logged', ['read'])
    const cookie = await closed.cookieOf(WRITER, PASSWORD)
    const wrong = 'this-is-not-the-password'
    await post('/auth/login', { username: WRITER, password: wrong })
    await send(`/auth/login?username=${WRITER}&password=${wrong}`)
    await post('/auth/login', { 'username[$ne]': 'x', 'password[$ne]': wrong })
    const grant = { grant_type: 'client_credentials', client_id: 'logged', client_secret: key }
    const { body } = await post('/oauth2/token', grant)
    const token = String(body['access_token'])
    await send(`/billapi/plans/get?access_token=${token}`)
    await send(`/billapi/plans/get?access_token=${token.replace(/^./, 'z')}`)
    await send(`/nothing?access_token=${token}`, { headers: { cookie } })
    const found = [PASSWORD, wrong, key, token, token.slice(1), cookie.split('=')[1] ?? '?']
    const audit = JSON.stringify(await closed.stores.catalog.audit.find().toArray())
    for (const secret of found) {
      expect(logged).not.toContain(secret)
      expect(audit).not.toContain(secret)
    }
    expect(audit).toContain(WRITER)
    const config = JSON.stringify(await closed.stores.catalog.config.find().toArray())
    expect(config).not.toContain(token)
  })

  it('have each login, and who changed what, with the address', async () => {
    const cookie = await closed.cookieOf(BOSS, PASSWORD)
    const update = { key: 'TAX_OF_AUDIT', description: 'x', rate: 0.1 }
    const made = await post('/billapi/taxes/create', { update: JSON.stringify(update) }, { cookie })
    expect(made.body).toMatchObject({ status: 1 })
    const query = JSON.stringify({ collection: 'taxes', key: 'TAX_OF_AUDIT' })
    const { body } = await post('/billapi/audit/get', { query }, { cookie })
    expect(body['details']).toMatchObject([
      { type: 'create', user: { name: BOSS, api: false }, ip: '127.0.0.1', old: null },
    ])
    const logins = JSON.stringify({ collection: 'login', key: `login_${BOSS}` })
    const { body: told } = await post('/billapi/audit/get', { query: logins }, { cookie })
    expect((told['details'] as unknown[]).length).toBeGreaterThan(0)
    const tried = await post('/billapi/audit/delete', { query }, { cookie })
    expect(tried.body).toMatchObject({ status: 0, code: 17575 })
  })
})

describe('a header that is crafted to be slow to parse', () => {
  it('takes no longer than an ordinary one', async () => {
    const blanks = ' '.repeat(15_000)
    const slow = () => get('/api/settings', `Authorization: Bearer${blanks}x y\r\n`)
    const told = await Promise.all(Array.from({ length: 40 }, slow))
    for (const answer of told) expect(answer).toContain('"code":17574')
  }, 5000)
})

describe('every answer', () => {
  it('has the headers that browsers need, and none that reveals versions', async () => {
    for (const path of ['/health/live', '/billapi/plans/get', '/docs', '/nothing']) {
      const { headers } = await send(path)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('access-control-allow-origin')).toBeNull()
      expect(headers.get('server')).toBeNull()
      expect(headers.get('x-powered-by')).toBeNull()
    }
  })
})
