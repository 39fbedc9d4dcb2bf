import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/error.ts'
import {
  addressWithPort,
  isAddress,
  isAddressRange,
  isHost,
  isLoopback,
  mustAuthenticate,
} from '../../src/config/hosts.ts'
import { loadConfig } from '../../src/config/load.ts'

const LOOPBACK = ['localhost', '::1', '0:0:0:0:0:0:0:1', '127.0.0.1', '127.255.0.9']
const REACHED = [
  '0.0.0.0',
  '192.168.1.1',
  '::',
  'fe80::1',
  '2001:db8::7',
  '::ffff:127.0.0.1',
  'node-1',
  'charging.example.com',
  '127.0.0.1.example.com',
  'localhost.example.com',
]
const NONE = [
  '',
  ' ',
  '127.0.0.256',
  '127.0.0',
  '127.1',
  '010.0.0.1',
  '1.2.3.4.5',
  '0',
  '::g',
  ':',
  '1::2::3',
  '[::1]',
  '::1]/[',
  'fe80::1%eth0',
  'a..b',
  '-a.com',
  'a_b',
  'a b',
  '.',
  'host:80',
  '0.0.0.0/0',
  '127.0.0.1\n',
  'a'.repeat(64),
  `${'a.'.repeat(127)}a.a`,
]

/** Errors when both ports exist and one of them is opened. */
function refusals(env: Record<string, string>): string[] {
  try {
    loadConfig({ env })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ key, reason, source }) => `${key} ${reason} (${source})`)
  }
}

describe('a host', () => {
  it.each([...LOOPBACK, ...REACHED])('can be %s', (host) => {
    expect(isHost(host)).toBe(true)
    expect(isLoopback(host)).toBe(LOOPBACK.includes(host))
  })

  it.each(NONE)('cannot be %j, opened or not', (host) => {
    expect(isHost(host)).toBe(false)
    expect(isLoopback(host)).toBe(false)
    const env = { TOLLGATE_ADMIN_HOST: host, TOLLGATE_ADMIN_OPEN_TO: 'network' }
    // Variables are trimmed before they are checked.
    if (host.trim() === host) {
      expect(refusals(env)[0]).toContain('admin.host must be an IP address or a host name')
    }
  })
})

describe('a port with authentication', () => {
  it.each([
    ['loopback', [], REACHED],
    ['network', [], []],
    ['nobody', LOOPBACK, REACHED],
  ] as const)('open to %s: who must authenticate', (openTo, here, there) => {
    const must = (host: string) => mustAuthenticate(host, openTo)
    expect(LOOPBACK.filter(must)).toEqual(here)
    expect(REACHED.filter(must)).toEqual(there)
    for (const host of [...LOOPBACK, ...REACHED]) {
      for (const port of ['REALTIME', 'ADMIN']) {
        const env = { [`TOLLGATE_${port}_HOST`]: host, [`TOLLGATE_${port}_OPEN_TO`]: openTo }
        expect(refusals(env)).toEqual([])
      }
    }
  })

  it('is open to nobody by default if balances can be changed there', () => {
    expect(loadConfig({ env: {} }).admin.openTo).toBe('nobody')
  })
})

describe('an address', () => {
  it('is not a name', () => {
    for (const address of ['127.0.0.1', '10.2.3.4', '::', '2001:db8::7', '::ffff:127.0.0.1']) {
      expect(isAddress(address), address).toBe(true)
    }
    for (const name of ['localhost', 'node-1', '1.2.3', '127.0.0.1.example.com', '', ...NONE]) {
      expect(isAddress(name), name).toBe(false)
    }
  })

  it.each(['10.0.0.0/8', '127.0.0.1', '127.0.0.1/32', '0.0.0.0/1', '::1', '2001:db8::/32', '::/1'])(
    'and a range can be %s',
    (range) => {
      expect(isAddressRange(range)).toBe(true)
      const env = { TOLLGATE_ADMIN_TRUSTED_PROXIES: `${range},192.0.2.1` }
      expect(loadConfig({ env }).admin.trustedProxies).toEqual([range, '192.0.2.1'])
    },
  )

  it.each(['0.0.0.0/0', '::/0', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/8/8', '/8', '*'])(
    'and a range cannot be %s',
    (range) => {
      expect(isAddressRange(range)).toBe(false)
      expect(refusals({ TOLLGATE_ADMIN_TRUSTED_PROXIES: range })[0]).toContain(
        'admin.trustedProxies must be a list of different IP addresses, or ranges',
      )
    },
  )

  it.each([
    ['127.0.0.1:8183', '127.0.0.1', 8183],
    ['[::1]:65535', '::1', 65_535],
  ])('of private ranges can have a port: %s', (text, address, port) => {
    expect(addressWithPort(text)).toEqual({ address, port })
    const env = { TOLLGATE_EXTERNAL_PRIVATE_RANGES: `${text},10.0.0.0/8` }
    expect(loadConfig({ env }).external.privateRanges).toEqual([text, '10.0.0.0/8'])
    expect(refusals({ TOLLGATE_ADMIN_TRUSTED_PROXIES: text })).toHaveLength(1)
  })

  it.each(['localhost:80', '127.0.0.1:0', '127.0.0.1:65536', '127.0.0.1:', '::1:80', '1.2.3:80'])(
    'of private ranges cannot be %s',
    (text) => {
      expect(addressWithPort(text)).toBeNull()
    },
  )
})
