import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/config/error.ts'
import { closedReason, isHost, isLoopback, mustAuthenticate } from '../../src/config/hosts.ts'
import { loadConfig } from '../../src/config/load.ts'

const LOOPBACK = ['localhost', '::1', '0:0:0:0:0:0:0:1', '127.0.0.1', '127.255.0.9']
const REACHED = [
  ...['0.0.0.0', '192.168.1.1', '::', 'fe80::1', '2001:db8::7', '::ffff:127.0.0.1'],
  ...['node-1', 'charging.example.com', '127.0.0.1.example.com', 'localhost.example.com'],
]
const NONE = [
  ...[
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
  ],
  ...[
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
  ],
  ...['127.0.0.1\n', 'a'.repeat(64), `${'a.'.repeat(127)}a.a`],
]

/** What is wrong when both ports are there, and one of them is opened. */
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
  it.each([...LOOPBACK, ...REACHED])('may be %s', (host) => {
    expect(isHost(host)).toBe(true)
    expect(isLoopback(host)).toBe(LOOPBACK.includes(host))
  })

  it.each(NONE)('is not %j, opened or not', (host) => {
    expect(isHost(host)).toBe(false)
    expect(isLoopback(host)).toBe(false)
    const env = { TOLLGATE_ADMIN_HOST: host, TOLLGATE_ADMIN_OPEN_TO: 'network' }
    // A variable is trimmed before it is looked at.
    if (host.trim() === host) {
      expect(refusals(env)[0]).toContain('admin.host must be an IP address or a host name')
    }
  })
})

describe('a port where nobody can authenticate', () => {
  it.each(LOOPBACK)('is on %s without being opened', (host) => {
    expect(loadConfig({ env: { TOLLGATE_ADMIN_HOST: host } }).admin.host).toBe(host)
  })

  it.each(REACHED)('is on %s only if it was opened by name', (host) => {
    const env = { TOLLGATE_REALTIME_HOST: host, TOLLGATE_ADMIN_HOST: host }
    expect(refusals({ ...env, TOLLGATE_REALTIME_OPEN_TO: 'network' })).toEqual([
      'admin.host must be loopback (localhost, ::1 or an address in 127.0.0.0/8) unless ' +
        `admin.openTo is network: nobody authenticates yet, not '${host}' (TOLLGATE_ADMIN_HOST)`,
    ])
    expect(refusals({ ...env, TOLLGATE_ADMIN_OPEN_TO: 'network' })).toEqual([])
  })

  it('that was opened may stay on loopback', () => {
    expect(closedReason('127.0.0.1', 'network', 'admin.openTo')).toBeUndefined()
    expect(refusals({ TOLLGATE_ADMIN_OPEN_TO: 'network' })).toEqual([])
  })

  it('cannot be open to nobody', () => {
    expect(refusals({ TOLLGATE_ADMIN_OPEN_TO: 'nobody' })[0]).toContain(
      'admin.openTo must be one of',
    )
  })
})

describe('charging, where one can authenticate', () => {
  it.each([
    ['loopback', [], REACHED],
    ['network', [], []],
    ['nobody', LOOPBACK, REACHED],
  ] as const)('open to %s: who must', (openTo, here, there) => {
    const must = (host: string) => mustAuthenticate(host, openTo)
    expect(LOOPBACK.filter(must)).toEqual(here)
    expect(REACHED.filter(must)).toEqual(there)
    for (const host of [...LOOPBACK, ...REACHED]) {
      expect(refusals({ TOLLGATE_REALTIME_HOST: host, TOLLGATE_REALTIME_OPEN_TO: openTo })).toEqual(
        [],
      )
    }
  })
})
