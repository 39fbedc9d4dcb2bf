import { describe, expect, it } from 'vitest'
import { withClient } from '../../src/catalog/clients/client-changes.ts'
import { compileClients } from '../../src/catalog/clients/clients.ts'
import { createSealer } from '../../src/catalog/sealing/sealing.ts'
import { signatureOf, signedText } from '../../src/catalog/signature/signed-text.ts'
import { createSignatureCheck } from '../../src/identity/signature-check.ts'
import type { OrderedParameters } from '../../src/requests/raw-parameters.ts'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { openRedis, StoreDownError } from '../../src/store/redis.ts'
import { useRedis } from '../support/connected-redis.ts'
import { useMade } from '../support/opened.ts'
import { silent } from '../support/recorder/accounts.ts'

const NOW_MS = Date.UTC(2026, 10, 22, 12)
const KEY = '00112233445566778899aabbccddeeff'

const { redis } = useRedis()
const keys = useMade(() => openExpiringKeys(redis(), 'auth'))

const sealer = createSealer('')
const change = { nowMs: NOW_MS, by: 'test', sealer, timeZone: 'UTC' }

/** A check with these clients and settings, and a clock that can be set. */
function checkOf(given: readonly object[], signature: object = {}) {
  const time = { nowMs: NOW_MS }
  const list = given.reduce<readonly unknown[]>((all, one) => withClient(all, one, change).list, [])
  const clients = compileClients(list, sealer)
  const check = createSignatureCheck({
    clients: async () => clients,
    keys: keys(),
    settings: { get: async (setting) => setting.read({ signature }) },
    clock: { nowMs: () => time.nowMs },
  })
  return { check, time }
}

/** Each test has its own parameters: a signature is accepted once. */
let count = 0
function signed(nowMs = NOW_MS, key = KEY): OrderedParameters {
  count += 1
  const sent = new Map([
    ['n', String(count)],
    ['_t_', String(Math.floor(nowMs / 1000))],
  ])
  return new Map([...sent, ['_sig_', signatureOf(signedText(sent), key)]])
}

const CRM = { name: 'crm', key: KEY, roles: ['read', 'write'] }

describe('a signed request', () => {
  it('is attributed to the client with the key, once', async () => {
    const { check } = checkOf([{ name: 'other' }, CRM])
    const sent = signed()
    expect(await check(sent)).toEqual({ name: 'crm', roles: ['read', 'write'] })
    expect(await check(sent)).toEqual({ refused: expect.stringContaining('was used before') })
    expect(await check(new Map([['n', '1']]))).toBe('absent')
  })

  it('is accepted once across all nodes, also of several that check it concurrently', async () => {
    const sent = signed()
    const found = await Promise.all(Array.from({ length: 8 }, () => checkOf([CRM]).check(sent)))
    expect(found.filter((one) => typeof one === 'object' && 'name' in one)).toHaveLength(1)
  })

  it('is accepted within the validity of the key, and of an enabled client only', async () => {
    const from = new Date(NOW_MS).toISOString()
    const to = new Date(NOW_MS + 60_000).toISOString()
    const { check, time } = checkOf([{ ...CRM, from, to }])
    const unknown = { refused: '_sig_ does not match any known key' }
    const at = async (nowMs: number) => {
      time.nowMs = nowMs
      return check(signed(nowMs))
    }
    expect(await at(NOW_MS - 1)).toEqual(unknown)
    expect(await at(NOW_MS)).toMatchObject({ name: 'crm' })
    expect(await at(NOW_MS + 59_999)).toMatchObject({ name: 'crm' })
    expect(await at(NOW_MS + 60_000)).toEqual(unknown)
    expect(await checkOf([{ ...CRM, disabled: true }]).check(signed())).toEqual(unknown)
  })

  it('obeys the time window and the switch of the settings', async () => {
    const { check, time } = checkOf([CRM], { window_seconds: 10 })
    time.nowMs = NOW_MS + 10_000
    expect(await check(signed())).toMatchObject({ name: 'crm' })
    time.nowMs = NOW_MS + 10_001
    expect(await check(signed())).toEqual({ refused: expect.stringContaining('than 10 seconds') })
    const off = checkOf([CRM], { enabled: false }).check
    expect(await off(signed())).toEqual({ refused: expect.stringContaining('switched off') })
    expect(await off(new Map())).toBe('absent')
  })

  it('of a megabyte is accepted; a hundred keys are only tried on a smaller one', async () => {
    const large = (bytes: number) => {
      const sent = new Map([...signed()].filter(([name]) => name !== '_sig_'))
      sent.set('update', 'x'.repeat(bytes))
      return new Map([...sent, ['_sig_', signatureOf(signedText(sent), KEY)]])
    }
    expect(await checkOf([CRM]).check(large(1_000_000))).toMatchObject({ name: 'crm' })
    const many = Array.from({ length: 100 }, (_, index) => ({ name: `c${index}` }))
    const { check } = checkOf([...many, CRM])
    expect(await check(large(100_000))).toMatchObject({ name: 'crm' })
    const refused = { refused: expect.stringContaining('too large to be signed') }
    expect(await check(large(1_000_000))).toEqual(refused)
  })

  it('is refused while used signatures cannot be looked up', async () => {
    const timeouts = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const away = openRedis({ url: 'redis://127.0.0.1:1', ...timeouts }, silent)
    const check = createSignatureCheck({
      clients: async () => ({ signers: () => [CRM] }),
      keys: openExpiringKeys(away, 'auth'),
      settings: { get: async (setting) => setting.read(undefined) },
      clock: { nowMs: () => NOW_MS },
    })
    await expect(check(signed())).rejects.toThrow(StoreDownError)
    await away.close()
  })
})
