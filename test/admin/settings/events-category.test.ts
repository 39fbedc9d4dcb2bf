/** Receivers of notifications in the settings: their addresses, and the secret. */
import { describe, expect, it } from 'vitest'
import { readStoredSecrets, resealAll } from '../../../src/catalog/reseal/reseal.ts'
import { createSealer } from '../../../src/catalog/sealing/sealing.ts'
import { readCategory } from '../../../src/catalog/settings/stored-config.ts'
import { useSettingsServer } from '../../support/admin/settings/settings-server.ts'

const KEY = 'a key of at least thirty-two characters'
const api = useSettingsServer([], {
  TOLLGATE_SECRETS_KEY: KEY,
  TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
})

const URL_OF = 'http://127.0.0.1:8700/told'
const SECRET = 's3cret-of-16-characters'
const rule = (more: object = {}) => ({
  event_code: 'X',
  conditions: [{ type: 'has_changed', paths: [{ path: 'balance.cost' }] }],
  ...more,
})
const set = (category: string, data: unknown) => api.ok({ action: 'set', category, data })
const refused = (category: string, data: unknown) => api.refused({ action: 'set', category, data })
const storedSecret = async () => {
  const { value } = await readCategory(api.catalog(), 'events')
  return (value as { settings: { http: { secret?: string } } }).settings.http.secret
}

describe('the secret of signatures', () => {
  it('is stored sealed, and in no answer, version or audit record', async () => {
    const { details } = await set('events', { settings: { http: { url: URL_OF, secret: SECRET } } })
    expect(details).toEqual({ settings: { http: { url: URL_OF } } })
    expect(createSealer(KEY).open((await storedSecret()) ?? '')).toBe(SECRET)
    await set('events.settings.http.num_of_tries', 5)
    const { catalog } = api
    const all = JSON.stringify([
      await api.get('events'),
      await api.get('events.settings.http'),
      await catalog().confighistory.find().toArray(),
      await catalog().audit.find().toArray(),
    ])
    expect(all).toContain('num_of_tries')
    expect(all).not.toMatch(/s3cret|v2:/)
  })

  it('is kept if it is not sent, and removed by an empty text', async () => {
    await set('events', { settings: { http: { url: URL_OF, secret: SECRET } } })
    const before = await storedSecret()
    await set('events', { balance: [rule()], settings: { http: { url: `${URL_OF}/2` } } })
    expect(await storedSecret()).toBe(before)
    await set('events.settings.http.secret', '')
    expect(await storedSecret()).toBeUndefined()
  })

  it('has 16 to 1024 characters', async () => {
    const why = 'events.settings.http.secret must have 16 to 1024 characters'
    expect(await refused('events', { settings: { http: { secret: 'short' } } })).toContain(why)
    const long = { settings: { http: { secret: 'x'.repeat(1025) } } }
    expect(await refused('events', long)).toContain(why)
    expect(await refused('events', { settings: { http: { secret: 5 } } })).toContain('secret must')
  })

  it('is listed with the other stored secrets, and sealed with a new key', async () => {
    await set('events', { settings: { http: { url: URL_OF, secret: SECRET } } })
    const ring = {
      current: () => 'the next key, which is long as well',
      available: () => ({ seals: 'the next key, which is long as well', others: [KEY] }),
    }
    const sealer = createSealer(ring)
    const listed = () => readStoredSecrets(api.catalog(), sealer)
    const named = { kind: 'notifications', name: 'settings.http' }
    expect(await listed()).toEqual([expect.objectContaining({ ...named, state: 'old key' })])
    const actor = { by: 'cli', id: '', name: 'tester', address: '' } as const
    await resealAll(api.catalog(), sealer, { nowMs: 0, actor })
    expect(await listed()).toEqual([expect.objectContaining({ ...named, state: 'sealed' })])
    expect(sealer.open((await storedSecret()) ?? '')).toBe(SECRET)
  })
})

describe('the address of a receiver', () => {
  it.each([
    ['events.settings.http.url', { settings: { http: { url: 'http://10.0.0.1/x' } } }],
    ['events.balance.1.url', { balance: [rule(), rule({ url: 'http://169.254.169.254/x' })] }],
  ])('at %s must be one that the node may call', async (path, value) => {
    expect(await refused('events', value)).toContain(
      `${path} is at a private address, which external.privateRanges does not allow`,
    )
  })

  it.each(['http://[::1/x', 'http://crm.example:port/x', 'http://%zz', 'no address'])(
    'must be a URL, unlike %s',
    async (url) => {
      for (const [path, value] of [
        ['settings.http.url', { settings: { http: { url } } }],
        ['balance.0.url', { balance: [rule({ url })] }],
      ] as const) {
        expect(await refused('events', value)).toContain(`events.${path} must be an address`)
      }
    },
  )

  it('may be a private one that the configuration allows', async () => {
    await set('events', { balance: [rule({ url: URL_OF })], settings: { http: { url: URL_OF } } })
  })
})
