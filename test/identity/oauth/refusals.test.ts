import { describe, expect, it } from 'vitest'
import {
  type Answer,
  basic,
  type Fields,
  FORM,
  PASSWORD,
  useOAuthServer,
  userNow,
} from '../../support/identity/oauth/oauth-server.ts'

const scene = useOAuthServer()
const GRANT = { grant_type: 'client_credentials' }
const JSON_BODY = { 'content-type': 'application/json' }
const statusAndError = ({ http, body }: Answer) => [http, body['error']]
const post = (body: string | FormData, headers: Fields = {}, path = '/oauth2/token') =>
  scene.send(path, { method: 'POST', body, headers })

function expectRefusal(answer: Answer, http: number, error: string, sent?: unknown): void {
  expect([...statusAndError(answer), sent]).toEqual([http, error, sent])
  expect(answer.body.status).toBe(0)
  expect(Object.keys(answer.body).slice(0, 3)).toEqual(['status', 'error', 'error_description'])
  expect(answer.body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
}

describe('the token endpoint refuses', () => {
  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('%s', async (method) => {
    for (const path of ['/oauth2/token', '/oauth2/revoke']) {
      const answer = await scene.send(path, { method })
      expectRefusal(answer, 405, 'invalid_request')
      expect(answer.headers.get('allow')).toBe('POST, OPTIONS')
      expect(answer.body['error_uri']).toMatch(/^https:/)
    }
  })

  const FORMS: [Fields, string][] = [
    [{}, 'invalid_request'],
    [{ grant_type: '' }, 'invalid_request'],
    [{ grant_type: 'authorization_code' }, 'unsupported_grant_type'],
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ grant_type: 'refresh_token' }, 'unsupported_grant_type'],
    [{ grant_type: 'constructor' }, 'unsupported_grant_type'],
    [GRANT, 'invalid_client'],
    [{ ...GRANT, client_id: 'crm' }, 'invalid_client'],
    [{ ...GRANT, client_secret: 'x' }, 'invalid_client'],
    [{ ...GRANT, client_id: 'crm', client_secret: 'x' }, 'invalid_client'],
    [{ ...GRANT, client_id: 'crm', client_secret: 'ü' }, 'invalid_client'],
    [{ ...GRANT, client_id: '__proto__', client_secret: 'x' }, 'invalid_client'],
    [{ ...GRANT, client_id: 'crm', client_secret: 'x'.repeat(1025) }, 'invalid_request'],
    [{ ...GRANT, 'client_id[$ne]': '', client_secret: 'x' }, 'invalid_request'],
    [{ ...GRANT, 'client_id[]': 'crm', client_secret: 'x' }, 'invalid_request'],
    [{ ...GRANT, client_id: 'crm', 'client_secret[a]': 'x' }, 'invalid_request'],
    [{ 'grant_type[]': 'client_credentials' }, 'invalid_request'],
  ]
  it('forms that are incomplete, not allowed, wrong, or nested', async () => {
    await scene.security({ lockout: { attempts: 100 } })
    await scene.client({ name: 'crm' })
    for (const [form, error] of FORMS) {
      const answer = await scene.ask(form)
      expectRefusal(answer, 400, error, form)
      expect(answer.headers.get('www-authenticate')).toBeNull()
    }
  })

  it('JSON that is not an object of strings', async () => {
    await scene.client({ name: 'crm' })
    const bodies = [
      { ...GRANT, client_id: { $ne: null }, client_secret: { $ne: null } },
      { ...GRANT, client_id: ['crm'], client_secret: 'x' },
      { ...GRANT, client_id: 'crm', client_secret: 5 },
      { grant_type: ['client_credentials'] },
      ['client_credentials'],
      'client_credentials',
      null,
    ]
    for (const body of bodies) {
      expectRefusal(await post(JSON.stringify(body), JSON_BODY), 400, 'invalid_request', body)
    }
  })

  it.each([
    ['{"client_secret":"leaked', JSON_BODY, 400],
    ['leaked'.repeat(200_000), FORM, 413],
    [`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, JSON_BODY, 400],
    ['a=%zz', FORM, 400],
    ['leaked', { 'content-type': 'text/plain' }, 400],
    [`${'a=1&'.repeat(10_001)}`, FORM, 400],
  ])('a body that cannot be read, without quoting it (%#)', async (body, headers, http) => {
    const answer = await post(body, headers)
    expectRefusal(answer, http, 'invalid_request')
    expect(answer.text).not.toContain('leaked')
  })

  it('a multipart form', async () => {
    const form = new FormData()
    form.set('grant_type', 'client_credentials')
    expectRefusal(await post(form), 400, 'invalid_request')
  })

  it('parameters in the address, which would appear in logs', async () => {
    const secret = await scene.client({ name: 'crm' })
    const whole = `grant_type=client_credentials&client_id=crm&client_secret=${secret}`
    for (const query of [whole, 'client_id=crm', 'client_id[$ne]=', 'scope=global', 'token=x']) {
      const answer = await post(
        new URLSearchParams(GRANT).toString(),
        {
          ...FORM,
          ...basic('crm', secret),
        },
        `/oauth2/token?${query}`,
      )
      expectRefusal(answer, 400, 'invalid_request')
      expect(answer.text).not.toContain(secret)
    }
    expect(JSON.stringify([scene.logs, await scene.audit()])).not.toContain(secret)
  })

  it('credentials in two places; only the name may be repeated', async () => {
    const secret = await scene.client({ name: 'crm' })
    const header = basic('crm', secret)
    const both = { ...GRANT, client_id: 'crm', client_secret: secret }
    expectRefusal(await scene.ask(both, header), 400, 'invalid_request')
    expectRefusal(await scene.ask({ ...GRANT, client_id: 'b' }, header), 400, 'invalid_request')
    expect((await scene.ask({ ...GRANT, client_id: 'crm' }, header)).http).toBe(200)
  })

  it.each([
    ['Basic'],
    ['Basic !!!'],
    ['basic Y3Jt'],
    [`Basic ${'A'.repeat(8000)}`],
    ['Bearer abc'],
  ])('a header of %.20s', async (authorization) => {
    const answers = [await scene.ask(GRANT, { authorization })]
    answers.push(await scene.revoke({ token: 'x' }, { authorization }))
    for (const { http, body, headers } of answers) {
      expect([http, body['error']]).toEqual([401, 'invalid_client'])
      expect(headers.get('www-authenticate')).toBe('Basic realm="Service", charset="UTF-8"')
    }
  })
})

describe('a client that guesses secrets', () => {
  const guess = (name: string, secret: string) => scene.ask(GRANT, basic(name, secret))

  it('waits longer each time, also with the right one, even as an unknown client', async () => {
    await scene.security({ lockout: { attempts: 3, seconds: 100, seconds_max: 300 } })
    const secret = await scene.client({ name: 'crm' })
    const waits = async () => {
      const [key = ''] = await scene.redis.client.keys('auth:client-wait:*')
      const leftS = Math.ceil((await scene.redis.client.pttl(key)) / 1000)
      if (key !== '') await scene.redis.client.del(key)
      return leftS
    }
    for (const name of ['crm', 'stranger']) {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        expect(statusAndError(await guess(name, 'wrong'))).toEqual([401, 'invalid_client'])
      }
      const locked = await guess(name, secret)
      expectRefusal(locked, 429, 'temporarily_unavailable')
      const retryAfterS = Number(locked.headers.get('retry-after'))
      expect(retryAfterS > 90 && retryAfterS <= 100).toBe(true)
      for (const longestS of [100, 200, 300, 300]) {
        const leftS = await waits()
        expect(leftS > longestS - 10 && leftS <= longestS).toBe(true)
        expect(statusAndError(await guess(name, 'wrong'))).toEqual([401, 'invalid_client'])
      }
      await waits()
    }
    expect((await guess('crm', secret)).http).toBe(200)
    expect(await scene.redis.client.keys('auth:client-failures:*')).toHaveLength(1)
  })

  it('does not delay others', async () => {
    await scene.security({ lockout: { attempts: 1, seconds: 100 } })
    const secret = await scene.client({ name: 'crm' })
    await guess('other', 'wrong')
    expect((await guess('other', 'wrong')).http).toBe(429)
    expect((await guess('crm', secret)).http).toBe(200)
  })

  it('is limited per minute and address, like every client', async () => {
    await scene.security({ rate_limits: { tokens_per_minute: 3 } })
    const secret = await scene.client({ name: 'crm' })
    await scene.ask({})
    await guess('crm', 'wrong')
    await scene.revoke({})
    const limited = await guess('crm', secret)
    expectRefusal(limited, 429, 'temporarily_unavailable')
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(30)
    expect(await scene.audit()).toHaveLength(2)
  })
})

describe('while a store is unavailable', () => {
  it('Redis: no token is issued or accepted, until it is back', async () => {
    const secret = await scene.client({ name: 'crm' })
    const ask = () => scene.ask(GRANT, basic('crm', secret))
    const token = (await ask()).body['access_token'] ?? ''
    await scene.redisProxy.cut()
    expectRefusal(await ask(), 503, 'temporarily_unavailable')
    await expect(scene.check(token)).rejects.toThrow()
    await scene.redisProxy.restore()
    await scene.redis.untilReady(20_000)
    expect(await scene.check(token)).toMatchObject({ name: 'crm' })
    expect((await ask()).http).toBe(200)
  })

  it('MongoDB: no token is issued without its record; issued tokens are accepted', async () => {
    await scene.security({ oauth: { grants: ['client_credentials', 'password', 'refresh_token'] } })
    const grants = ['client_credentials', 'password', 'refresh_token']
    const secret = await scene.client({ name: 'crm', grants })
    scene.users.set('u1', userNow({}))
    const login = { grant_type: 'password', username: 'ops', password: PASSWORD }
    const { body } = await scene.ask(login, basic('crm', secret))
    const token = body['access_token'] ?? ''
    const refresh = { grant_type: 'refresh_token', refresh_token: body['refresh_token'] ?? '' }
    await scene.mongoProxy.cut()
    const before = await scene.redis.client.keys('auth:token:*')
    expectRefusal(await scene.ask(GRANT, basic('crm', secret)), 503, 'temporarily_unavailable')
    expectRefusal(await scene.ask(refresh, basic('crm', secret)), 503, 'temporarily_unavailable')
    expectRefusal(await scene.ask(GRANT, basic('crm', 'wrong')), 401, 'invalid_client')
    expect(await scene.check(token)).toMatchObject({ name: 'crm' })
    expect(await scene.redis.client.keys('auth:token:*')).toEqual(before)
    await scene.mongoProxy.restore()
    // The refused request did not use it up.
    expect((await scene.ask(refresh, basic('crm', secret))).http).toBe(200)
  })
})
