import { describe, expect, it } from 'vitest'
import { addressCheck, parseRange } from '../../../../src/catalog/settings/peers/peer-addresses.ts'
import {
  checkPeers,
  hashOfKey,
  newPeerKey,
} from '../../../../src/catalog/settings/peers/peer-settings.ts'
import { compilePeers } from '../../../../src/catalog/settings/peers/peers.ts'

const created = '2026-01-01T00:00:00.000Z'

const keyed = (name: string, key: string, more: object = {}) => ({
  name,
  keys: [{ sha256: hashOfKey(key), created }],
  ...more,
})

describe('a peer key', () => {
  it('is 256 random bits in letters that need no quoting', () => {
    const keys = Array.from({ length: 100 }, newPeerKey)
    for (const key of keys) expect(key).toMatch(/^tgk_[A-Za-z0-9_-]{43}$/)
    expect(new Set(keys).size).toBe(100)
  })

  it('identifies its peer, and no other text does', () => {
    const [key, second] = [newPeerKey(), newPeerKey()]
    const settings = keyed('pgw-1', key)
    settings.keys.push({ sha256: hashOfKey(second), created })
    const peers = compilePeers([settings, keyed('pgw-2', newPeerKey())])
    expect(peers.byKey(key)?.name).toBe('pgw-1')
    expect(peers.byKey(second)).toBe(peers.byKey(key))
    for (const wrong of ['', `${key} `, hashOfKey(key), newPeerKey(), '__proto__']) {
      expect(peers.byKey(wrong)).toBeNull()
    }
  })

  it('of a disabled peer identifies no peer', () => {
    const peers = compilePeers([keyed('pgw-1', 'k', { disabled: true })])
    expect([peers.byKey('k'), peers.all, peers.skipped]).toEqual([null, [], []])
  })
})

describe('a peer', () => {
  it('has no limits except those that are set', () => {
    const peers = compilePeers([
      keyed('open', 'a'),
      keyed('bound', 'b', { requests_per_second: 50, file_types: ['GY', 'json'] }),
      keyed('bursting', 'c', { requests_per_second: 50, burst: 200 }),
    ])
    const open = peers.byKey('a')
    expect(open).toMatchObject({ requestsPerSecond: 0, fileTypes: null })
    expect(open?.allowsAddress('192.0.2.1')).toBe(true)
    expect(peers.byKey('b')).toMatchObject({ requestsPerSecond: 50, burst: 50 })
    expect([...(peers.byKey('b')?.fileTypes ?? [])]).toEqual(['GY', 'json'])
    expect(peers.byKey('c')).toMatchObject({ requestsPerSecond: 50, burst: 200 })
  })
})

describe('the names of a certificate', () => {
  it('identify their peer by its own names, or otherwise by its Origin-Host', () => {
    const peers = compilePeers([
      {
        name: 'own',
        certificate_names: ['A.example.net', 'b'],
        diameter: { origin_host: 'own.net' },
      },
      { name: 'host', diameter: { origin_host: 'Host.example.net' } },
      { name: 'none' },
    ])
    const found = (...names: string[]) => peers.byCertificate(names)?.name
    expect([found('a.example.net'), found('x', 'b'), found('host.example.net')]).toEqual([
      'own',
      'own',
      'host',
    ])
    expect(found('own.net')).toBeUndefined()
    expect(found()).toBeUndefined()
    // A certificate that matches two peers identifies neither.
    expect(found('b', 'host.example.net')).toBeUndefined()
  })

  it.each([
    [['a b'], 'peers.0.certificate_names.0', 'must be a DNS name or a common name'],
    [['*.a.net'], 'peers.0.certificate_names.0', 'must be a DNS name or a common name'],
    [['a', 'A'], 'peers.0.certificate_names.1', "'a' occurs twice"],
  ])('%j is refused', (names, path, reason) => {
    const check = () => checkPeers([{ name: 'p', certificate_names: names }])
    expect(check).toThrow(path)
    expect(check).toThrow(reason)
  })

  it('belong to one peer', () => {
    const named = { name: 'p', certificate_names: ['a.net'] }
    const diameter = { origin_host: 'a.net' }
    expect(() => checkPeers([named, { name: 'q', certificate_names: ['A.net'] }])).toThrow(
      "peers.1.certificate_names.0 is also a name of 'p'",
    )
    expect(() => checkPeers([{ name: 'q', diameter }, named])).toThrow("is also a name of 'q'")
    expect(() => checkPeers([named, { name: 'q', diameter }])).toThrow('give this peer')
    expect(checkPeers([named, { name: 'q', diameter, certificate_names: [] }])).toHaveLength(2)
  })
})

describe('an address', () => {
  it.each([
    ['10.1.2.3', ['10.0.0.0/8'], true],
    ['11.0.0.1', ['10.0.0.0/8'], false],
    ['::ffff:10.1.2.3', ['10.0.0.0/8'], true],
    ['::ffff:a01:203', ['10.0.0.0/8'], true],
    ['10.1.2.3', ['::ffff:10.0.0.0/104'], true],
    ['11.1.2.3', ['::ffff:10.0.0.0/104'], false],
    ['0:0:0:0:0:ffff:0a01:0203', ['10.1.2.3'], true],
    ['10.1.2.4', ['10.1.2.3'], false],
    ['2001:db8::1', ['2001:db8::/32'], true],
    ['2001:db9::1', ['10.0.0.0/8', '2001:db8::/32'], false],
    ['fe80::1%eth0', ['fe80::/10'], true],
    ['127.0.0.1', ['::/0'], false],
    ['127.0.0.1', ['0.0.0.0/0'], true],
    ['::1', ['0.0.0.0/0'], false],
    ['', ['0.0.0.0/0'], false],
    ['unix', ['0.0.0.0/0', '::/0'], false],
  ])('%s of %j: %s', (address, ranges, isIn) => {
    const allows = addressCheck(ranges)
    expect([allows(address), allows(address)]).toEqual([isIn, isIn])
  })

  it('is not confused with the previously checked address', () => {
    const allows = addressCheck(['10.0.0.1'])
    expect(['10.0.0.1', '10.0.0.2', '10.0.0.1'].map(allows)).toEqual([true, false, true])
  })

  it.each(['', '10.0.0', '10.0.0.0/', '10.0.0.0/33', '::/129', '10.0.0.0/08', '10.0.0.0/8/8'])(
    '%j is not an address range',
    (text) => expect(parseRange(text)).toBeNull(),
  )

  it.each(['localhost', '::ffff:0:0/95', 'fe80::1%eth0', '10.0.0.0/-1'])(
    '%j is not an address range',
    (text) => expect(parseRange(text)).toBeNull(),
  )
})

const sha256 = hashOfKey('k')

const BROKEN: [string, unknown, string][] = [
  ['no list', {}, 'peers must be a list'],
  ['no object', [3], 'peers.0 must be an object'],
  ['no name', [{}], 'peers.0.name is missing'],
  ['a name with a blank', [{ name: 'a b' }], 'peers.0.name must be 1 to 64 letters'],
  ['the name of who has none', [{ name: 'http' }], 'peers.0.name must not be http'],
  ['an unknown field', [{ name: 'a', adresses: [] }], 'peers.0.adresses is not known'],
  ['a key', [{ name: 'a', keys: ['tgk_x'] }], 'peers.0.keys.0 must be an object'],
  [
    'a key in place of its hash',
    [{ name: 'a', keys: [{ sha256: 'tgk_x', created }] }],
    'peers.0.keys.0.sha256 must be 64 hexadecimal digits',
  ],
  [
    'no date',
    [{ name: 'a', keys: [{ sha256, created: 'soon' }] }],
    'peers.0.keys.0.created must be a date',
  ],
  ['no address', [{ name: 'a', addresses: ['10.0.0'] }], 'peers.0.addresses.0 must be an address'],
  ['a rate below 0', [{ name: 'a', requests_per_second: -1 }], 'must be an integer from 0'],
  ['half a request', [{ name: 'a', requests_per_second: 0.5 }], 'must be an integer from 0'],
  ['no burst at all', [{ name: 'a', burst: 0 }], 'peers.0.burst must be an integer from 1'],
  ['no file type', [{ name: 'a', file_types: [] }], 'peers.0.file_types must have at least one'],
  ['a bad file type', [{ name: 'a', file_types: ['a b'] }], 'peers.0.file_types.0 must be'],
  ['a text for a truth', [{ name: 'a', disabled: 'no' }], 'peers.0.disabled must be true or'],
  ['a name twice', [{ name: 'a' }, { name: 'a' }], "peers.1.name 'a' occurs twice"],
  ['a key twice', [keyed('a', 'k'), keyed('b', 'k')], "peers.1.keys.0.sha256 is also a key of 'a'"],
]

describe('settings of peers', () => {
  it.each(BROKEN)('with %s are refused by path', (_what, value, message) => {
    expect(() => checkPeers(value)).toThrow(message)
    expect(compilePeers(value).skipped).toHaveLength(1)
  })

  it('never quote a value that may be a key', () => {
    const key = newPeerKey()
    const { skipped } = compilePeers([{ name: 'a', keys: [{ sha256: key, created }] }])
    expect(JSON.stringify(skipped)).not.toContain(key)
  })

  it('that are unusable do not affect other peers', () => {
    const peers = compilePeers([{ name: 'a', adresses: [] }, keyed('b', 'k'), null])
    expect(peers.byKey('k')?.name).toBe('b')
    expect(peers.skipped).toEqual([
      { name: 'a', path: 'peers.0.adresses', reason: 'is not known' },
      { name: '', path: 'peers.2', reason: 'must be an object' },
    ])
  })

  it('have their defaults filled in', () => {
    expect(checkPeers([{ name: 'a' }])).toEqual([
      { name: 'a', keys: [], addresses: [], requests_per_second: 0, disabled: false },
    ])
  })
})
