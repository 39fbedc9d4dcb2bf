import { describe, expect, it } from 'vitest'
import { readStoredClients } from '../../src/catalog/clients/client-changes.ts'
import { compileClients } from '../../src/catalog/clients/clients.ts'
import { createSealer } from '../../src/catalog/sealing.ts'
import type { Ended } from './product.ts'
import { useTollgate } from './tollgate.ts'

const tollgate = useTollgate()
const KEY = 'words of the operator'
const sealer = createSealer(KEY)
const NOW_MS = Date.UTC(2026, 5, 15)
const LATER_MS = Date.UTC(2050, 0, 1)

/** With `secrets.key`. */
function run(...args: string[]): Promise<Ended> {
  const file = tollgate.file('settings.yaml', `secrets: { key: '${KEY}' }\n`)
  return tollgate.run('client', ...args, '--config', file)
}

function secretIn({ code, stdout, stderr }: Ended): string {
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.match(/^[0-9a-f]{32}$/gm)).toHaveLength(1)
  return /^[0-9a-f]{32}$/m.exec(stdout)?.[0] ?? ''
}

const stored = () => readStoredClients(tollgate.catalog())
const signersAt = async (nowMs: number) => compileClients(await stored(), sealer).signers(nowMs)

describe('tollgate client', () => {
  it('adds one, whose secret is shown once and stored sealed; rotates and revokes it', async () => {
    const options = ['--role', 'read, write', '--from', '2026-01-01', '--to', '2040-01-01']
    const secret = secretIn(await run('add', 'crm', ...options, '--grant', 'client_credentials'))
    const [client] = await signersAt(NOW_MS)
    expect(client).toEqual({ name: 'crm', key: secret, roles: ['read', 'write'] })
    expect(await signersAt(LATER_MS)).toEqual([])
    expect(JSON.stringify(await stored())).not.toContain(secret)

    const [table, json] = await Promise.all([run('list'), run('list', '--json')])
    expect(table.stdout).toMatch(/^ +crm +enabled +read write +client_credentials +2026-01-01T/m)
    expect(JSON.parse(json.stdout)).toMatchObject([{ name: 'crm', state: 'enabled' }])

    const next = secretIn(await run('rotate', 'crm'))
    expect(await signersAt(NOW_MS)).toEqual([{ ...client, key: next }])
    const revoked = await run('revoke', 'crm')
    expect([revoked.code, revoked.stdout]).toEqual([0, 'revoked crm\n'])
    expect([await stored(), (await run('list')).stdout]).toEqual([[], 'there are no clients\n'])

    const audit = await tollgate.catalog().audit.find().sort({ urt: 1, _id: 1 }).toArray()
    const shared = { collection: 'shared_secret', key: 'crm', user: { by: 'cli', api: false } }
    const shown = { name: 'crm', roles: ['read', 'write'], created_by: 'cli' }
    expect(audit).toMatchObject([
      { ...shared, type: 'create', old: null, new: shown },
      { ...shared, type: 'rotate', old: shown, new: shown },
      { ...shared, type: 'revoke', old: shown, new: null },
    ])
    const told = JSON.stringify([audit, table.stdout, json.stdout])
    for (const text of [secret, next, 'v1:', '"crc"']) expect(told).not.toContain(text)
  })

  it('refuses what is wrong by name, and stores nothing', async () => {
    const refused = [
      [['add', 'a b'], 'name must be 1 to 64 letters, digits, _, - and .'],
      [['add', 'a', '--to', 'soon'], 'to must be a date'],
      [['revoke', 'a'], 'there is no client a'],
    ] as const
    const ended = await Promise.all(refused.map(([args]) => run(...args)))
    for (const [index, { code, stdout, stderr }] of ended.entries()) {
      const message = expect.stringContaining(refused[index]?.[1] ?? '')
      expect([code, stdout, stderr]).toEqual([1, '', message])
    }
    expect(await stored()).toEqual([])
  })

  it('without secrets.key says so; with another one the client is listed as unusable', async () => {
    const plain = await tollgate.run('client', 'add', 'old')
    expect(plain.stdout).toContain('It is stored as it is: secrets.key is not set.\n')
    secretIn(await run('add', 'new'))
    const taken = await run('add', 'new')
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('client new already')])
    const { stdout } = await tollgate.run('client', 'list')
    expect(stdout).toMatch(/^ +old +enabled +admin/m)
    expect(stdout).toContain('new unusable: shared_secret.1.key cannot be opened')
    expect((await signersAt(NOW_MS + LATER_MS)).map(({ name }) => name)).toEqual(['old', 'new'])
  })
})
