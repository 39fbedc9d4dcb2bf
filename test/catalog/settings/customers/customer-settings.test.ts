import { describe, expect, it } from 'vitest'
import { createSealer } from '../../../../src/catalog/sealing/sealing.ts'
import { customerSettingsOf } from '../../../../src/catalog/settings/customers/customer-settings.ts'

const sealer = createSealer('a key of at least thirty-two characters')
const read = (value: unknown) => customerSettingsOf(value, sealer)

const URL = 'https://crm.example.net/subscribers'
const external = (more: object = {}) => ({ type: 'external', external_url: URL, ...more })

describe('settings of external customer mode', () => {
  it.each([
    [undefined],
    [{}],
    [{ subscriber: { fields: [] } }],
    [{ subscriber: { type: 'local', external_url: URL }, account: { type: 'db' } }],
  ])('are off by default: %j', (value) => {
    expect(read(value)).toMatchObject({ subscriber: null, account: null })
  })

  it('have defaults', () => {
    expect(read({ subscriber: external() })).toEqual({
      subscriber: {
        url: URL,
        timeoutMs: 1000,
        ca: '',
        authentication: { type: 'none' },
        problem: null,
        ttlMs: 300_000,
        staleMs: 3_600_000,
        queriesMax: 100,
      },
      account: null,
      billable: null,
      fillsFromBillable: false,
    })
  })

  it('take the cache of the account for subscribers without their own', () => {
    const account = external({ external_cache_ttl: 60, external_cache_stale: 10 })
    const both = read({ account, subscriber: external({ external_cache_stale: 0 }) })
    expect(both.account).toMatchObject({ ttlMs: 60_000, staleMs: 10_000 })
    expect(both.subscriber).toMatchObject({ ttlMs: 60_000, staleMs: 0 })
    const off = { ...account, external_cache_enabled: false }
    expect(read({ account: off }).account).toMatchObject({ ttlMs: 0, staleMs: 0 })
  })

  it('take the general authentication for calls without their own', () => {
    const secret = sealer.seal('s3cret')
    const { subscriber, account, billable } = read({
      external_authentication: {
        type: 'oauth2',
        access_token_url: 'https://crm.example.net/token',
        cache: false,
        data: { client_id: 'tollgate', client_secret: secret, scope: 'crm' },
      },
      subscriber: external(),
      account: external({ authentication: { type: 'none' } }),
      billable: {
        url: URL,
        authentication: { type: 'basic', data: { username: 'ada', password: 'v2:x:lost' } },
      },
    })
    expect(subscriber?.authentication).toEqual({
      type: 'oauth2',
      tokenUrl: 'https://crm.example.net/token',
      isCached: false,
      clientSecret: 's3cret',
      data: { grant_type: 'client_credentials', client_id: 'tollgate', scope: 'crm' },
    })
    expect(account?.authentication).toEqual({ type: 'none' })
    expect(billable?.authentication).toEqual({ type: 'basic', username: 'ada', password: null })
  })

  it('send no parameter of a token request that is empty', () => {
    const data = { client_id: 'tollgate', client_secret: sealer.seal('s3cret') }
    const token = { type: 'oauth2', access_token_url: 'https://crm.example.net/token' }
    const external_authentication = {
      ...token,
      data: { ...data, scope: '', audience: ' ', username: '' },
    }
    const { subscriber } = read({ external_authentication, subscriber: external() })
    expect(subscriber).toMatchObject({ problem: null, authentication: { clientSecret: 's3cret' } })
    expect(subscriber?.authentication).toHaveProperty('data', {
      grant_type: 'client_credentials',
      client_id: 'tollgate',
    })
  })

  it.each([
    [
      {
        subscriber: external({
          authentication: { type: 'basic', data: { username: '', password: 'p' } },
        }),
      },
      'data.username is missing',
    ],
    [{ subscriber: { type: 'external' } }, 'subscribers.subscriber.external_url must be set'],
    [{ subscriber: external({ external_timeout_ms: 'soon' }) }, 'external_timeout_ms must be'],
    [{ subscriber: external({ authentication: { type: 'basic' } }) }, 'data.username is missing'],
  ])('that are invalid do not turn into local ones: %j', (value, problem) => {
    expect(read(value).subscriber?.problem).toContain(problem)
  })
})
