/** The second factor: set-up, request at the login, single use, guessing, loss. */
import { generateSync } from 'otplib'
import { describe, expect, it } from 'vitest'
import { createLoginProtection } from '../../../src/admin/auth/session-routes.ts'
import { createPasswords } from '../../../src/identity/passwords.ts'
import { createSessionCheck } from '../../../src/identity/session-check.ts'
import { createUserVerifier } from '../../../src/identity/verify-user.ts'
import {
  addUser,
  cookieOf,
  type LoginAnswer,
  type LoginServer,
  PASSWORD,
  post,
  send,
  setSecurity,
  USER,
  useAuth,
  who,
} from '../../support/identity/login-server.ts'

const auth = useAuth()
const STEP_MS = 30_000
const WRONG_CODE = 'the code of the second factor is wrong, or was used before'

const codeNow = (world: LoginServer, secret: string, steps = 0) =>
  generateSync({ secret, epoch: world.now() / 1000 + 30 * steps })

const logIn = (world: LoginServer, totp?: string, username = USER): Promise<LoginAnswer> =>
  post(world, 'login', { username, password: PASSWORD, ...(totp !== undefined && { totp }) })

/** Sets one up, with its recovery codes; the next code is unused. */
async function enrolled() {
  await addUser(auth.catalog())
  const world = auth.server()
  const cookie = await cookieOf(world)
  const { secret, uri } = (await post(world, 'totp/begin', {}, cookie)).body.details as {
    secret: string
    uri: string
  }
  const totp = codeNow(world, secret)
  const confirmed = await post(world, 'totp/confirm', { totp }, cookie)
  const { recovery_codes: codes } = confirmed.body.details as { recovery_codes: string[] }
  world.pass(STEP_MS)
  return { world, cookie, secret, uri, codes, used: totp }
}

async function state(world: LoginServer, cookie: string | null) {
  const headers = { cookie: `tollgate_session=${cookie}` }
  return (await send(world, { method: 'GET', url: '/auth/totp', headers })).body
}

describe('a second factor', () => {
  it('is set up by a secret that is shown once, and a code of it', async () => {
    const { world, cookie, secret, uri, codes } = await enrolled()
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(uri).toBe(
      `otpauth://totp/Tollgate:${encodeURIComponent(USER)}?secret=${secret}&issuer=Tollgate`,
    )
    expect(codes).toHaveLength(10)
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) expect(code).toMatch(/^([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}$/)
    const stored = JSON.stringify(await auth.catalog().secondfactors.find().toArray())
    const written =
      stored + world.logged() + JSON.stringify(await auth.catalog().audit.find().toArray())
    for (const each of [secret, ...codes]) expect(written).not.toContain(each)
    expect(stored).toMatch(/"secret":"v2:[0-9a-f]{8}:/)
    expect(await state(world, cookie)).toMatchObject({
      status: 1,
      details: { enrolled: true, recovery_codes_left: 10, required: false },
    })
  })

  it('is required only after it was confirmed', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const cookie = await cookieOf(world)
    const early = await post(world, 'totp/confirm', { totp: '123456' }, cookie)
    expect(early.body.desc).toBe('begin first: POST /auth/totp/begin')
    await post(world, 'totp/begin', {}, cookie)
    const wrong = await post(world, 'totp/confirm', { totp: '000000' }, cookie)
    expect(wrong.body).toMatchObject({ status: 0, desc: WRONG_CODE })
    expect((await logIn(world)).body.status).toBe(1)
    expect((await post(world, 'totp/begin')).body.desc).toBe('nobody is logged in')
  })

  it('is not begun by a request that has seen none, once there is one', async () => {
    const { world, cookie } = await enrolled()
    const { catalog } = auth
    const [stored] = await catalog().secondfactors.find().toArray()
    const id = stored?._id ?? ''
    await expect(world.factors.begin(id, USER, null)).rejects.toThrow('set up by another request')
    expect(await catalog().secondfactors.find().toArray()).toEqual([stored])
    expect(await state(world, cookie)).toMatchObject({ details: { enrolled: true } })
  })

  it('ends the other sessions of the user, which had none', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const [other, own] = [await cookieOf(world), await cookieOf(world)]
    const { details } = (await post(world, 'totp/begin', {}, own)).body
    const totp = codeNow(world, (details as { secret: string }).secret)
    await post(world, 'totp/confirm', { totp }, own)
    expect((await who(world, own)).body.status).toBe(1)
    expect((await who(world, other)).body.status).toBe(0)
  })

  it('is replaced, removed and given other recovery codes by a user who proves it', async () => {
    const { world, cookie, secret, codes } = await enrolled()
    for (const path of ['totp/begin', 'totp/codes', 'totp/remove']) {
      const without = await post(world, path, {}, cookie)
      expect([path, without.body.desc]).toEqual([path, 'totp is missing'])
      expect((await post(world, path, { totp: '000000' }, cookie)).body.desc).toBe(WRONG_CODE)
    }
    const others = await post(world, 'totp/codes', { totp: codes[0] ?? '' }, cookie)
    const { recovery_codes: next } = others.body.details as { recovery_codes: string[] }
    expect(next.some((code) => codes.includes(code))).toBe(false)
    expect((await logIn(world, codes[1])).body.status).toBe(0)
    expect((await logIn(world, next[0])).body.status).toBe(1)
    const begun = await post(world, 'totp/begin', { totp: codeNow(world, secret) }, cookie)
    expect(begun.body.status).toBe(1)
    world.pass(STEP_MS)
    expect((await logIn(world, codeNow(world, secret))).body.status).toBe(1)
    world.pass(STEP_MS)
    const removed = await post(world, 'totp/remove', { totp: codeNow(world, secret) }, cookie)
    expect(removed.body).toMatchObject({ status: 1, details: true })
    expect((await logIn(world)).body.status).toBe(1)
  })
})

describe('a login with a second factor', () => {
  it('reports a missing code, opens no session, and accepts both together', async () => {
    const { world, secret } = await enrolled()
    const first = await logIn(world)
    expect(first.cookie).toBeNull()
    expect(first.body).toMatchObject({ status: 0, details: { totp_required: true } })
    expect(first.body.desc).toContain('totp is missing')
    const second = await logIn(world, codeNow(world, secret))
    expect(second.body).toMatchObject({ status: 1, details: { user: USER } })
    expect(second.cookie).not.toBeNull()
  })

  it('does not reveal it without the password', async () => {
    const { world, secret } = await enrolled()
    for (const totp of ['', codeNow(world, secret)]) {
      const { body } = await post(world, 'login', { username: USER, password: 'wrong', totp })
      expect(body).toMatchObject({ desc: 'the user name or the password is wrong', details: false })
    }
  })

  it('accepts a code once, also when it is sent twice concurrently', async () => {
    const { world, secret, used } = await enrolled()
    expect((await logIn(world, used)).body.desc).toBe(WRONG_CODE)
    const totp = codeNow(world, secret)
    const answers = await Promise.all([logIn(world, totp), logIn(world, totp), logIn(world, totp)])
    expect(answers.map(({ body }) => body.status).sort()).toEqual([0, 0, 1])
    expect((await logIn(world, totp)).body.desc).toBe(WRONG_CODE)
  })

  it('accepts the code of the step before and after, and no other', async () => {
    const { world, secret } = await enrolled()
    world.pass(10 * STEP_MS)
    const verdicts: [number, number][] = []
    for (const steps of [-2, -1, 1, 2]) {
      verdicts.push([steps, (await logIn(world, codeNow(world, secret, steps))).body.status])
    }
    expect(verdicts).toEqual([
      [-2, 0],
      [-1, 1],
      [1, 1],
      [2, 0],
    ])
  })

  it('accepts each recovery code once, in any spelling, and records its use', async () => {
    const { world, codes } = await enrolled()
    const [code = ''] = codes
    const typed = code.toUpperCase().replaceAll('-', ' ')
    const both = await Promise.all([logIn(world, typed), logIn(world, code)])
    expect(both.map(({ body }) => body.status).sort()).toEqual([0, 1])
    expect((await logIn(world, code)).body.desc).toBe(WRONG_CODE)
    const [record] = await auth.catalog().audit.find({ type: 'recovery_code' }).toArray()
    expect(record).toMatchObject({ key: `login_${USER}`, new: { left: 9 } })
  })

  it('locks a user after wrong codes; the password alone resets nothing', async () => {
    const { world, secret } = await enrolled()
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await logIn(world, '000000')).http).toBe(200)
    }
    expect((await logIn(world, codeNow(world, secret))).http).toBe(429)
    const reasons = await auth.catalog().audit.find({ type: 'login_failed' }).toArray()
    expect(reasons[0]?.new).toEqual({ reason: 'wrong_code' })
    world.pass(3_600_000)
    await auth.redis().client.flushall()
    for (let tries = 0; tries < 4; tries += 1) await logIn(world, '000000')
    await logIn(world)
    expect((await logIn(world, '000000')).http).toBe(200)
    expect((await logIn(world)).http).toBe(429)
    expect((await logIn(world, codeNow(world, secret))).http).toBe(429)
  })

  it('is needed for a change of the password without a session, and for tokens', async () => {
    const { world, secret, codes } = await enrolled()
    const change = { username: USER, password: PASSWORD, new_password: 'another good one' }
    const refused = await post(world, 'password', change)
    expect(refused.body.details).toEqual({ totp_required: true })
    const from = { client: 'crm', address: '::1' }
    const verify = createUserVerifier({
      ...world.deps,
      sessions: world.sessions,
      users: world.users,
      factors: world.factors,
      passwords: createPasswords(),
      ...createLoginProtection({ ...world.deps, users: world.users }),
      protocols: { password: [], redirect: [] },
    })
    expect(await verify(USER, PASSWORD, { ...from, totp: null })).toMatchObject({
      refused: expect.stringContaining('totp is missing'),
    })
    expect(await verify(USER, PASSWORD, { ...from, totp: '000000' })).toBeNull()
    expect(await verify(USER, PASSWORD, { ...from, totp: codes[0] ?? '' })).toMatchObject({
      name: USER,
    })
    const totp = codeNow(world, secret)
    expect((await post(world, 'password', { ...change, totp })).body.status).toBe(1)
  })

  it('refuses codes in the address, and codes that are not texts', async () => {
    const { world } = await enrolled()
    const url = '/auth/login?totp=123456'
    expect((await send(world, { method: 'POST', url, payload: {} })).http).toBe(400)
    const payload = { username: USER, password: PASSWORD, totp: { $ne: '' } }
    const { body } = await send(world, { method: 'POST', url: '/auth/login', payload })
    expect(body.desc).toBe('totp must be a plain text')
  })
})

describe('a second factor that a role requires', () => {
  it('has to be set up before anything else, and cannot be removed', async () => {
    await setSecurity(auth.catalog(), { totp: { required_roles: ['write'] } })
    await addUser(auth.catalog())
    const world = auth.server()
    const login = await logIn(world)
    expect(login.body).toMatchObject({ status: 1, details: { must_enrol_totp: true } })
    const check = createSessionCheck(world)
    expect((await check(login.cookie))?.user.mustEnrolTotp).toBe(true)
    const begun = await post(world, 'totp/begin', {}, login.cookie)
    const { secret } = begun.body.details as { secret: string }
    const totp = codeNow(world, secret)
    const confirmed = await post(world, 'totp/confirm', { totp }, login.cookie)
    expect(confirmed.body.status).toBe(1)
    expect((await check(login.cookie))?.user.mustEnrolTotp).toBe(false)
    world.pass(STEP_MS)
    const code = codeNow(world, secret)
    const removed = await post(world, 'totp/remove', { totp: code }, login.cookie)
    expect(removed.body.desc).toContain('a role of the user requires')
    expect((await logIn(world, code)).body.details).not.toHaveProperty('must_enrol_totp')
  })

  it('is not required of other roles; a forced change of the password comes first', async () => {
    await setSecurity(auth.catalog(), { totp: { required_roles: ['admin'] } })
    await addUser(auth.catalog(), { must_change_password: true })
    const world = auth.server()
    const { body, cookie } = await logIn(world)
    expect(body.details).not.toHaveProperty('must_enrol_totp')
    expect((await post(world, 'totp/begin', {}, cookie)).body.desc).toBe(
      'the password must be changed first: POST /auth/password',
    )
  })
})
