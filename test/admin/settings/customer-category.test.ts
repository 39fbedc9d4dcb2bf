import { describe, expect, it } from 'vitest'
import { readCategory } from '../../../src/catalog/settings/stored-config.ts'
import { type Fields, useSettingsServer } from '../../support/admin/settings/settings-server.ts'

const api = useSettingsServer([], {
  TOLLGATE_SECRETS_KEY: 'a key of at least thirty-two characters',
  TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
})

const CRM = 'http://127.0.0.1:8700'
const OAUTH = {
  type: 'oauth2',
  access_token_url: `${CRM}/token`,
  data: { grant_type: 'client_credentials', client_id: 'tollgate', client_secret: 's3cret-1' },
}
const SETTINGS = {
  external_authentication: OAUTH,
  subscriber: { type: 'external', external_url: `${CRM}/subscribers`, external_timeout_ms: 500 },
  account: {
    type: 'external',
    external_url: `${CRM}/accounts`,
    external_cache_enabled: true,
    external_cache_ttl: 300,
    cache_gba_to_gsd: { enabled: true },
    authentication: { type: 'basic', data: { username: 'ada', password: 's3cret-2' } },
  },
  billable: { url: `${CRM}/billable`, single_day_cycle_format: 'YYYY-MM-DD', encoding: 'form' },
}

const set = (category: string, data: unknown) => api.ok({ action: 'set', category, data })
const refused = (category: string, data: unknown) => api.refused({ action: 'set', category, data })
const stored = async () => (await readCategory(api.catalog(), 'subscribers')).value as Fields

describe('external customer mode', () => {
  it('is set as a whole, and its secrets are stored sealed and never returned', async () => {
    const { details } = await set('subscribers', SETTINGS)
    expect(JSON.stringify(details)).not.toContain('s3cret')
    expect(details).toMatchObject({ external_authentication: { data: { client_id: 'tollgate' } } })
    const kept = JSON.stringify(await stored())
    expect(kept).not.toContain('s3cret')
    expect(kept.match(/"v2:/g)).toHaveLength(2)
    for (const path of ['subscribers', 'subscribers.external_authentication']) {
      const answer = JSON.stringify(await api.get(path))
      expect(answer).toContain('tollgate')
      expect(answer).not.toMatch(/s3cret|v2:/)
    }
    await set('subscribers.subscriber.external_timeout_ms', 700)
    const { catalog } = api
    const all = JSON.stringify([
      await catalog().confighistory.find().toArray(),
      await catalog().audit.find().toArray(),
    ])
    expect(all).toContain('external_timeout_ms')
    expect(all).not.toMatch(/s3cret|v2:/)
  })

  it('keeps secrets that are not sent, also if configured fields change', async () => {
    await set('subscribers', SETTINGS)
    const before = await stored()
    await set('subscribers.subscriber.fields', [{ field_name: 'tier', type: 'text' }])
    await set('subscribers.account.external_cache_ttl', 60)
    const after = (await stored()) as typeof SETTINGS
    expect(after.external_authentication).toEqual(before['external_authentication'])
    expect(after.account.authentication).toMatchObject(
      (before['account'] as typeof SETTINGS.account).authentication,
    )
    expect(after.subscriber).toMatchObject({ fields: [{ field_name: 'tier' }] })
  })

  it.each([
    [
      'subscribers.external_authentication.access_token_url',
      'http://127.0.0.2/token',
      'subscribers.external_authentication.data.client_secret must be sent again',
    ],
    [
      'subscribers.account.external_url',
      'http://127.0.0.2/accounts',
      'subscribers.account.authentication.data.password must be sent again',
    ],
  ])('does not send a kept secret to another server: %s', async (path, value, message) => {
    await set('subscribers', SETTINGS)
    expect(await refused(path, value)).toContain(message)
  })

  it.each([
    ['http://10.1.2.3/x', 'is at a private address'],
    ['http://169.254.169.254/latest', 'is at a private address'],
    ['http://[::1]:80/x', 'is at a private address'],
    ['http://[::ffff:10.0.0.1]/x', 'is at a private address'],
    ['http://[fd00::1]/x', 'is at a private address'],
    ['http://0.0.0.0/x', 'is at a private address'],
    ['http://crm.invalid/x', 'is at a host whose name cannot be resolved'],
    ['http://[fec0::1]/x', 'is at a private address'],
    ['http://[::1/x', 'must be an address'],
    ['http://crm.example:port/x', 'must be an address'],
    ['http://%zz/x', 'must be an address'],
    ['ftp://127.0.0.1/x', 'must be an address that begins with http:// or https://'],
    ['http://user:pass@127.0.0.1/x', 'must be an address'],
  ])('refuses the address %s', async (url, message) => {
    for (const path of ['subscriber.external_url', 'account.external_url', 'billable.url']) {
      expect(await refused(`subscribers.${path}`, url)).toContain(`subscribers.${path} ${message}`)
    }
    const auth = { ...OAUTH, access_token_url: url }
    expect(await refused('subscribers.external_authentication', auth)).toContain(
      `subscribers.external_authentication.access_token_url ${message}`,
    )
  })

  it.each([
    ['subscriber', { type: 'external' }, 'subscriber.external_url must be set before type'],
    ['account.type', 'remote', 'account.type must be external or local'],
    ['account.external_cache_ttl', 0, 'account.external_cache_ttl must be an integer from 1'],
    ['subscriber.external_urls', `${CRM}/x`, 'subscriber.external_urls is not known'],
    ['subscriber.external_ca', 'no certificate', 'external_ca must be certificates as PEM'],
    ['billable.urls', `${CRM}/x`, 'billable.urls is not known; did you mean url?'],
    ['billable.encoding', 'xml', 'billable.encoding must be json or form'],
    ['external_authentication', { type: 'oauth2' }, 'access_token_url is missing'],
    [
      'external_authentication',
      { ...OAUTH, data: { client_id: 'x' } },
      'external_authentication.data.client_secret is missing',
    ],
    [
      'subscriber.authentication',
      { type: 'basic', data: { username: 'ada' } },
      'subscriber.authentication.data.password is missing',
    ],
  ])('refuses %s: %j', async (path, data, message) => {
    expect(await refused(`subscribers.${path}`, data)).toContain(message)
  })

  it('can be ended, after which nothing of it is stored', async () => {
    await set('subscribers', SETTINGS)
    await api.ok({ action: 'unset', category: 'subscribers' })
    expect(await stored()).toEqual({})
  })
})
