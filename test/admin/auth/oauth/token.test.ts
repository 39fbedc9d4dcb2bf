import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { withNewKey, withoutClient } from '../../../../src/catalog/clients/client-changes.ts'
import {
  basic,
  changeOf,
  NOW_MS,
  useOAuthServer,
} from '../../../support/identity/oauth/oauth-server.ts'

const scene = useOAuthServer()
const GRANT = { grant_type: 'client_credentials' }
const curl = promisify(execFile)

async function tokenOf(name: string, secret: string): Promise<string> {
  const { http, body } = await scene.ask({ ...GRANT, client_id: name, client_secret: secret })
  expect(http).toBe(200)
  return body['access_token'] ?? ''
}

describe('a token by client credentials', () => {
  it('is issued by HTTP Basic, a form and JSON, for 3600 seconds', async () => {
    const secret = await scene.client({ name: 'crm' })
    const json = { ...GRANT, client_id: 'crm', client_secret: secret, scope: null }
    const answers = await Promise.all([
      scene.ask(GRANT, basic('crm', secret)),
      scene.ask({ ...GRANT, client_id: 'crm', client_secret: secret }),
      scene.send('/oauth2/token', {
        method: 'POST',
        body: JSON.stringify(json),
        headers: { 'content-type': 'application/json' },
      }),
    ])
    for (const { http, body } of answers) {
      expect(http).toBe(200)
      expect(body).toEqual({
        access_token: expect.stringMatching(/^[0-9a-f]{40}$/),
        expires_in: 3600,
        token_type: 'Bearer',
        scope: null,
      })
      expect(await scene.check(body['access_token'] ?? '')).toEqual({
        name: 'crm',
        roles: [],
      })
    }
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(3)
  })

  it('is issued to curl', async () => {
    const secret = await scene.client({ name: 'crm', roles: ['read'] })
    const url = `${scene.url}/oauth2/token`
    const data = 'grant_type=client_credentials'
    const { stdout } = await curl('curl', ['-s', '-u', `crm:${secret}`, '-d', data, url])
    const { access_token: token } = JSON.parse(stdout)
    expect(await scene.check(token)).toEqual({ name: 'crm', roles: ['read'] })
  })

  it('has the requested scope, if that is global', async () => {
    const secret = await scene.client({ name: 'crm' })
    const ask = (scope: string) => scene.ask({ ...GRANT, scope }, basic('crm', secret))
    expect((await ask('global')).body['scope']).toBe('global')
    expect((await ask('')).body['scope']).toBeNull()
    for (const scope of ['other', 'global other', 'global global', ' ', '"']) {
      const { http, body } = await ask(scope)
      expect([scope, http, body['error']]).toEqual([scope, 400, 'invalid_scope'])
    }
  })

  it('lives as long as the settings say, by the clock and in Redis', async () => {
    await scene.security({ oauth: { access_token_seconds: 600 } })
    const secret = await scene.client({ name: 'crm' })
    const { body } = await scene.ask(GRANT, basic('crm', secret))
    expect(body.expires_in).toBe(600)
    const token = body['access_token'] ?? ''
    const [key = ''] = await scene.redis.client.keys('auth:token:*')
    const leftMs = await scene.redis.client.pttl(key)
    expect(leftMs > 500_000 && leftMs <= 600_000).toBe(true)
    scene.nowMs = NOW_MS + 599_999
    expect(await scene.check(token)).not.toBeNull()
    scene.nowMs = NOW_MS + 600_000
    expect(await scene.check(token)).toBeNull()
  })
})

describe('a token ends with its client', () => {
  const NEXT = NOW_MS + 1
  it.each([
    ['revoked', (list: unknown) => withoutClient(list, { name: 'crm' }, changeOf(NEXT)).list],
    ['rotated', (list: unknown) => withNewKey(list, 'crm', changeOf(NEXT)).list],
    ['renamed', (list: unknown) => [{ ...entryOf(list), name: 'crm2' }]],
    ['disabled', (list: unknown) => [{ ...entryOf(list), disabled: true }]],
    ['expired', (list: unknown) => [{ ...entryOf(list), to: new Date(NEXT).toISOString() }]],
    [
      'recreated',
      (list: unknown) => [{ ...entryOf(list), created_at: new Date(NEXT).toISOString() }],
    ],
  ])('that was %s', async (_what, change) => {
    const secret = await scene.client({ name: 'crm' })
    const token = await tokenOf('crm', secret)
    expect(await scene.check(token)).not.toBeNull()
    scene.nowMs = NEXT
    await scene.changeClients(change)
    expect(await scene.check(token)).toBeNull()
  })

  it('and has its current roles', async () => {
    const secret = await scene.client({ name: 'crm', roles: ['admin'] })
    const token = await tokenOf('crm', secret)
    await scene.client({ name: 'crm', roles: ['read'] })
    expect(await scene.check(token)).toEqual({ name: 'crm', roles: ['read'] })
  })

  it('and is not issued outside the validity of the client', async () => {
    const dates = { from: '2026-06-16', to: '2026-06-17' }
    const secret = await scene.client({ name: 'crm', ...dates })
    const ask = async () => (await scene.ask(GRANT, basic('crm', secret))).body['error'] ?? 'none'
    expect(await ask()).toBe('invalid_client')
    scene.nowMs = Date.UTC(2026, 5, 16)
    expect(await ask()).toBe('none')
  })
})

function entryOf(list: unknown): object {
  return (list as [object])[0]
}

describe('revocation', () => {
  it('ends a token of the client, and does not report an unknown one', async () => {
    const secret = await scene.client({ name: 'crm' })
    const token = await tokenOf('crm', secret)
    const other = await tokenOf('crm', secret)
    const credentials = { client_id: 'crm', client_secret: secret }
    for (const hint of ['access_token', 'refresh_token']) {
      const { http, body } = await scene.revoke({ ...credentials, token, token_type_hint: hint })
      expect([http, body]).toEqual([200, { status: 1 }])
    }
    expect(await scene.check(token)).toBeNull()
    expect(await scene.check(other)).not.toBeNull()
  })

  it('requires the token and the credentials of its client', async () => {
    const [secret, otherSecret] = [
      await scene.client({ name: 'crm' }),
      await scene.client({ name: 'b' }),
    ]
    const token = await tokenOf('crm', secret)
    const refused = [
      [{ token, client_id: 'b', client_secret: otherSecret }, 'invalid_grant'],
      [{ token, client_id: 'crm', client_secret: otherSecret }, 'invalid_client'],
      [{ token }, 'invalid_client'],
      [{ client_id: 'crm', client_secret: secret }, 'invalid_request'],
    ] as const
    for (const [form, error] of refused) {
      const answer = await scene.revoke(form)
      expect([answer.http, answer.body['error']]).toEqual([400, error])
    }
    expect(await scene.check(token)).not.toBeNull()
  })
})

describe('the trace of a token', () => {
  it('has neither token nor secret: in Redis, MongoDB, logs, audit, answers', async () => {
    const secret = await scene.client({ name: 'crm' })
    const wrong = 'wrong-secret-that-nobody-may-see'
    const token = await tokenOf('crm', secret)
    const refused = await scene.ask(GRANT, basic('crm', wrong))
    const confused = await scene.ask(GRANT, basic(wrong, secret))
    await scene.revoke({ client_id: 'crm', client_secret: secret, token })
    const again = await tokenOf('crm', secret)
    const keys = await scene.redis.client.keys('*')
    const values = await Promise.all(keys.map((key) => scene.redis.client.get(key)))
    const config = await scene.catalog.config.find().toArray()
    const audit = await scene.audit()
    const left = JSON.stringify([keys, values, config, audit, scene.logs])
    for (const text of [secret, wrong, token, again]) {
      expect(left).not.toContain(text)
      expect(left).not.toContain(Buffer.from(text).toString('base64').replace(/=+$/, ''))
      expect(refused.text + confused.text).not.toContain(text)
    }
    expect(keys.length).toBeGreaterThan(0)
    expect(scene.logs).toMatchObject([
      { msg: 'a client was refused', error: 'invalid_client' },
      { msg: 'a client was refused', error: 'invalid_client' },
    ])
  })

  it('says who did what', async () => {
    const secret = await scene.client({ name: 'crm' })
    const token = await tokenOf('crm', secret)
    await scene.ask(GRANT, basic('crm', 'wrong'))
    await scene.revoke({ client_id: 'crm', client_secret: secret, token })
    const crm = { _id: 'crm', name: 'crm', api: true, by: 'token' }
    const noUser = { _id: '', name: '', api: true, by: 'token' }
    const issued = { grant: 'client_credentials', scope: null, user: null }
    const expires = new Date(NOW_MS + 3_600_000)
    const shared = { source: 'audit', collection: 'oauth', ip: '127.0.0.1' }
    expect(await scene.audit()).toMatchObject([
      { ...shared, type: 'token', key: 'crm', user: crm, new: { ...issued, expires } },
      { ...shared, type: 'refused', key: 'crm', user: noUser, new: { error: 'invalid_client' } },
      { ...shared, type: 'revoke', key: 'crm', user: crm, new: { kind: 'access' } },
    ])
  })
})
