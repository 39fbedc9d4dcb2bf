import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type ClientChange,
  clientViews,
  withClient,
  withNewKey,
  withoutClient,
} from '../../../src/catalog/clients/client-changes.ts'
import { clientsSetting, compileClients } from '../../../src/catalog/clients/clients.ts'
import { createSealer, keyIdOf } from '../../../src/catalog/sealing/sealing.ts'

const sealer = createSealer('test')
const NOW_MS = Date.UTC(2026, 5, 15, 12)
const KEY = '00112233445566778899aabbccddeeff'
const change: ClientChange = { nowMs: NOW_MS, by: 'ops', sealer, timeZone: 'Europe/Berlin' }

function listWith(...given: object[]): readonly unknown[] {
  return given.reduce<readonly unknown[]>((list, each) => withClient(list, each, change).list, [])
}

const compiled = (list: unknown) => compileClients(list, sealer)

describe('a new client', () => {
  it('gets a key of 16 random bytes, which is stored hashed and sealed', () => {
    const random = (bytes: number) => Buffer.alloc(bytes, 0xab)
    const { list, secret } = withClient([], { name: 'crm' }, { ...change, random })
    expect(secret).toBe('ab'.repeat(16))
    expect(list).toEqual([
      {
        name: 'crm',
        hash: createHash('sha256').update('ab'.repeat(16)).digest('hex'),
        key: expect.stringMatching(/^v2:/),
        roles: [],
        created_at: '2026-06-15T12:00:00.000Z',
        created_by: 'ops',
      },
    ])
    expect(JSON.stringify(list)).not.toContain(secret)
    const client = compiled(list).byName('crm', NOW_MS)
    const digest = createHash('sha256').update('ab'.repeat(16)).digest()
    expect(client).toMatchObject({ roles: [], grants: ['client_credentials'] })
    expect(client?.keySha256).toEqual(digest)
  })

  it('accepts a given key, and dates in the time zone of the node', () => {
    const dates = { from: '2026-06-01', to: '2026-07-01T00:00:00Z' }
    const { list, secret } = withClient([], { name: 'crm', key: KEY, ...dates }, change)
    expect(secret).toBe(KEY)
    expect(list).toMatchObject([
      { from: '2026-05-31T22:00:00.000Z', to: '2026-07-01T00:00:00.000Z' },
    ])
  })

  it.each([
    [{}, 'name is missing'],
    [{ name: '' }, 'name must be 1 to 64 letters, digits, _, - and .'],
    [{ name: 'a b' }, 'name must be'],
    [{ name: 'a:b' }, 'name must be'],
    [{ name: 'a'.repeat(65) }, 'name must be'],
    [{ name: { $ne: '' } }, 'name must be'],
    [{ name: 'a', key: 'short' }, 'key must be 32 to 256 letters'],
    [{ name: 'a', key: `${KEY}+` }, 'key must be 32 to 256 letters'],
    [{ name: 'a', roles: ['Admin'] }, 'roles.0 must be a list of different names in lower case'],
    [{ name: 'a', roles: 'admin' }, 'roles must be a list'],
    [
      { name: 'a', grants: ['implicit'] },
      'grants.0 must be a list of different values of client_credentials',
    ],
    [{ name: 'a', grants: [] }, 'grants must be a list'],
    [{ name: 'a', from: 'soon' }, 'from must be a date'],
    [{ name: 'a', to: 5 }, 'to must be a date'],
    [{ name: 'a', from: '2026-02-01', to: '2026-02-01' }, 'to must be later than from'],
    [{ name: 'a', disabled: 'no' }, 'disabled must be true or false'],
    [{ name: 'a', crc: 1 }, 'crc has an invalid value'],
    [{ name: 'a', secret: 'x' }, 'secret is not known'],
    ['a', 'has an invalid value'],
  ])('%j is refused, without the key in the reason', (given, reason) => {
    expect(() => withClient([], given, change)).toThrow(reason)
    expect(() => withClient([], given, change)).not.toThrow('00112233')
  })

  it('is refused with the key of another client, or if the stored value is not a list', () => {
    const list = listWith({ name: 'a', key: KEY })
    expect(() => withClient(list, { name: 'b', key: KEY }, change)).toThrow(
      'key is already used by another client',
    )
    expect(() => withClient({}, { name: 'b' }, change)).toThrow(
      'shared_secret is stored, but not as a list',
    )
  })
})

describe('an updated client', () => {
  it('keeps its key and the fields that are not given', () => {
    const list = listWith({ name: 'a', key: KEY, roles: ['read'], to: '2027-01-01' }, { name: 'b' })
    const later = { ...change, nowMs: NOW_MS + 5, by: 'other' }
    const set = withClient(list, { name: 'a', roles: ['write'], disabled: true }, later)
    expect(set.secret).toBeNull()
    expect(set.list).toEqual([
      { ...(list[0] as object), roles: ['write'], disabled: true },
      list[1],
    ])
    const undone = withClient(set.list, { name: 'a', to: null, disabled: false }, later)
    expect(undone.list[0]).not.toHaveProperty('to')
    expect(undone.list[0]).not.toHaveProperty('disabled')
  })

  it('can be sent back as it was read, with a change', () => {
    const list = listWith({ name: 'a', key: KEY, roles: ['read'], to: '2027-01-01' })
    const [shown] = clientViews(list)
    const later = { ...change, nowMs: NOW_MS + 5, by: 'other' }
    const set = withClient(list, { ...shown, crc: '90482470', roles: ['write'] }, later)
    const alsoVisible = { grants: ['client_credentials'] }
    const after = { ...(list[0] as object), ...alsoVisible, roles: ['write'] }
    expect(set).toEqual({ list: [after], secret: null })
    const others = { crc: '00000000', created_at: 'long ago', created_by: 'me' }
    expect(withClient(list, { name: 'a', ...others }, later).list).toEqual(list)
  })

  it('does not modify its input', () => {
    const list = Object.freeze(listWith({ name: 'a' }).map((each) => Object.freeze(each)))
    withClient(list, { name: 'a', roles: [] }, change)
    withNewKey(list, 'a', change)
    withoutClient(list, { name: 'a' }, change)
    expect(list).toHaveLength(1)
  })
})

describe('a new key', () => {
  it('replaces the old key and has another fingerprint', () => {
    const list = listWith({ name: 'a', key: KEY })
    const rotated = withNewKey(list, 'a', change)
    const before = compiled(list)
    const after = compiled(rotated.list)
    expect(after.byName('a', NOW_MS)?.fingerprint).not.toBe(before.byName('a', NOW_MS)?.fingerprint)
    expect(after.signers(NOW_MS)).toEqual([{ name: 'a', key: rotated.secret, roles: [] }])
    expect(() => withNewKey(list, 'b', change)).toThrow('there is no client b')
  })

  it('does not restore the old client when a client is created again with the same key', () => {
    const later = { ...change, nowMs: NOW_MS + 1 }
    const again = withClient([], { name: 'a', key: KEY }, later).list
    const [first, second] = [listWith({ name: 'a', key: KEY }), again].map(
      (list) => compiled(list).byName('a', NOW_MS)?.fingerprint,
    )
    expect(first).not.toBe(second)
  })
})

describe('a client that does not sign requests', () => {
  const hash = createHash('sha256').update(KEY).digest('hex')
  const given = { name: 'a', key: KEY, signature: false }

  it('is stored with a hash of its key, from which the key cannot be derived', () => {
    const { list, secret } = withClient([], given, change)
    expect(secret).toBe(KEY)
    expect(list).toMatchObject([{ name: 'a', hash }])
    expect(list[0]).not.toHaveProperty('key')
    const clients = compiled(list)
    expect([clients.signers(NOW_MS), clients.skipped]).toEqual([[], []])
    expect(clients.byName('a', NOW_MS)?.keySha256.toString('hex')).toBe(hash)
    expect(clientViews(list)).toMatchObject([{ signature: false }])
    expect(() => withClient(list, { name: 'b', key: KEY }, change)).toThrow(
      'used by another client',
    )
    expect(withoutClient(list, { key: KEY }, change).list).toEqual([])
  })

  it('stays unsigned when its key changes, and signs again only with a key of its own', () => {
    const { list } = withClient([], given, change)
    const rotated = withNewKey(list, 'a', change)
    expect(compiled(rotated.list).signers(NOW_MS)).toEqual([])
    expect(() => withClient(list, { name: 'a', signature: true }, change)).toThrow(
      'signature needs a new key',
    )
    const again = withClient(list, { name: 'a', signature: true, key: `${KEY}0` }, change)
    expect(compiled(again.list).signers(NOW_MS)).toMatchObject([{ key: `${KEY}0` }])
  })

  it('can be created from a signing client: its sealed key goes, its tokens stay valid', () => {
    const list = listWith({ name: 'a', key: KEY })
    const { list: after } = withClient(list, { name: 'a', signature: false }, change)
    expect(after[0]).not.toHaveProperty('key')
    const fingerprints = [list, after].map(
      (each) => compiled(each).byName('a', NOW_MS)?.fingerprint,
    )
    expect(fingerprints[0]).toBe(fingerprints[1])
  })
})

describe('a removed client', () => {
  it('is found by its name or its key', () => {
    const list = listWith({ name: 'a', key: KEY }, { name: 'b' })
    expect(withoutClient(list, { key: KEY }, change).list).toEqual([list[1]])
    expect(withoutClient(list, { name: 'b' }, change).list).toEqual([list[0]])
    expect(() => withoutClient(list, { name: 'c' }, change)).toThrow('there is no client c')
    const wrong = 'f'.repeat(32)
    expect(() => withoutClient(list, { key: wrong }, change)).toThrow('no client has that key')
    expect(() => withoutClient(list, { key: wrong }, change)).not.toThrow(wrong)
  })
})

describe('clients in use', () => {
  it('are valid from `from` (inclusive) to `to` (exclusive)', () => {
    const clients = compiled(
      listWith({ name: 'a', from: '2026-06-01Z', to: '2026-07-01Z' }, { name: 'b' }),
    )
    const at = (day: string) => {
      const nowMs = Date.parse(day)
      const names = clients.signers(nowMs).map(({ name }) => name)
      return [clients.byName('a', nowMs) !== null, names]
    }
    expect(at('2026-05-31T23:59:59.999Z')).toEqual([false, ['b']])
    expect(at('2026-06-01')).toEqual([true, ['a', 'b']])
    expect(at('2026-07-01')).toEqual([false, ['b']])
  })

  it('exclude disabled clients, and unusable clients are listed', () => {
    const good = listWith({ name: 'good' })
    const other = withClient([], { name: 'other' }, { ...change, sealer: createSealer('x') }).list
    const [{ hash: _, ...old }] = other as [{ hash: string }]
    const list = [
      null,
      { ...old, key: 5 },
      ...good,
      ...good,
      ...other,
      { ...old, name: 'old' },
      { ...old, key: undefined, name: 'none' },
      ...listWith({ name: 'off', disabled: true }),
    ]
    const clients = compiled(list)
    const client = (name: string) => ({ what: 'client', name })
    const see = "see 'tollgate secrets status'"
    const reason = `cannot be opened: it is sealed with key ${keyIdOf('x')} (${see})`
    expect(clients.skipped).toEqual([
      { ...client(''), path: 'shared_secret.0', reason: 'has an invalid value' },
      {
        ...client('other'),
        path: 'shared_secret.1.key',
        reason: 'must be 32 to 256 letters, digits, _, - and .',
      },
      { ...client('good'), path: 'shared_secret.3.name', reason: "'good' occurs twice" },
      { ...client('none'), path: 'shared_secret.6.hash', reason: 'is missing' },
      { what: 'signature', name: 'other', path: 'shared_secret.4.key', reason },
      { ...client('old'), path: 'shared_secret.5.key', reason },
    ])
    expect(clients.signers(NOW_MS).map(({ name }) => name)).toEqual(['good'])
    expect(['off', 'old', 'none', ''].map((name) => clients.byName(name, NOW_MS))).toEqual(
      Array(4).fill(null),
    )
    expect(clients.byName('other', NOW_MS)?.roles).toEqual([])
    expect(compiled('none').skipped).toMatchObject([{ reason: 'must be a list' }])
    expect(clientsSetting(sealer).read(undefined).skipped).toEqual([])
  })

  it('are returned without keys or values derived from them', () => {
    const list = listWith(
      { name: 'a', key: KEY, grants: ['password'] },
      { name: 'b', disabled: true },
    )
    const shown = clientViews([...list, { name: 'bad', key: KEY }])
    expect(shown).toMatchObject([
      { name: 'a', grants: ['password'], disabled: false, from: null },
      { name: 'b', grants: ['client_credentials'], disabled: true },
    ])
    expect(Object.keys(shown[0] ?? {})).not.toContain('crc')
    for (const secret of [KEY, 'v2:', createHash('sha256').update(KEY).digest('hex')])
      expect(JSON.stringify(shown)).not.toContain(secret)
  })
})
