import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readStoredClients } from '../../src/catalog/clients/client-changes.ts'
import { compileClients } from '../../src/catalog/clients/clients.ts'
import { createSealer, keyIdOf } from '../../src/catalog/sealing/sealing.ts'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import type { Ended } from '../support/cli/product.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()
const KEY = 'words of the operator'
const sealer = createSealer(KEY)
const NOW_MS = Date.UTC(2026, 5, 15)
const LATER_MS = Date.UTC(2050, 0, 1)

/** Runs with `secrets.key` set. */
function run(...args: string[]): Promise<Ended> {
  const file = tollgate.file('operator.yaml', `secrets: { key: '${KEY}' }\n`)
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
  it('adds a client, whose secret is shown once and stored sealed; rotates, revokes', async () => {
    const options = ['--role', 'read, write', '--from', '2026-01-01', '--to', '2040-01-01']
    const secret = secretIn(await run('add', 'crm', ...options, '--grant', 'client_credentials'))
    const [client] = await signersAt(NOW_MS)
    expect(client).toEqual({ name: 'crm', key: secret, roles: ['read', 'write'] })
    expect(await signersAt(LATER_MS)).toEqual([])
    expect(JSON.stringify(await stored())).not.toContain(secret)

    const [table, json] = await Promise.all([run('list'), run('list', '--json')])
    expect(table.stdout).toMatch(
      /^ +crm +enabled +read write +client_credentials +yes +2026-01-01T/m,
    )
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
    const output = JSON.stringify([audit, table.stdout, json.stdout])
    const hashes = [secret, next].map((text) => createHash('sha256').update(text).digest('hex'))
    for (const text of [secret, next, 'v2:', ...hashes]) expect(output).not.toContain(text)
  })

  it('refuses invalid arguments by name, and stores nothing', async () => {
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

  it('permits only reads without --role, and does not sign with the option for that', async () => {
    const secret = secretIn(await run('add', 'crm', '--no-signature'))
    expect(await stored()).toMatchObject([{ name: 'crm', roles: ['read'] }])
    expect(JSON.stringify(await stored())).not.toMatch(/"key"|v2:/)
    expect(await signersAt(NOW_MS)).toEqual([])
    const client = compileClients(await stored(), sealer).byName('crm', LATER_MS)
    expect(client?.keySha256).toEqual(createHash('sha256').update(secret).digest())
    await run('revoke', 'crm')
  })

  it('lists a client sealed with another key as one that cannot sign', async () => {
    secretIn(await run('add', 'new', '--role', 'admin'))
    const taken = await run('add', 'new')
    expect([taken.code, taken.stderr]).toEqual([
      1,
      expect.stringContaining('client new exists already'),
    ])
    const { stdout } = await tollgate.run('client', 'list')
    expect(stdout).toMatch(/^ +new +enabled +admin/m)
    expect(stdout).toContain('new cannot sign: shared_secret.0.key cannot be opened')
    expect(stdout).toContain(keyIdOf(KEY))
    await run('revoke', 'new')
  })
})

describe('tollgate secrets', () => {
  it('shows by which key secrets are sealed, and reseals them with another key', async () => {
    await tollgate.run('client', 'add', 'generated')
    const secret = secretIn(await run('add', 'old'))
    const plain = { roles: ['read'], created_at: '2026-01-01T00:00:00.000Z', created_by: 'test' }
    const clear = { name: 'clear', key: `plain:${'c'.repeat(32)}`, crc: '00000000', ...plain }
    await writeStoredConfig(
      tollgate.catalog(),
      'shared_secret',
      (list) => [...(list as unknown[]), clear],
      { nowMs: NOW_MS, by: 'test' },
    )
    const status = async (settings: string) => {
      const file = tollgate.file('rotated.yaml', settings)
      const ended = await tollgate.run('secrets', 'status', '--json', '--config', file)
      expect(ended.stdout + ended.stderr).not.toMatch(new RegExp(`${secret}|c{32}`))
      const { keys, secrets } = JSON.parse(ended.stdout)
      const states = secrets.map(({ name, state }: Record<string, string>) => [name, state])
      return { file, code: ended.code, keys, states: Object.fromEntries(states) }
    }
    const lost = await status("secrets: { key: 'the next key' }\n")
    expect(lost.states).toEqual({ generated: 'old key', old: 'lost', clear: 'clear' })
    expect([lost.code, lost.keys]).toEqual([
      1,
      { seals: keyIdOf('the next key'), from: 'secrets.key', others: [expect.any(String)] },
    ])
    const partly = await tollgate.run('secrets', 'reseal', '--config', lost.file)
    expect([partly.code, partly.stdout]).toEqual([
      1,
      `sealed 2\nclient old cannot be opened: it needs key ${keyIdOf(KEY)} (secrets.oldKeys)\n`,
    ])
    const next = await status(`secrets: { key: 'the next key', oldKeys: ['${KEY}'] }\n`)
    expect(next.states).toEqual({ generated: 'sealed', old: 'old key', clear: 'sealed' })
    const resealed = await tollgate.run('secrets', 'reseal', '--config', next.file)
    expect([resealed.code, resealed.stdout, resealed.stderr]).toEqual([0, 'sealed 1\n', ''])
    const done = await status("secrets: { key: 'the next key' }\n")
    expect([done.code, done.states]).toEqual([
      0,
      { generated: 'sealed', old: 'sealed', clear: 'sealed' },
    ])
    expect(JSON.stringify(await stored())).not.toMatch(/plain:|crc/)
    const signers = compileClients(await stored(), createSealer('the next key')).signers(NOW_MS)
    expect(signers.find(({ name }) => name === 'old')?.key).toBe(secret)
    expect(signers.find(({ name }) => name === 'clear')?.key).toBe('c'.repeat(32))
  })
})
