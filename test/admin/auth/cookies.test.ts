import { describe, expect, it } from 'vitest'
import type { LoginServer } from '../../support/identity/login-server.ts'
import {
  addUser,
  cookieOf,
  logIn,
  PASSWORD,
  post,
  send,
  USER,
  useAuth,
  who,
} from '../../support/identity/login-server.ts'

const auth = useAuth()
const TLS = { 'x-forwarded-proto': 'https' }

function withCookies(world: LoginServer, cookie: string, headers = {}) {
  return send(world, { method: 'GET', url: '/auth/login', headers: { cookie, ...headers } })
}

describe('the session cookie', () => {
  it('is hidden from scripts and from other sites', async () => {
    await addUser(auth.catalog())
    const { setCookie } = await logIn(auth.server())
    expect(setCookie).toMatch(
      /^tollgate_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax, tollgate_device_/,
    )
    const lasting = 'Max-Age=15552000; Path=/; HttpOnly; SameSite=Lax'
    expect(setCookie.split(lasting)).toEqual([expect.stringMatching(/tollgate_device_.*; $/), ''])
  })

  it('is only sent over TLS behind TLS, where no other cookie is accepted', async () => {
    await addUser(auth.catalog())
    const world = auth.server({ trustedProxies: ['127.0.0.1'] })
    const payload = { username: USER, password: PASSWORD }
    const options = { method: 'POST', url: '/auth/login', headers: TLS, payload } as const
    const { setCookie, cookie } = await send(world, options)
    const [session, device] = setCookie.split(', ')
    expect(session).toMatch(
      /^__Host-tollgate_session=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    )
    expect(device).toMatch(/^__Host-tollgate_device_.*; HttpOnly; Secure; SameSite=Lax$/)
    const secure = `__Host-tollgate_session=${cookie}`
    const planted = `tollgate_session=${await cookieOf(world)}`
    expect((await withCookies(world, secure, TLS)).body.status).toBe(1)
    expect((await withCookies(world, planted, TLS)).body.status).toBe(0)
    expect((await withCookies(world, secure)).body.status).toBe(0)
  })

  it('is the one without TLS unless a trusted proxy reports TLS', async () => {
    await addUser(auth.catalog())
    const payload = { username: USER, password: PASSWORD }
    const options = { method: 'POST', url: '/auth/login', headers: TLS, payload } as const
    expect((await send(auth.server(), options)).setCookie).toMatch(/^tollgate_session=/)
  })

  it('is ignored if its name occurs twice', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const [first, second] = [await cookieOf(world), await cookieOf(world)]
    const good = `tollgate_session=${first}`
    for (const other of [second, first, 'x', '']) {
      const both = `${good}; a=b; tollgate_session=${other}`
      expect((await withCookies(world, both)).body.status).toBe(0)
    }
    expect((await withCookies(world, `a=b; ${good};c=d`)).body.status).toBe(1)
    expect((await withCookies(world, `xtollgate_session=${first}`)).body.status).toBe(0)
  })
})

describe('session fixation', () => {
  it.each(['A'.repeat(43), 'attacker'])(
    'with %s, chosen by the client, is never possible',
    async (id) => {
      await addUser(auth.catalog())
      const world = auth.server()
      const { cookie } = await post(world, 'login', { username: USER, password: PASSWORD }, id)
      expect(cookie).toMatch(/^[\w-]{43}$/)
      expect(cookie).not.toBe(id)
      expect((await who(world, id)).body.status).toBe(0)
    },
  )

  it('with a session of the attacker ends that session', async () => {
    await addUser(auth.catalog())
    await addUser(auth.catalog(), { username: 'evil@example.org' })
    const world = auth.server()
    const planted = await cookieOf(world, 'evil@example.org')
    const fields = { username: USER, password: PASSWORD }
    const { cookie } = await post(world, 'login', fields, planted)
    expect((await who(world, planted)).body.status).toBe(0)
    expect((await who(world, cookie)).body).toMatchObject({ details: { user: USER } })
  })

  it('by a failed login is not possible: the session stays', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const cookie = await cookieOf(world)
    const fields = { username: USER, password: 'wrong password' }
    expect((await post(world, 'login', fields, cookie)).body.status).toBe(0)
    expect((await who(world, cookie)).body.status).toBe(1)
  })
})

describe('logout', () => {
  it('ends the session of a stolen cookie', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const stolen = await cookieOf(world)
    const { http, body, setCookie } = await post(world, 'logout', {}, stolen)
    expect(http).toBe(200)
    expect(body).toEqual({ status: 1, desc: 'success', details: true, input: {} })
    expect(setCookie).toMatch(/^tollgate_session=; Max-Age=0; Path=\//)
    expect((await who(world, stolen)).body.status).toBe(0)
  })

  it('ends the former ids as well', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const stolen = await cookieOf(world)
    world.pass(20 * 60_000)
    const { cookie } = await who(world, stolen)
    await post(world, 'logout', {}, cookie)
    expect((await who(world, stolen)).body.status).toBe(0)
  })

  it('returns the same answer without a session', async () => {
    const { http, body } = await post(auth.server(), 'logout')
    expect([http, body.status, body.details]).toEqual([200, 1, true])
  })
})
