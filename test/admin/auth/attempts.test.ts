import { describe, expect, it } from 'vitest'
import { backOffMs, createAttempts, networkOf } from '../../../src/admin/auth/attempts.ts'
import { createPasswords } from '../../../src/admin/auth/passwords.ts'
import { addUser, logIn, PASSWORD, post, setSecurity, USER, useAuth } from './auth-world.ts'

const auth = useAuth()
const LOCKOUT = { attempts: 3, seconds: 30, seconds_max: 100 }

/** A world whose requests come from an address that the test sets. */
async function from(address: string, security: object = { lockout: LOCKOUT }) {
  await addUser(auth.catalog())
  await setSecurity(auth.catalog(), security)
  const at = { address }
  return { at, world: auth.world({ addressOf: () => at.address }) }
}

async function locks(): Promise<number[]> {
  const { client } = auth.redis()
  const keys = await client.keys('auth:lock:*')
  return Promise.all(keys.map((key) => client.pttl(key)))
}

/** As if the time of all locks was over. */
async function unlock(kind = 'lock'): Promise<void> {
  const { client } = auth.redis()
  for (const key of await client.keys(`auth:${kind}:*`)) await client.del(key)
}

describe('guessing a password', () => {
  it('waits after some wrong ones, and twice as long after each further one', async () => {
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

  it('has a count that ends, and begins anew after the right one', async () => {
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

  it('lets the right one in once the time is over', async () => {
    const { world } = await from('10.0.0.1')
    for (let tries = 0; tries < 3; tries += 1) await logIn(world, USER, 'wrong one')
    await unlock()
    expect((await logIn(world)).body.status).toBe(1)
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('with many requests at once gets no further', async () => {
    const { world } = await from('10.0.0.1')
    const all = await Promise.all(Array.from({ length: 30 }, () => logIn(world, USER, 'wrong one')))
    expect(all.filter(({ http }) => http === 429)).toHaveLength(27)
    expect(world.compared).toHaveLength(3)
  })

  it('of a directory is one count, however the name is written', async () => {
    await setSecurity(auth.catalog(), { lockout: LOCKOUT })
    const isConfigured = async () => true
    const ldap = { type: 'ldap', isConfigured, login: async () => 'refused' as const }
    const world = auth.world({ protocols: { password: [ldap] }, addressOf: () => '10.0.0.1' })
    const tried = (username: string) =>
      post(world, 'login', { username, password: 'wrong one', protocol: 'ldap' })
    for (const name of ['Zoé Groß', 'ZOÉ GROSS', 'zoe\u0301 groß']) {
      expect((await tried(name)).http).toBe(200)
    }
    expect((await tried('zoe gross')).http).toBe(429)
    // Whoever has the name here is another one.
    expect((await logIn(world, 'zoe gross', 'wrong one')).http).toBe(200)
  })

  it('from one address does not lock the user out elsewhere', async () => {
    const { world, at } = await from('10.0.0.1')
    for (let tries = 0; tries < 4; tries += 1) await logIn(world, USER, 'wrong one')
    expect((await logIn(world)).http).toBe(429)
    at.address = '10.0.0.2'
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('of many users from one address is slowed by that', async () => {
    const { world, at } = await from('10.0.0.1', { rate_limits: { logins_per_minute: 5 } })
    for (let user = 0; user < 5; user += 1) {
      expect((await logIn(world, `u${user}@example.org`, 'wrong one')).http).toBe(200)
    }
    const { http, headers } = await logIn(world)
    expect(http).toBe(429)
    expect(Number(headers['retry-after'])).toBeGreaterThan(50)
    await logIn(world)
    const refused = await auth.catalog().audit.countDocuments({ 'new.reason': 'address' })
    expect(refused).toBe(1)
    at.address = '10.0.0.2'
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('of one user from many addresses is slowed, but not from where the user comes', async () => {
    const { world, at } = await from('10.9.9.9')
    expect((await logIn(world)).body.status).toBe(1)
    for (let host = 0; host < 12; host += 1) {
      at.address = `10.0.1.${host}`
      expect((await logIn(world, USER, 'wrong one')).http).toBe(200)
    }
    at.address = '10.0.2.1'
    expect((await logIn(world, USER, 'wrong one')).http).toBe(200)
    at.address = '10.0.2.2'
    const { http, headers } = await logIn(world, USER, 'wrong one')
    expect([http, Number(headers['retry-after'])]).toEqual([429, expect.any(Number)])
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(2)
    at.address = '10.9.9.9'
    expect((await logIn(world)).body.status).toBe(1)
    at.address = '10.0.2.3'
    await unlock('pace')
    expect((await logIn(world)).body.status).toBe(1)
  })

  it('is written down when it is refused', async () => {
    const { world } = await from('10.0.0.1')
    for (let tries = 0; tries < 4; tries += 1) await logIn(world, USER, 'wrong one')
    const last = await auth.catalog().audit.findOne({ 'new.reason': 'locked' })
    expect(last).toMatchObject({ type: 'login_failed', key: `login_${USER}`, ip: '10.0.0.1' })
  })

  it('leaves no name in Redis: it may be a password, typed into the wrong field', async () => {
    const { world } = await from('10.0.0.1')
    await logIn(world, PASSWORD, 'wrong one')
    const keys = await auth.redis().client.keys('*')
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.join()).not.toContain(PASSWORD)
  })
})

describe('many logins at once', () => {
  it('wait for their turn, and the rest is sent away', async () => {
    await addUser(auth.catalog())
    const passwords = createPasswords({ runningMax: 1, waitingMax: 4 })
    const world = auth.world({ passwords })
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

  it('never compute more than may be at a time', async () => {
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

describe('how long to wait', () => {
  it.each([
    [1, 0],
    [4, 0],
    [5, 30],
    [6, 60],
    [11, 1920],
    [12, 3600],
    [10_000, 3600],
  ])('after try %i is %i s', (tries, seconds) => {
    const lockout = { attempts: 5, seconds: 30, seconds_max: 3600 }
    expect(backOffMs(tries, lockout)).toBe(seconds * 1000)
  })
})

describe('who one address stands for', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:0db8:0000::1', '2001:db8:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
  ])('%s: %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  it('is the network of IPv6: an attacker has all of it', async () => {
    const { deps } = auth.world()
    const attempts = createAttempts(deps)
    await setSecurity(auth.catalog(), { rate_limits: { logins_per_minute: 2 } })
    expect(await attempts.admit('2001:db8:1:2::1')).toBeNull()
    expect(await attempts.admit('2001:db8:1:2::2')).toBeNull()
    expect(await attempts.admit('2001:db8:1:2::3')).toMatchObject({ reason: 'address' })
  })
})
