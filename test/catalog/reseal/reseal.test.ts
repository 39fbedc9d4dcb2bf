import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { startReseal } from '../../../src/admin/reseal.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { readStoredSecrets, resealAll } from '../../../src/catalog/reseal/reseal.ts'
import { createSealer, type Sealer } from '../../../src/catalog/sealing/sealing.ts'
import { sealerOf } from '../../../src/catalog/sealing/secret-keys.ts'
import { visitCustomerSecrets } from '../../../src/catalog/settings/customers/customer-secrets.ts'
import { readCategory, writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { recordingLog, useStore } from '../../support/catalog/store.ts'

const store = useStore()
const NOW_MS = Date.UTC(2026, 5, 15)
const by = { nowMs: NOW_MS, by: 'test' }
const node = { by: 'node', id: '', name: '', address: '' } as const
const old = createSealer('the old key')
const DIRECTORY = { type: 'ldap', name: 'corp', url: 'ldaps://ldap.example.net' }

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

async function fill(catalog: Catalog, seal: (text: string) => string): Promise<void> {
  const made = { roles: ['read'], created_at: '2026-01-01T00:00:00.000Z', created_by: 'x' }
  const clients = [
    { name: 'crm', key: seal('k'.repeat(32)), crc: '00000000', ...made },
    { name: 'hashed', hash: 'a'.repeat(64), ...made },
  ]
  await writeStoredConfig(catalog, 'shared_secret', () => clients, by)
  const auth = { protocols: [{ ...DIRECTORY, bind_password: seal('pw') }, { type: 'saml' }] }
  await writeStoredConfig(catalog, 'auth', () => auth, by)
  await catalog.secondfactors.insertOne({
    _id: 'u1',
    username: 'ops',
    secret: seal('S1'),
    pending: seal('S2'),
    enrolled_at: null,
    recovery: [],
  })
  const params = { api_key: seal('sk'), currency: 'eur' }
  await writeStoredConfig(catalog, 'payment_gateways', () => [{ name: 'stripe', params }], by)
  const oauth2 = { type: 'oauth2', access_token_url: 'https://crm.example.net/token' }
  const customers = {
    external_authentication: { ...oauth2, data: { client_id: 'c', client_secret: seal('cs') } },
    billable: { authentication: { type: 'basic', data: { username: 'u', password: seal('bp') } } },
  }
  await writeStoredConfig(catalog, 'subscribers', () => customers, by)
  const active = { name: 'stripe', card_token: seal('pm'), four_digits: '4242' }
  await catalog.subscribers.insertOne({
    type: 'account',
    aid: 7,
    from: new Date(0),
    to: new Date(NOW_MS),
    payment_gateway: { active },
  } as never)
  await catalog.gatewaycharges.insertOne({ _id: 'tg_1', card: seal('{}') } as never)
}

/** The secrets of the customer system, in clear. */
async function openedCustomers(catalog: Catalog, sealer: Pick<Sealer, 'open'>) {
  const found: (string | null)[] = []
  visitCustomerSecrets((await readCategory(catalog, 'subscribers')).value, (_, text) => {
    found.push(sealer.open(text))
    return text
  })
  return found
}

describe('stored secrets', () => {
  it.each([
    ['in clear text', (text: string) => `plain:${text}`],
    ['sealed with an older key', (text: string) => old.seal(text)],
  ])('that are %s are sealed with the present key', async (_, seal) => {
    const catalog = await store.open()
    await fill(catalog, seal)
    const known = () => ({ seals: 'the new key', others: ['the old key'] })
    const sealer = createSealer({ available: known, current: () => 'the new key' })
    const done = await resealAll(catalog, sealer, { nowMs: NOW_MS, actor: node })
    expect(done).toEqual({ sealed: 9, lost: [] })
    const states = (await readStoredSecrets(catalog, createSealer('the new key'))).map(
      ({ kind, name, state }) => [kind, name, state],
    )
    expect(states).toEqual([
      ['customer system', 'external_authentication.client_secret', 'sealed'],
      ['customer system', 'billable.authentication.password', 'sealed'],
      ['client', 'crm', 'sealed'],
      ['directory', 'corp', 'sealed'],
      ['gateway', 'stripe', 'sealed'],
      ['second factor', 'ops', 'sealed'],
      ['second factor', 'ops', 'sealed'],
      ['card', 'account 7', 'sealed'],
      ['charge', 'tg_1', 'sealed'],
    ])
    expect(await openedCustomers(catalog, sealer)).toEqual(['cs', 'bp'])
    const { value } = await readCategory(catalog, 'shared_secret')
    expect(value).toMatchObject([{ hash: expect.stringMatching(/^[0-9a-f]{64}$/) }, {}])
    expect(JSON.stringify([value, await catalog.audit.find().toArray()])).not.toMatch(/plain:|kkk/)
    expect(await resealAll(catalog, sealer, { nowMs: NOW_MS, actor: node })).toEqual({
      sealed: 0,
      lost: [],
    })
    expect(await catalog.audit.countDocuments({ type: 'reseal' })).toBe(4)
  })

  it('are sealed at the start of the control plane, with a generated key', async () => {
    const catalog = await store.open()
    await fill(catalog, (text) => `plain:${text}`)
    const dir = mkdtempSync(join(tmpdir(), 'tg-reseal-'))
    folders.push(dir)
    const config = { data: { dir }, secrets: { key: '', oldKeys: [] } }
    const { log, records } = recordingLog()
    const watch = startReseal({ catalog, config, log, clock: { nowMs: () => NOW_MS } })
    await expect
      .poll(async () => (await readStoredSecrets(catalog, sealerOf(config))).map((s) => s.state))
      .toEqual(Array.from({ length: 9 }, () => 'sealed'))
    await watch.stop()
    expect(JSON.stringify(records)).toContain('sealed stored secrets')
  })

  it('with an unknown key stay unchanged and are named', async () => {
    const catalog = await store.open()
    await fill(catalog, (text) => old.seal(text))
    const before = await readCategory(catalog, 'shared_secret')
    const sealer = createSealer('the new key')
    const { lost, sealed } = await resealAll(catalog, sealer, { nowMs: NOW_MS, actor: node })
    expect([sealed, lost.map(({ name }) => name)]).toEqual([
      0,
      [
        'external_authentication.client_secret',
        'billable.authentication.password',
        'crm',
        'corp',
        'stripe',
        'ops',
        'ops',
        'account 7',
        'tg_1',
      ],
    ])
    expect(await readCategory(catalog, 'shared_secret')).toEqual(before)
  })
})
