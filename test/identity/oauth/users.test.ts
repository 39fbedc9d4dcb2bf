import { beforeEach, describe, expect, it } from 'vitest'
import {
  type Answer,
  basic,
  type Fields,
  NOW_MS,
  PASSWORD,
  useOAuthServer,
  userNow,
} from '../../support/identity/oauth/oauth-server.ts'

const scene = useOAuthServer()
const ALL = ['client_credentials', 'password', 'refresh_token']
const LOGIN = { grant_type: 'password', username: 'ops', password: PASSWORD }

let secret = ''
beforeEach(async () => {
  await scene.security({ oauth: { grants: ALL } })
  secret = await scene.client({ name: 'app', grants: ALL, roles: ['read', 'write'] })
  setUser({})
})

function setUser(given: { roles?: string[]; mustChangePassword?: boolean; passwordMark?: string }) {
  scene.users.set('u1', userNow(given))
}

const ask = (form: Fields, name = 'app', key = secret) => scene.ask(form, basic(name, key))
const refresh = (token: string | undefined, more: Fields = {}) =>
  ask({ grant_type: 'refresh_token', refresh_token: token ?? '', ...more })
const check = ({ body }: Answer) => scene.check(body['access_token'] ?? '')
const statusAndError = ({ http, body }: Answer) => [http, body['error']]

describe('a token by the password of a user', () => {
  it('lets the client do what both may, on behalf of the user', async () => {
    const answer = await ask(LOGIN)
    expect([answer.http, answer.body]).toEqual([
      200,
      {
        access_token: expect.stringMatching(/^[0-9a-f]{40}$/),
        refresh_token: expect.stringMatching(/^[0-9a-f]{40}$/),
        expires_in: 3600,
        token_type: 'Bearer',
        scope: null,
      },
    ])
    const user = { id: 'u1', name: 'ops' }
    expect(await check(answer)).toEqual({ name: 'app', roles: ['read'], user })
    setUser({ roles: ['admin'] })
    expect(await check(answer)).toEqual({ name: 'app', roles: ['read', 'write'], user })
    setUser({ roles: ['reports'] })
    expect(await check(answer)).toEqual({ name: 'app', roles: [], user })
    await scene.client({ name: 'app', roles: ['admin'] })
    expect(await check(answer)).toEqual({ name: 'app', roles: ['reports'], user })
  })

  it('ends with the user, and is not accepted while a password has to be changed', async () => {
    const answer = await ask(LOGIN)
    setUser({ mustChangePassword: true })
    expect(await check(answer)).toBeNull()
    expect(statusAndError(await refresh(answer.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
    expect(statusAndError(await ask(LOGIN))).toEqual([401, 'invalid_grant'])
    scene.users.clear()
    expect(await check(answer)).toBeNull()
    expect(statusAndError(await refresh(answer.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
  })

  it('ends with the password it was issued for', async () => {
    const answer = await ask(LOGIN)
    setUser({ passwordMark: 'another' })
    expect(await check(answer)).toBeNull()
    expect(statusAndError(await refresh(answer.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
    expect(await check(await ask(LOGIN))).not.toBeNull()
  })

  it('is refused for a wrong password, and limited like a login', async () => {
    const wrong = await ask({ ...LOGIN, password: 'wrong' })
    const unknown = await ask({ ...LOGIN, username: 'nobody' })
    expect(statusAndError(wrong)).toEqual([401, 'invalid_grant'])
    expect([unknown.http, unknown.body]).toEqual([wrong.http, wrong.body])
    const slow = await ask({ ...LOGIN, username: 'slow' })
    expect([slow.http, slow.headers.get('retry-after')]).toEqual([429, '17'])
    const record = { error: 'invalid_grant', grant: 'password' }
    expect(await scene.audit()).toMatchObject([
      { type: 'refused', key: 'app', new: record, count: 2 },
    ])
    for (const left of [await scene.audit(), scene.logs]) {
      expect(JSON.stringify(left)).not.toContain('nobody')
    }
  })

  it.each([[{ username: '' }], [{ password: '' }]])('is refused with %j', async (missing) => {
    expect(statusAndError(await ask({ ...LOGIN, ...missing }))).toEqual([400, 'invalid_request'])
  })

  it('requires the grant of the node and of the client', async () => {
    const plain = await scene.client({ name: 'plain' })
    expect(statusAndError(await ask(LOGIN, 'plain', plain))).toEqual([400, 'unauthorized_client'])
    await scene.security({})
    expect(statusAndError(await ask(LOGIN))).toEqual([400, 'unsupported_grant_type'])
    expect(statusAndError(await refresh('0'.repeat(40)))).toEqual([400, 'unsupported_grant_type'])
  })

  it('comes with a refresh token only if that grant is allowed', async () => {
    const grants = ['password']
    const only = await scene.client({ name: 'only', grants })
    expect((await ask(LOGIN, 'only', only)).body).not.toHaveProperty('refresh_token')
    await scene.security({ oauth: { grants } })
    expect((await ask(LOGIN)).body).not.toHaveProperty('refresh_token')
    const own = await scene.ask({ grant_type: 'client_credentials' }, basic('app', secret))
    expect(statusAndError(own)).toEqual([400, 'unsupported_grant_type'])
  })
})

describe('a refresh token', () => {
  it('returns another pair, and is used up', async () => {
    const first = await ask({ ...LOGIN, scope: 'global' })
    const second = await refresh(first.body['refresh_token'])
    expect([second.http, second.body['scope']]).toEqual([200, 'global'])
    const third = await refresh(second.body['refresh_token'], { scope: 'global' })
    for (const answer of [first, second, third]) {
      expect(await check(answer)).toMatchObject({ user: { id: 'u1' } })
    }
    const pairs = [first, second, third].flatMap(({ body }) => [
      body['access_token'],
      body['refresh_token'],
    ])
    expect(new Set(pairs).size).toBe(6)
    expect((await scene.audit()).map(({ type }) => type)).toEqual(['token', 'token', 'token'])
  })

  it('that is reused ends all tokens of its login, and no others', async () => {
    const first = await ask(LOGIN)
    const other = await ask(LOGIN)
    const second = await refresh(first.body['refresh_token'])
    expect(statusAndError(await refresh(first.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
    expect([await check(first), await check(second)]).toEqual([null, null])
    expect(statusAndError(await refresh(second.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
    expect(await check(other)).not.toBeNull()
    expect((await refresh(other.body['refresh_token'])).http).toBe(200)
    expect((await scene.audit()).map(({ type }) => type)).toContain('reuse')
    expect(scene.logs.map(({ msg }) => msg)).toContain(
      'a refresh token was used twice: all tokens of its login are revoked',
    )
  })

  it('that is sent many times concurrently succeeds once at most', async () => {
    const { body } = await ask(LOGIN)
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => refresh(body['refresh_token'])),
    )
    expect(answers.filter(({ http }) => http === 200).length).toBeLessThanOrEqual(1)
    for (const answer of answers) expect(await check(answer)).toBeNull()
  })

  it('is not used up by a refused request', async () => {
    const { body } = await ask(LOGIN)
    const token = body['refresh_token'] ?? ''
    const other = await scene.client({ name: 'other', grants: ALL })
    const form = { grant_type: 'refresh_token', refresh_token: token }
    expect(statusAndError(await ask(form, 'other', other))).toEqual([400, 'invalid_grant'])
    for (const scope of ['global', 'other']) {
      expect(statusAndError(await refresh(token, { scope }))).toEqual([400, 'invalid_scope'])
    }
    expect((await refresh(token)).http).toBe(200)
  })

  it('is valid for its lifetime, while its client has the same secret', async () => {
    const [first, second] = [await ask(LOGIN), await ask(LOGIN)]
    scene.nowMs = NOW_MS + 14 * 24 * 3_600_000 - 1
    expect((await refresh(first.body['refresh_token'])).http).toBe(200)
    scene.nowMs += 1
    expect(statusAndError(await refresh(second.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
    const last = await ask(LOGIN)
    secret = await scene.client({ name: 'app', key: 'f'.repeat(32) })
    expect(statusAndError(await refresh(last.body['refresh_token']))).toEqual([
      400,
      'invalid_grant',
    ])
  })

  it('is not accepted as an access token, nor the other way round', async () => {
    const { body } = await ask(LOGIN)
    expect(await scene.check(body['refresh_token'] ?? '')).toBeNull()
    expect(statusAndError(await refresh(body['access_token']))).toEqual([400, 'invalid_grant'])
    expect(statusAndError(await refresh(''))).toEqual([400, 'invalid_request'])
  })

  it('ends all tokens of its login when it is revoked', async () => {
    const answer = await ask(LOGIN)
    const token = answer.body['refresh_token'] ?? ''
    const { http } = await scene.revoke({ client_id: 'app', client_secret: secret, token })
    expect([http, await check(answer)]).toEqual([200, null])
    expect(statusAndError(await refresh(token))).toEqual([400, 'invalid_grant'])
  })

  it('is stored in Redis as a digest, like everything of a login', async () => {
    const { body } = await ask(LOGIN)
    await refresh(body['refresh_token'])
    const keys = await scene.redis.client.keys('*')
    const values = await Promise.all(keys.map((key) => scene.redis.client.get(key)))
    const left = JSON.stringify([keys, values, await scene.audit(), scene.logs])
    for (const text of [body['refresh_token'], body['access_token'], PASSWORD, secret]) {
      expect(left).not.toContain(text)
    }
    const lifetimes = await Promise.all(keys.map((key) => scene.redis.client.pttl(key)))
    expect(lifetimes.every((leftMs) => leftMs > 0)).toBe(true)
  })
})
