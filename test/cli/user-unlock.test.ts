import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCurrentSettings } from '../../src/catalog/settings/current-settings.ts'
import { Shell } from '../../src/cli/shell.ts'
import { unlockUser } from '../../src/cli/user-unlock.ts'
import { createAttempts } from '../../src/identity/attempts.ts'
import { AUTH_KEYS, openExpiringKeys } from '../../src/store/expiring.ts'
import { addUser, USER } from '../support/identity/login-server.ts'
import { startTestStores, type TestStores } from '../support/recorder/accounts.ts'

const folder = mkdtempSync(join(tmpdir(), 'tg-unlock-'))
const file = join(folder, 'tollgate.yaml')
const shell = new Shell({}, file)
let stores: TestStores
beforeAll(async () => {
  stores = await startTestStores()
  const { server, mongo } = stores
  const urls = { redis: { url: server.url }, mongo: { url: mongo.url, database: mongo.database } }
  writeFileSync(file, JSON.stringify(urls))
  await addUser(stores.catalog)
})
afterAll(async () => {
  await stores.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('tollgate user unlock', () => {
  it('unlocks a user locked by failed logins, and records it', async () => {
    const keys = openExpiringKeys(stores.ledger.redis, AUTH_KEYS)
    const clock = { nowMs: () => Date.UTC(2026, 5, 15) }
    const settings = createCurrentSettings(stores.catalog, clock, 0)
    const attempts = createAttempts({ keys, settings })
    const begin = (host: number) =>
      attempts.begin(USER, { address: `10.0.0.${host}`, device: null })
    for (let host = 0; host < 100; host += 1) await begin(host)
    expect(await begin(101)).toMatchObject({ refused: { reason: 'account' } })
    expect(await unlockUser(shell, USER, {})).toBe(0)
    expect(await begin(101)).not.toHaveProperty('refused')
    const [record, ...others] = await stores.catalog.audit.find().toArray()
    expect(others).toEqual([])
    expect(record).toMatchObject({
      collection: 'users',
      type: 'unlock',
      key: USER,
      user: { by: 'cli' },
      new: { protocol: 'internal' },
    })
  })

  it('names a local user that does not exist, but accepts any user of a directory', async () => {
    await expect(unlockUser(shell, 'nobody@example.org', {})).rejects.toThrow(
      'there is no user nobody@example.org',
    )
    expect(await unlockUser(shell, 'nobody', { protocol: 'LDAP' })).toBe(0)
  })
})
