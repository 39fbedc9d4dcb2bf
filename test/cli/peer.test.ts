import { describe, expect, it } from 'vitest'
import { hashOfKey } from '../../src/catalog/settings/peers/peer-settings.ts'
import { compilePeers } from '../../src/catalog/settings/peers/peers.ts'
import { readStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import type { Ended } from '../support/cli/product.ts'
import { useTollgate } from '../support/cli/tollgate.ts'

const tollgate = useTollgate()

const KEY = /tgk_[A-Za-z0-9_-]{43}/

function keyIn({ code, stdout, stderr }: Ended): string {
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout.match(new RegExp(KEY, 'g'))).toHaveLength(1)
  return KEY.exec(stdout)?.[0] ?? ''
}

async function stored() {
  return (await readStoredConfig(tollgate.catalog())).peers
}

function storeDirectly(value: unknown) {
  const document = { _id: 'peers', rev: 1, value, changed: new Date(0), changed_by: 'hand' }
  return tollgate.catalog().config.insertOne(document)
}

describe('tollgate peer add', () => {
  it('shows the key once, and stores only its hash', async () => {
    const options = ['--address', '10.0.0.0/8, ::1', '--rate', '50', '--file-type', 'GY,json']
    const key = keyIn(await tollgate.run('peer', 'add', 'pgw-1', ...options))
    const peers = await stored()
    expect(peers).toMatchObject([
      {
        name: 'pgw-1',
        keys: [{ sha256: hashOfKey(key) }],
        addresses: ['10.0.0.0/8', '::1'],
        requests_per_second: 50,
        file_types: ['GY', 'json'],
        disabled: false,
      },
    ])
    expect(JSON.stringify(peers)).not.toContain(key)
    expect(compilePeers(peers).byKey(key)?.name).toBe('pgw-1')
    expect(await tollgate.catalog().config.findOne({ _id: 'peers' })).toMatchObject({
      changed_by: 'cli',
    })
  })

  it('sets no limits if none are given', async () => {
    keyIn(await tollgate.run('peer', 'add', 'open'))
    const [peer] = compilePeers(await stored()).all
    expect(peer).toMatchObject({ requestsPerSecond: 0, fileTypes: null })
  })

  it.each([
    [['peer', 'add'], 2, 'peer add: NAME is missing'],
    [['peer', 'add', 'a b'], 1, 'peer.name must be 1 to 64 letters, digits, _, - and .'],
    [['peer', 'add', 'a', '--address', '10.0.0'], 1, 'peer.addresses.0 must be an address or'],
    [['peer', 'add', 'a', '--address', '::1,'], 2, '--address must be a list with commas'],
    [['peer', 'add', 'a', '--rate', 'fast'], 2, "--rate must be an integer from 1 to 2^53, not 'f"],
    [['peer', 'add', 'a', '--file-type', 'a b'], 1, 'peer.file_types.0 must be letters'],
    [['peer', 'add', 'a', '--origin-host', 'a b'], 1, 'peer.diameter.origin_host must be a domain'],
    [['peer', 'add', 'a', '--realm', 'x.net'], 2, 'peer add: --origin-realm and --realm need'],
    [['peer', 'rotate', 'a'], 1, 'there is no peer a'],
    [['peer', 'remove', 'a'], 1, 'there is no peer a'],
  ])('refuses %j, and stores nothing', async (args, code, message) => {
    const ended = await tollgate.run(...args)
    expect([ended.code, ended.stdout]).toEqual([code, ''])
    expect(ended.stderr).toContain(`tollgate: ${message}`)
    expect(await stored()).toEqual([])
  })

  it('admits a peer by certificate, without a key', async () => {
    const names = ['--certificate', 'PGW1.example.net,pgw1']
    const { code, stdout } = await tollgate.run('peer', 'add', 'pgw-1', ...names)
    expect([code, stdout]).toEqual([
      0,
      'pgw-1 may charge over HTTP by a certificate for pgw1.example.net or pgw1\n',
    ])
    const peers = await stored()
    expect(peers).toMatchObject([{ keys: [], certificate_names: ['pgw1.example.net', 'pgw1'] }])
    expect(compilePeers(peers).byCertificate(['pgw1'])?.name).toBe('pgw-1')
    const { stdout: list } = await tollgate.run('peer', 'list')
    expect(list).toContain('pgw1.example.net pgw1')
  })

  it('refuses a name that is already used', async () => {
    keyIn(await tollgate.run('peer', 'add', 'pgw-1'))
    const before = await stored()
    const { code, stdout, stderr } = await tollgate.run('peer', 'add', 'pgw-1')
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('peer pgw-1 exists already')
    expect(await stored()).toEqual(before)
  })
})

describe('tollgate peer add --origin-host', () => {
  it('admits a Diameter peer without a key', async () => {
    const host = ['--origin-host', 'PGW1.example.net', '--origin-realm', 'Example.net']
    const added = await tollgate.run('peer', 'add', 'pgw-1', ...host, '--realm', 'a.net,*')
    expect([added.code, added.stderr]).toEqual([0, ''])
    expect(added.stdout).toBe('pgw-1 may connect over Diameter as pgw1.example.net\n')
    const peers = compilePeers(await stored())
    expect(peers.byOriginHost('PGW1.Example.net')).toMatchObject({
      name: 'pgw-1',
      diameter: { originHost: 'pgw1.example.net', originRealm: 'example.net' },
    })
    expect(peers.all[0]?.diameter?.allowsRealm('b.net')).toBe(true)
    const listed = await tollgate.run('peer', 'list')
    expect(listed.stdout).toMatch(/pgw-1 +enabled +none +pgw1\.example\.net +all/)
  })

  it('refuses a host that another peer has', async () => {
    await tollgate.run('peer', 'add', 'pgw-1', '--origin-host', 'pgw.example.net')
    const second = await tollgate.run('peer', 'add', 'pgw-2', '--origin-host', 'PGW.example.net')
    expect(second.code).toBe(1)
    expect(second.stderr).toContain("peer.diameter.origin_host 'pgw.example.net' occurs twice")
    expect(await stored()).toHaveLength(1)
  })
})

describe('tollgate peer rotate', () => {
  it('adds a key; both are valid until the old one is dropped', async () => {
    const first = keyIn(await tollgate.run('peer', 'add', 'pgw-1', '--rate', '5'))
    const second = keyIn(await tollgate.run('peer', 'rotate', 'pgw-1'))
    const both = compilePeers(await stored())
    expect([first, second].map((key) => both.byKey(key)?.requestsPerSecond)).toEqual([5, 5])
    const third = keyIn(await tollgate.run('peer', 'rotate', 'pgw-1', '--drop-old'))
    const last = compilePeers(await stored())
    expect([first, second, third].map((key) => last.byKey(key)?.name)).toEqual([
      undefined,
      undefined,
      'pgw-1',
    ])
  })
})

describe('tollgate peer list', () => {
  it('shows no keys, and only the beginning of their hashes', async () => {
    const key = keyIn(await tollgate.run('peer', 'add', 'pgw-1', '--address', '10.0.0.0/8'))
    keyIn(await tollgate.run('peer', 'add', 'pgw-2', '--rate', '5', '--file-type', 'GY'))
    const [table, json] = await Promise.all([
      tollgate.run('peer', 'list'),
      tollgate.run('peer', 'list', '--json'),
    ])
    for (const { code, stdout } of [table, json]) {
      expect(code).toBe(0)
      expect(stdout).not.toMatch(KEY)
      expect(stdout).toContain(hashOfKey(key).slice(0, 12))
      expect(stdout).not.toContain(hashOfKey(key).slice(0, 20))
    }
    expect(table.stdout).toMatch(/pgw-1 +enabled +\S{12} +none +10\.0\.0\.0\/8 +no limit +all\n/)
    expect(table.stdout).toMatch(/pgw-2 +enabled +\S{12} +none +all +5\/s +GY\n/)
    expect(JSON.parse(json.stdout)).toMatchObject([
      { name: 'pgw-1', state: 'enabled', addresses: ['10.0.0.0/8'] },
      { name: 'pgw-2', requests_per_second: 5, file_types: ['GY'] },
    ])
  })

  it('shows peers that cannot be used, and they can be removed', async () => {
    await storeDirectly([
      { name: 'broken', adresses: ['::1'] },
      { name: 'off', disabled: true },
    ])
    const table = await tollgate.run('peer', 'list')
    expect(table.stdout).toContain('broken unusable: peers.0.adresses is not known')
    expect(table.stdout).toMatch(/off +disabled +none/)
    const json = JSON.parse((await tollgate.run('peer', 'list', '--json')).stdout)
    expect(json).toMatchObject([
      { name: 'off', state: 'disabled' },
      { name: 'broken', state: 'unusable', path: 'peers.0.adresses' },
    ])
    const rotated = await tollgate.run('peer', 'rotate', 'broken')
    expect([rotated.code, rotated.stderr]).toEqual([1, 'tollgate: peers.0.adresses is not known\n'])
    const removed = await tollgate.run('peer', 'remove', 'broken')
    expect([removed.code, removed.stdout]).toEqual([0, 'removed broken\n'])
    expect(await stored()).toEqual([{ name: 'off', disabled: true }])
  })

  it('reports that there are no peers', async () => {
    expect((await tollgate.run('peer', 'list')).stdout).toBe('there are no peers\n')
  })
})

describe('two peers that are added at the same time', () => {
  it('are both stored', async () => {
    const names = ['a', 'b', 'c', 'd']
    await Promise.all(names.map((name) => tollgate.run('peer', 'add', name)))
    const found = compilePeers(await stored()).all.map(({ name }) => name)
    expect(found.sort()).toEqual(names)
  })
})
