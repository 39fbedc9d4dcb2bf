/** Logins: their answers, refusals, protocols and audit. */
import { describe, expect, it } from 'vitest'
import { createAudit } from '../../src/catalog/audit/audit.ts'
import { openCatalog } from '../../src/catalog/connection.ts'
import { AUTH } from '../../src/catalog/settings/access/auth-settings.ts'
import { notConfigured } from '../../src/identity/login.ts'
import { createPasswords } from '../../src/identity/passwords.ts'
import { createLdap } from '../../src/identity/protocols/ldap.ts'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { openRedis } from '../../src/store/redis.ts'
import {
  addUser,
  BEGIN_MS,
  cookieOf,
  logIn,
  PASSWORD,
  post,
  send,
  USER,
  useAuth,
  who,
} from '../support/identity/login-server.ts'
import { silent } from '../support/recorder/accounts.ts'

const auth = useAuth()
const WRONG = 'the user name or the password is wrong'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function audited() {
  const found = await auth.catalog().audit.find().sort({ urt: 1, _id: 1 }).toArray()
  return found.map(({ type, key, user, ip, new: more }) => [type, key, user.name, ip, more])
}

describe('a login', () => {
  it('returns the answer that clients know', async () => {
    await addUser(auth.catalog(), { last_login: new Date(Date.UTC(2026, 2, 1, 9)) })
    const { http, body, headers } = await logIn(auth.server())
    expect([http, headers['cache-control']]).toEqual([200, 'no-store'])
    expect(body).toEqual({
      status: 1,
      desc: 'success',
      details: {
        user: USER,
        permissions: ['read', 'write'],
        last_login: '2026-03-01T09:00:00+0000',
      },
      input: { username: USER, protocol: 'Internal' },
    })
  })

  it('stores its time without a new revision of the user', async () => {
    await addUser(auth.catalog())
    const before = await auth.catalog().users.findOne()
    expect((await logIn(auth.server())).body.details).toMatchObject({ last_login: null })
    const after = await auth.catalog().users.findOne()
    expect(after).toEqual({ ...before, last_login: new Date(BEGIN_MS) })
  })

  it('is accepted in every encoding, and every spelling of the path', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const fields = { username: USER, password: PASSWORD, protocol: 'Internal' }
    const json = { method: 'POST', url: '/Auth/Login', payload: fields } as const
    expect((await send(world, json)).body.status).toBe(1)
    for (const path of ['/auth/Login', '/Auth/login']) {
      const payload = new URLSearchParams(fields).toString()
      const form = { method: 'POST', url: path, headers: FORM, payload } as const
      expect((await send(world, form)).body.status).toBe(1)
    }
    const parts = Object.entries(fields).map(
      ([name, value]) =>
        `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    const payload = `${parts.join('')}--x--\r\n`
    const multipart = { method: 'POST', url: '/auth/login', headers, payload } as const
    expect((await send(world, multipart)).body.status).toBe(1)
  })

  it.each([
    [{ username: USER, password: 'wrong password' }],
    [{ username: 'nobody@example.org', password: PASSWORD }],
    [{ username: USER.toUpperCase(), password: PASSWORD }],
    [{ username: 'later@example.org', password: PASSWORD }],
    [{ username: 'gone@example.org', password: PASSWORD }],
    [{ username: 'bcrypt@example.org', password: PASSWORD }],
  ])('by %j is refused with the same message, after the same work', async (fields) => {
    const catalog = auth.catalog()
    await addUser(catalog)
    await addUser(catalog, { username: 'later@example.org', from: new Date(BEGIN_MS + 1) })
    const deleted = { deleted: true, deleted_at: new Date(0) }
    await addUser(catalog, { username: 'gone@example.org', ...deleted })
    await addUser(catalog, { username: 'bcrypt@example.org' })
    const bcrypt = `$2y$10$${'a'.repeat(53)}`
    const other = { username: 'bcrypt@example.org' }
    await catalog.users.updateOne(other, { $set: { password: bcrypt } })
    const world = auth.server()
    const { http, body, cookie } = await post(world, 'login', fields)
    expect([http, cookie]).toEqual([200, null])
    const input = { username: fields.username, protocol: 'Internal' }
    expect(body).toMatchObject({ status: 0, desc: WRONG, details: false, input })
    expect(world.compared).toHaveLength(1)
  })

  it('compares a password for an unknown user as for an existing one', async () => {
    const passwords = createPasswords({ runningMax: 1, waitingMax: 0 })
    const stored = await passwords.hash(PASSWORD)
    const cost = /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/
    expect(stored).toMatch(cost)
    // With one comparison at a time and no queue, the second call proves that the comparison for an
    // unknown user takes place.
    const first = passwords.isRight(PASSWORD, null)
    await expect(passwords.isRight(PASSWORD, stored)).rejects.toThrow('too many passwords')
    expect(await first).toBe(false)
    expect(await passwords.isRight(PASSWORD, stored)).toBe(true)
  })
})

describe('fields that are not plain texts', () => {
  it.each([
    ['username[$ne]=&password=x', 'username'],
    ['username=a&password[$gt]=', 'password'],
    ['username[]=a&password=x', 'username'],
    ['username=a&password=x&provider[$ne]=', 'provider'],
    ['username=a%00b&password=x', 'username'],
    ['username=a&password=x%00', 'password'],
    ['username=a%0d%0ax: y&password=x', 'username'],
    [`username=${'a'.repeat(255)}&password=x`, 'username'],
    [`username=a&password=${'x'.repeat(257)}`, 'password'],
  ])('%.40s is refused by name, before any lookup', async (payload, field) => {
    await addUser(auth.catalog())
    const world = auth.server()
    const options = { method: 'POST', url: '/auth/login', headers: FORM, payload } as const
    const { http, body, cookie } = await send(world, options)
    expect([http, body.status, body.details, cookie]).toEqual([200, 0, false, null])
    expect(body.desc).toMatch(new RegExp(`^${field} must `))
    expect(world.compared).toEqual([])
    expect(await auth.redis().client.keys('*')).toEqual([])
  })

  it.each([
    { username: { $ne: null }, password: { $ne: null } },
    { username: USER, password: { $regex: '.*' } },
    { username: [USER], password: PASSWORD },
    { username: USER, password: 12_345_678 },
    { username: USER, password: true },
    { username: USER, password: '\ud800aaaaaaaa' },
  ])('%j in JSON is refused', async (payload) => {
    await addUser(auth.catalog())
    const world = auth.server()
    const { body, cookie } = await send(world, { method: 'POST', url: '/auth/login', payload })
    expect([body.status, cookie]).toEqual([0, null])
    expect(body.desc).toMatch(/^(username|password) must be/)
    expect(world.compared).toEqual([])
  })

  it.each([
    [{ username: USER, password: '' }, 'password is missing'],
    [{ password: PASSWORD }, 'username is missing'],
  ])('%j lacks one', async (fields, desc) => {
    const world = auth.server()
    expect((await post(world, 'login', fields)).body).toMatchObject({ status: 0, desc })
    expect(world.compared).toEqual([])
  })
})

describe('credentials in the address', () => {
  it.each(['password=x', 'username=x', 'new_password=x', 'PassWord=x', '%70assword[a]=x'])(
    '%s are refused, by GET and by POST',
    async (query) => {
      const world = auth.server()
      const url = `/auth/login?${query}`
      const read = await send(world, { method: 'GET', url })
      expect([read.http, read.headers['allow'], read.body.status]).toEqual([405, 'POST', 0])
      const payload = new URLSearchParams({ username: USER, password: PASSWORD }).toString()
      for (const path of ['login', 'password']) {
        const sent = { method: 'POST', url: `/auth/${path}?${query}`, headers: FORM, payload }
        const { http, body } = await send(world, { ...sent, method: 'POST' })
        expect([http, body.code, body.details]).toEqual([400, 400, false])
        expect(body.desc).toContain('must be in the body')
      }
      expect(world.compared).toEqual([])
    },
  )
})

describe('a login protocol', () => {
  const directory = { id: 'cn=ops', name: 'Ops', roles: ['read'] }

  it.each(['oidc', 'constructor', '__proto__', '../ldap', 'a b', 'x\r\ny'])(
    '%j is not known',
    async (protocol) => {
      const fields = { username: USER, password: PASSWORD, protocol }
      const { http, body } = await post(auth.server(), 'login', fields)
      expect([http, body.status]).toEqual([400, 0])
      expect(body.desc).toContain('protocol')
      expect(body.desc).not.toMatch(/[\r\n]/)
    },
  )

  it('of a directory returns the identity and the roles of the user', async () => {
    const asked: unknown[] = []
    const ldap = {
      type: 'ldap',
      isConfigured: async () => true,
      login: async (...given: unknown[]) => {
        asked.push(given)
        return { user: directory }
      },
    }
    const world = auth.server({ protocols: { password: [ldap] } })
    const fields = { username: 'ops', password: 'x', protocol: 'LDAP', provider: 'corp' }
    const { body, cookie } = await post(world, 'login', fields)
    expect(asked).toEqual([['ops', 'x', 'corp']])
    const details = { user: 'Ops', permissions: ['read'], last_login: null }
    const input = { username: 'ops', protocol: 'Ldap', provider: 'corp' }
    expect(body).toEqual({ status: 1, desc: 'success', details, input })
    const { body: later } = await who(world, cookie)
    expect(later).toMatchObject({ status: 1, details: { ...details, protocol: 'Ldap' } })
    const change = { password: 'x', new_password: 'a quite long one' }
    const { body: refused } = await post(world, 'password', change, cookie)
    expect(refused).toMatchObject({ status: 0, details: false })
  })

  it('that is unavailable or refuses opens no session; only a refusal counts', async () => {
    let answer: 'refused' | 'unavailable' = 'unavailable'
    const ldap = { type: 'ldap', isConfigured: async () => true, login: async () => answer }
    const world = auth.server({ protocols: { password: [ldap] } })
    const fields = { username: 'ops', password: 'x', protocol: 'ldap' }
    for (let tries = 0; tries < 8; tries += 1) {
      expect((await post(world, 'login', fields)).http).toBe(503)
    }
    answer = 'refused'
    const { body } = await post(world, 'login', fields)
    expect(body).toMatchObject({ status: 0, desc: WRONG })
  })

  it('without a configured provider is reported, and counts no attempt', async () => {
    const ldap = createLdap({
      settings: { get: async () => AUTH.read({ protocols: [] }) as never },
      log: silent,
      sealer: { open: () => null },
    })
    const world = auth.server({ protocols: { password: [ldap] } })
    const fields = { username: 'ops', password: 'x', protocol: 'ldap' }
    for (let tries = 0; tries < 8; tries += 1) {
      const { http, body } = await post(world, 'login', fields)
      expect([http, body.desc]).toEqual([400, notConfigured('ldap', undefined)])
    }
    const named = await post(world, 'login', { ...fields, provider: 'corp' })
    expect([named.http, named.body.desc]).toEqual([400, notConfigured('ldap', 'corp')])
  })

  it('that redirects the user returns the target', async () => {
    const saml = {
      type: 'saml',
      begin: async (provider: string | undefined) =>
        provider === 'corp' ? { redirect: 'https://idp.example.net/?x' } : ('unknown' as const),
    }
    const world = auth.server({ protocols: { redirect: [saml] } })
    const { body } = await post(world, 'login', { protocol: 'saml', provider: 'corp' })
    const details = { redirect: 'https://idp.example.net/?x' }
    expect(body).toMatchObject({ status: 1, details, input: { protocol: 'Saml' } })
    const other = await post(world, 'login', { protocol: 'saml', provider: 'x' })
    expect([other.http, other.body.desc]).toEqual([400, notConfigured('saml', 'x')])
    const none = await post(world, 'login', { protocol: 'saml' })
    expect([none.http, none.body.desc]).toEqual([400, notConfigured('saml', undefined)])
  })

  it('is listed without a login', async () => {
    const options = [{ type: 'saml', label: 'Corp', name: 'corp' }]
    const world = auth.server({ protocols: { options: async () => options } })
    for (const url of ['/auth/options', '/Auth/Options']) {
      const { body } = await send(world, { method: 'GET', url })
      expect(body).toEqual({ status: 1, desc: 'success', details: { protocols: options } })
    }
  })
})

describe('the audit of logins', () => {
  it('has every login, successful or not, and every logout; never a password', async () => {
    const id = await addUser(auth.catalog())
    const world = auth.server()
    await logIn(world, USER, 'not this secret')
    await logIn(world, 'a"b\u2028c@example.org', 'nor that secret')
    const cookie = await cookieOf(world)
    await post(world, 'logout', {}, cookie)
    const ip = '127.0.0.1'
    expect(await audited()).toEqual([
      ['login_failed', `login_${USER}`, USER, ip, { reason: 'wrong' }],
      ['login_failed', 'login_(unknown)', '', ip, { reason: 'wrong' }],
      ['login', `login_${USER}`, USER, ip, { protocol: 'internal' }],
      ['logout', `login_${USER}`, USER, ip, null],
    ])
    const all = JSON.stringify(await auth.catalog().audit.find().toArray()) + world.logged()
    for (const secret of [PASSWORD, 'not this secret', 'nor that secret', cookie, '$argon2']) {
      expect(all).not.toContain(secret)
    }
    expect(all).toContain(id)
    expect(world.logged()).toContain('login refused')
  })

  it('has keys of bounded length', async () => {
    const username = `${'x'.repeat(242)}@example.org`
    await addUser(auth.catalog(), { username })
    await logIn(auth.server(), username, 'wrong one')
    expect(String((await audited())[0]?.[1])).toHaveLength(128)
  })
})

describe('logins while a store is unavailable', () => {
  it('Redis: are refused', async () => {
    await addUser(auth.catalog())
    const url = 'redis://127.0.0.1:1'
    const redis = openRedis({ url, commandTimeoutMs: 200, connectTimeoutMs: 200 }, silent)
    try {
      const world = auth.server({ deps: { keys: openExpiringKeys(redis, 'auth') } })
      const cookie = 'A'.repeat(43)
      const answers = [await logIn(world), await who(world, cookie)]
      for (const path of ['logout', 'password']) answers.push(await post(world, path, {}, cookie))
      for (const { http, body, cookie: set } of answers) {
        expect([http, body.status, set]).toEqual([503, 0, null])
      }
      expect(world.compared).toEqual([])
    } finally {
      await redis.close()
    }
  })

  it('MongoDB: are refused, and lock no user', async () => {
    await addUser(auth.catalog())
    const url = 'mongodb://127.0.0.1:1/'
    const catalog = await openCatalog({ url, database: 'x', timeoutMs: 200, appName: 'test' })
    try {
      const { deps } = auth.server()
      const { settings } = deps
      const away = auth.server({ deps: { catalog, settings, audit: createAudit(catalog) } })
      for (let tries = 0; tries < 6; tries += 1) {
        expect(await logIn(away)).toMatchObject({ http: 503, cookie: null })
      }
    } finally {
      await catalog.close()
    }
    expect((await logIn(auth.server())).body.status).toBe(1)
  })
})
