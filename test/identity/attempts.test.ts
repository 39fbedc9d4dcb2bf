import { describe, expect, it } from 'vitest'
import { backOffMs, createAttempts, unlockAccount } from '../../src/identity/attempts.ts'
import { createPasswords } from '../../src/identity/passwords.ts'
import {
  addUser,
  type LoginAnswer,
  type LoginServer,
  logIn,
  PASSWORD,
  post,
  send,
  setSecurity,
  USER,
  useAuth,
} from '../support/identity/login-server.ts'

const auth = useAuth()
const LOCKOUT = { attempts: 3, seconds: 30, seconds_max: 100 }

/** A server whose requests come from an address that the test sets. */
async function from(address: string, security: object = { lockout: LOCKOUT }) {
  await addUser(auth.catalog())
  await setSecurity(auth.catalog(), security)
  const at = { address }
  return { at, world: auth.server({ addressOf: () => at.address }) }
}

async function locks(): Promise<number[]> {
  const { client } = auth.redis()
  const keys = await client.keys('auth:lock:*')
  return Promise.all(keys.map((key) => client.pttl(key)))
}

/** Removes all locks, as if they had expired. */
async function unlock(kind = 'lock'): Promise<void> {
  const { client } = auth.redis()
  for (const key of await client.keys(`auth:${kind}:*`)) await client.del(key)
}

describe('guessing a password', () => {
  it('has to wait after some wrong ones, and twice as long after each further one', async () => {
    const { world } = await from('10.0.0.1')
    for (let tries = 0; tries < 3; tries += 1) {
      expect((await logIn(world, USER, 'wrong one')).body).toMatchObject({ status: 0, input: {} })
    }
    for (const seconds of [30, 60, 100, 100]) {
      const [leftMs = 0] = await locks()
      expect(leftMs).toBeGreaterThan((seconds - 10) * 1000)
      expect(leftMs).toBeLessThanOrEqual(seconds * 1000)
      const { http, body, headers } = await logIn(world)
      expect([http, body.code, body.status, body.details]).toEqual([429, 429, 0, false])
      expect(Number(headers['retry-after'])).toBe(Math.ceil(leftMs / 1000))
      await unlock()
      expect((await logIn(world, USER, 'wrong one')).http).toBe(200)
    }
    expect(world.compared).toHaveLength(7)
  })

  it('has a count that expires, and that the right password resets', async () => {
    const { world } = await from('10.0.0.1')
    await logIn(world, USER, 'wrong one')
    await logIn(world, USER, 'wrong one')
    const { client } = auth.redis()
    const [tries = ''] = await client.keys('auth:tries:*')
    expect(await client.pttl(tries)).toBeGreaterThan(0)
    expect((await logIn(world)).body.status).toBe(1)
    for (let again = 0; again < 2; again += 1) await logIn(world, USER, 'wrong one')
    expect((await logIn(world)).body.status).toBe(1)
    expect(await locks()).toEqual([])
  })

  it('succeeds with the right one once the lock has expired', async () => {
    const { world } = await from('10.0.0.1')
    for (let tries = 0; tries < 3; tries += 1) await logIn(world, USER, 'wrong one')
    await unlock()
    expect((await logIn(world)).body.status).toBe(1)
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('with many concurrent requests gets no further', async () => {
    const { world } = await from('10.0.0.1')
    const all = await Promise.all(Array.from({ length: 30 }, () => logIn(world, USER, 'wrong one')))
    expect(all.filter(({ http }) => http === 429)).toHaveLength(27)
    expect(world.compared).toHaveLength(3)
  })

  it('has one attempt per lock that expired, also with many concurrent requests', async () => {
    const { world } = await from('10.0.0.1')
    for (let tries = 0; tries < 3; tries += 1) await logIn(world, USER, 'wrong one')
    for (const compared of [4, 5]) {
      await unlock()
      await Promise.all(Array.from({ length: 30 }, () => logIn(world, USER, 'wrong one')))
      expect(world.compared).toHaveLength(compared)
    }
  })

  it('of a directory has one count, however the name is written', async () => {
    await setSecurity(auth.catalog(), { lockout: LOCKOUT })
    const isConfigured = async () => true
    const ldap = { type: 'ldap', isConfigured, login: async () => 'refused' as const }
    const world = auth.server({ protocols: { password: [ldap] }, addressOf: () => '10.0.0.1' })
    const tried = (username: string) =>
      post(world, 'login', { username, password: 'wrong one', protocol: 'ldap' })
    for (const name of ['Zoé Groß', 'ZOÉ GROSS', 'zoe\u0301 groß']) {
      expect((await tried(name)).http).toBe(200)
    }
    expect((await tried('zoe gross')).http).toBe(429)
    // This name belongs to another user.
    expect((await logIn(world, 'zoe gross', 'wrong one')).http).toBe(200)
  })

  it('from one address does not lock the user out elsewhere', async () => {
    const { world, at } = await from('10.0.0.1')
    for (let tries = 0; tries < 4; tries += 1) await logIn(world, USER, 'wrong one')
    expect((await logIn(world)).http).toBe(429)
    at.address = '10.0.0.2'
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('of many users from one address is limited for the address', async () => {
    const { world, at } = await from('10.0.0.1', { rate_limits: { logins_per_minute: 5 } })
    for (let user = 0; user < 5; user += 1) {
      expect((await logIn(world, `u${user}@example.org`, 'wrong one')).http).toBe(200)
    }
    const { http, headers } = await logIn(world)
    expect(http).toBe(429)
    expect(Number(headers['retry-after'])).toBeGreaterThan(50)
    at.address = '10.0.0.2'
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('of one user from many addresses locks each address, and no other', async () => {
    const { world, at } = await from('10.9.9.9')
    for (let host = 0; host < 12; host += 1) {
      at.address = `10.0.1.${host}`
      expect((await logIn(world, USER, 'wrong one')).http).toBe(200)
    }
    at.address = '10.0.2.1'
    expect((await logIn(world, USER, 'wrong one')).http).toBe(200)
    const { http, headers } = await logIn(world, USER, 'wrong one')
    expect([http, Number(headers['retry-after'])]).toEqual([429, expect.any(Number)])
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(2)
    at.address = '10.9.9.9'
    expect((await logIn(world)).body.status).toBe(1)
    at.address = '10.0.2.1'
    await unlock('pace')
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('leaves no name in Redis: it may be a password, typed into the wrong field', async () => {
    const { world } = await from('10.0.0.1')
    await logIn(world, PASSWORD, 'wrong one')
    const keys = await auth.redis().client.keys('*')
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.join()).not.toContain(PASSWORD)
  })
})

describe('many concurrent logins', () => {
  it('are queued, and rejected when the queue is full', async () => {
    await addUser(auth.catalog())
    const passwords = createPasswords({ runningMax: 1, waitingMax: 4 })
    const world = auth.server({ passwords })
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, user) => logIn(world, `u${user}@example.org`, PASSWORD)),
    )
    const busy = all.filter(({ http }) => http === 503)
    expect(busy.length).toBeGreaterThan(0)
    expect(all.filter(({ http }) => http === 200).length).toBeGreaterThanOrEqual(5)
    for (const { body, headers } of busy) {
      expect([body.code, headers['retry-after']]).toEqual([503, '1'])
    }
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('never compute more hashes at a time than allowed', async () => {
    const passwords = createPasswords({ runningMax: 2, waitingMax: 4 })
    const asked = Array.from({ length: 10 }, () => passwords.isRight('x', null))
    const settled = await Promise.allSettled(asked)
    expect(settled.map(({ status }) => status)).toEqual([
      ...Array<string>(6).fill('fulfilled'),
      ...Array<string>(4).fill('rejected'),
    ])
    expect(await passwords.isRight('x', null)).toBe(false)
  })
})

describe('the lock', () => {
  it.each([
    [1, 0],
    [4, 0],
    [5, 30],
    [6, 60],
    [11, 1920],
    [12, 3600],
    [10_000, 3600],
  ])('after attempt %i lasts %i s', (tries, seconds) => {
    const lockout = { attempts: 5, seconds: 30, seconds_max: 3600 }
    expect(backOffMs(tries, lockout)).toBe(seconds * 1000)
  })
})

/** The cookies that an answer sets, as a request sends them back. */
const cookiesIn = ({ setCookie }: LoginAnswer): string =>
  setCookie
    .split(', ')
    .map((each) => each.split(';')[0])
    .filter((each) => each?.includes('tollgate_device'))
    .join('; ')

function logInWith(world: LoginServer, cookie: string, password = PASSWORD): Promise<LoginAnswer> {
  const payload = { username: USER, password }
  return send(world, { method: 'POST', url: '/auth/login', headers: { cookie }, payload })
}

describe('one user, attacked from many addresses', () => {
  const FEW = { lockout: { ...LOCKOUT, failures_per_hour: 10 } }
  /** Wrong attempts, each from another address. */
  const guess = async (world: LoginServer, at: { address: string }, times: number) => {
    const told: number[] = []
    for (let host = 0; host < times; host += 1) {
      at.address = `10.1.${times}.${host}`
      told.push((await logIn(world, USER, 'wrong one')).http)
    }
    return told
  }

  it('accepts a hundred wrong attempts per hour, across all addresses and processes', async () => {
    await addUser(auth.catalog())
    const { deps } = auth.server()
    const nodes = [createAttempts(deps), createAttempts(deps)]
    const begun = await Promise.all(
      Array.from({ length: 150 }, (_, host) =>
        nodes[host % 2]?.begin(USER, { address: `10.2.0.${host}`, device: null }),
      ),
    )
    const refused = begun.filter((each) => each !== undefined && 'refused' in each)
    expect(refused).toHaveLength(50)
    const [key = ''] = await auth.redis().client.keys('auth:failures:*')
    const leftMs = await auth.redis().client.pttl(key)
    for (const each of refused) {
      expect(each).toMatchObject({ refused: { reason: 'account' } })
      const retryAfterMs = each && 'refused' in each ? each.refused.retryAfterMs : 0
      expect(retryAfterMs).toBeGreaterThan(leftMs - 60_000)
      expect(retryAfterMs).toBeLessThanOrEqual(3_600_000)
    }
  })

  it('accepts further ones only as earlier ones become an hour old, one for one', async () => {
    await addUser(auth.catalog())
    const attempts = createAttempts(auth.server().deps)
    const guessed = async (network: number) => {
      const from = Array.from({ length: 110 }, (_, host) => `10.4.${network}.${host}`)
      const begun = await Promise.all(
        from.map((address) => attempts.begin(USER, { address, device: null })),
      )
      return begun.filter((each) => !('refused' in each)).length
    }
    expect(await guessed(1)).toBe(100)
    const { client } = auth.redis()
    const [key = ''] = await client.keys('auth:failures:*')
    const ids = (await client.zrange(key, '0', '-1')).slice(0, 7)
    for (const id of ids) await client.zincrby(key, -3_600_000, id)
    expect(await guessed(2)).toBe(7)
  })

  it('is refused beyond it, with the right password too, except from a known device', async () => {
    const { world, at } = await from('10.9.9.9', FEW)
    const device = cookiesIn(await logIn(world))
    expect(device).toMatch(/^tollgate_device_[\w-]{8}=[\w-]{22}\.\w+\.[\w-]{43}$/)
    expect(await guess(world, at, 12)).toEqual([...Array(10).fill(200), 429, 429])
    expect(world.compared).toHaveLength(11)
    at.address = '10.9.9.9'
    const { http, body } = await logIn(world)
    expect([http, body.desc]).toEqual([429, expect.stringContaining('tollgate user unlock')])
    expect((await logInWith(world, device)).body.status).toBe(1)
    at.address = '10.1.12.3'
    expect((await logInWith(world, device)).body.status).toBe(1)
  })

  it('is let in again when an operator unlocks the user', async () => {
    const { world, at } = await from('10.9.9.9', FEW)
    expect(await guess(world, at, 11)).toContain(429)
    for (let tries = 0; tries < 3; tries += 1) await logIn(world, USER, 'wrong one')
    expect((await logIn(world)).http).toBe(429)
    await unlockAccount(world.deps.keys, USER)
    expect((await logIn(world)).body.status).toBe(1)
    expect(await guess(world, at, 12)).toContain(429)
  })

  it('loses no attempts by successful logins', async () => {
    const { world, at } = await from('10.9.9.9', FEW)
    for (let host = 0; host < 20; host += 1) {
      at.address = `10.3.0.${host}`
      expect((await logIn(world)).body.status).toBe(1)
    }
    expect(await auth.redis().client.keys('auth:failures:*')).toEqual([])
  })
})

describe('a known device', () => {
  it('is not limited by attacks from the same address', async () => {
    const { world } = await from('10.9.9.9', {
      lockout: LOCKOUT,
      rate_limits: { logins_per_minute: 6 },
    })
    const device = cookiesIn(await logIn(world))
    for (let tries = 0; tries < 10; tries += 1) await logIn(world, USER, 'wrong one')
    expect((await logIn(world)).http).toBe(429)
    expect((await logInWith(world, device)).body.status).toBe(1)
  })

  it('has its own count of attempts and its own limit', async () => {
    const { world } = await from('10.9.9.9')
    const device = cookiesIn(await logIn(world))
    for (let tries = 0; tries < 3; tries += 1) {
      expect((await logInWith(world, device, 'wrong one')).http).toBe(200)
    }
    expect((await logInWith(world, device)).http).toBe(429)
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('is recognised for the user that logged in there, while its cookie is intact', async () => {
    const { world, at } = await from('10.9.9.9', { lockout: { ...LOCKOUT, failures_per_hour: 1 } })
    await addUser(auth.catalog(), { username: 'evil@example.org' })
    const own = cookiesIn(await logIn(world))
    const evil = cookiesIn(await logIn(world, 'evil@example.org'))
    at.address = '10.1.1.1'
    await logIn(world, USER, 'wrong one')
    const [name = ''] = own.split('=')
    const swapped = `${name}=${evil.split('=')[1]}`
    const flipped = own.slice(0, -1) + (own.endsWith('A') ? 'B' : 'A')
    const [, id, , mac] = /=(.*)\.(.*)\.(.*)$/.exec(own) ?? []
    const longer = `${name}=${id}.zzzzzzzzzz.${mac}`
    for (const cookie of [evil, swapped, flipped, longer, `${own}; ${own}`, `${name}=x`]) {
      expect((await logInWith(world, cookie)).http).toBe(429)
    }
    expect((await logInWith(world, own)).body.status).toBe(1)
    world.pass(181 * 24 * 3_600_000)
    expect((await logInWith(world, own)).http).toBe(429)
  })

  it('keeps its id with each login and with a change of the password', async () => {
    const { world } = await from('10.9.9.9')
    const device = cookiesIn(await logIn(world))
    world.pass(1000)
    const renewed = cookiesIn(await logInWith(world, device))
    expect(renewed.split('.')[0]).toBe(device.split('.')[0])
    expect(renewed).not.toBe(device)
  })
})

describe('IPv6 addresses', () => {
  const admitted = async (addresses: readonly string[]) => {
    const { deps } = auth.server()
    await setSecurity(auth.catalog(), { rate_limits: { logins_per_minute: 2 } })
    const attempts = createAttempts(deps)
    const told: boolean[] = []
    for (const address of addresses) {
      told.push((await attempts.admit({ address, device: null })) === null)
    }
    return told
  }

  it('share one count per /64', async () => {
    const hosts = ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:2::3']
    expect(await admitted([...hosts, '2001:db8:1:3::1'])).toEqual([true, true, false, true])
  })

  it('have twice the limit in a /56, and four times the limit in a /48', async () => {
    const of56 = [
      '2001:db8:1:100::1',
      '2001:db8:1:1ff::1',
      '2001:db8:1:101::1',
      '2001:db8:1:102::1',
    ]
    const others = [1, 2, 3, 4, 5].map((each) => `2001:db8:1:${each}00::2`)
    expect(await admitted([...of56, '2001:db8:1:103::1', '2001:db8:1:200::1'])).toEqual([
      true,
      true,
      true,
      true,
      false,
      true,
    ])
    expect(await admitted(others.map((each) => each.replace('1:', '9:')))).toHaveLength(5)
  })

  it('lock a user for the whole /56 and /48 after more wrong attempts', async () => {
    const { world, at } = await from('::1', { lockout: { ...LOCKOUT, attempts: 2 } })
    const told: number[] = []
    for (let net = 0; net < 6; net += 1) {
      at.address = `2001:db8:7:10${net}::1`
      told.push((await logIn(world, USER, 'wrong one')).http)
    }
    expect(told).toEqual([200, 200, 200, 200, 429, 429])
    at.address = '2001:db8:7:200::1'
    expect((await logIn(world)).body.status).toBe(1)
  })
})
