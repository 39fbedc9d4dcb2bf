import { describe, expect, it } from 'vitest'
import { createSessions, REPLACED_MS } from '../../src/identity/session-store.ts'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { openRedis, StoreDownError } from '../../src/store/redis.ts'
import { MINUTE_MS, setSecurity, useAuth } from '../support/identity/login-server.ts'
import { silent } from '../support/recorder/accounts.ts'

const auth = useAuth()
const OPS = { id: 'a1', name: 'ops', roles: null }
const HOUR_MS = 60 * MINUTE_MS
/** Nothing is rotated unless a test requests it. */
const NO_ROTATION = { idle_minutes: 60, absolute_minutes: 240, rotate_minutes: 1000 }

async function open(session: object = NO_ROTATION) {
  await setSecurity(auth.catalog(), { session })
  const world = auth.server()
  const cookie = await world.sessions.open(OPS, 'internal')
  return { ...world, cookie, find: (value = cookie) => world.sessions.find(value) }
}

/** Everything stored in Redis, as one text. */
async function everything(): Promise<string> {
  const { client } = auth.redis()
  const keys = await client.keys('*')
  const values = await Promise.all(keys.map((key) => client.get(key)))
  return JSON.stringify([keys, values])
}

describe('a session', () => {
  it('is found by the value of its cookie', async () => {
    const { find, cookie, now } = await open()
    expect(cookie).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(await find()).toEqual({
      id: expect.stringMatching(/^[\w-]{22}$/),
      session: { user: OPS, protocol: 'internal', createdMs: now() },
      idleEndMs: now() + HOUR_MS,
      absoluteEndMs: now() + 4 * HOUR_MS,
      renewed: null,
    })
  })

  it('is stored in Redis without the value of its cookie', async () => {
    const { cookie } = await open()
    expect(await everything()).not.toContain(cookie)
  })

  it.each(['', 'x', '*', 'A'.repeat(43), 'A'.repeat(100_000), `${'A'.repeat(40)}\r\n*`])(
    'is not found by %j',
    async (value) => {
      const { find, sessions } = await open()
      expect(await find(value)).toBeNull()
      await sessions.end(value)
      expect(await find()).not.toBeNull()
    },
  )

  it('ends when it is not used', async () => {
    const { find, pass } = await open()
    pass(HOUR_MS - 1)
    expect(await find()).not.toBeNull()
    pass(HOUR_MS - 1)
    expect(await find()).not.toBeNull()
    pass(HOUR_MS)
    expect(await find()).toBeNull()
    pass(-HOUR_MS)
    expect(await find()).toBeNull()
  })

  it('ends after its absolute lifetime at the latest, however it is used', async () => {
    const { find, pass } = await open()
    for (let halves = 1; halves < 8; halves += 1) {
      pass(HOUR_MS / 2)
      expect(await find()).not.toBeNull()
    }
    pass(HOUR_MS / 2)
    expect(await find()).toBeNull()
  })

  it('expires in Redis by itself', async () => {
    await open()
    const { client } = auth.redis()
    const left: Record<string, number> = {}
    for (const key of await client.keys('*')) left[key.split(':')[1] ?? ''] = await client.pttl(key)
    expect(Object.keys(left).sort()).toEqual(['cookie', 'seen', 'session'])
    for (const [kind, ms] of Object.entries(left)) {
      const wholeMs = kind === 'seen' ? HOUR_MS : 4 * HOUR_MS
      expect(ms).toBeGreaterThan(wholeMs - MINUTE_MS)
      expect(ms).toBeLessThanOrEqual(wholeMs)
    }
  })

  it('obeys settings that are stored after it began', async () => {
    const { find, pass } = await open()
    pass(10 * MINUTE_MS)
    await setSecurity(auth.catalog(), { session: { ...NO_ROTATION, idle_minutes: 10 } })
    expect(await find()).toBeNull()
  })
})

describe('a new session id', () => {
  const rotating = { idle_minutes: 60, absolute_minutes: 60, rotate_minutes: 5 }

  it('replaces the old one, which stays valid for a short time', async () => {
    const { find, pass, cookie } = await open(rotating)
    pass(5 * MINUTE_MS - 1)
    expect((await find())?.renewed).toBeNull()
    pass(1)
    const { renewed } = (await find()) ?? {}
    expect(renewed).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(renewed).not.toBe(cookie)
    expect(await find(renewed ?? '')).toMatchObject({ session: { user: OPS }, renewed: null })
    pass(REPLACED_MS - 1)
    expect((await find())?.renewed).toBeNull()
    pass(1)
    expect(await find()).toBeNull()
    expect(await find(renewed ?? '')).not.toBeNull()
  })

  it('is created once for any number of concurrent requests', async () => {
    const { find, pass } = await open(rotating)
    pass(5 * MINUTE_MS)
    const found = await Promise.all(Array.from({ length: 20 }, () => find()))
    expect(found.every((one) => one !== null)).toBe(true)
    expect(found.filter((one) => one?.renewed)).toHaveLength(1)
  })

  it('does not extend the session', async () => {
    const { find, pass, cookie } = await open(rotating)
    let last = cookie
    for (let minutes = 5; minutes < 60; minutes += 5) {
      pass(5 * MINUTE_MS)
      last = (await find(last))?.renewed ?? ''
    }
    expect(await find(last)).not.toBeNull()
    pass(5 * MINUTE_MS)
    expect(await find(last)).toBeNull()
  })

  it.each(['old', 'new'])('ends with the session, by the %s one', async (which) => {
    const { find, pass, cookie, sessions } = await open(rotating)
    pass(5 * MINUTE_MS)
    const renewed = (await find())?.renewed ?? ''
    await sessions.end(which === 'old' ? cookie : renewed)
    expect([await find(), await find(renewed)]).toEqual([null, null])
  })

  it('does not restore a session that ends meanwhile', async () => {
    const { find, pass, cookie, sessions } = await open(rotating)
    pass(5 * MINUTE_MS)
    const [found] = await Promise.all([find(), sessions.end(cookie)])
    expect([await find(), await find(found?.renewed ?? '')]).toEqual([null, null])
  })
})

describe('logging out', () => {
  it('ends this session, and no other', async () => {
    const { find, sessions, cookie } = await open()
    const other = await sessions.open(OPS, 'internal')
    await sessions.end(cookie)
    expect(await find()).toBeNull()
    expect(await find(other)).not.toBeNull()
  })

  it('of all sessions of the user spares one', async () => {
    const { find, sessions } = await open()
    const second = await sessions.open(OPS, 'internal')
    const elses = await sessions.open({ ...OPS, id: 'b2' }, 'internal')
    await sessions.endAll(OPS.id, second)
    expect([await find(), await find(second)]).toEqual([null, expect.anything()])
    const later = await sessions.open(OPS, 'internal')
    expect([await find(later), await find(elses)]).not.toContain(null)
    await sessions.endAll(OPS.id)
    expect([await find(second), await find(later)]).toEqual([null, null])
    expect(await find(elses)).not.toBeNull()
  })
})

describe('without Redis', () => {
  it('every call fails with an error that says so', async () => {
    const url = 'redis://127.0.0.1:1'
    const away = openRedis({ url, commandTimeoutMs: 200, connectTimeoutMs: 200 }, silent)
    try {
      const { deps } = auth.server()
      const sessions = createSessions({ ...deps, keys: openExpiringKeys(away, 'auth') })
      const cookie = 'A'.repeat(43)
      await expect(sessions.open(OPS, 'internal')).rejects.toThrow(StoreDownError)
      await expect(sessions.find(cookie)).rejects.toThrow(StoreDownError)
      await expect(sessions.end(cookie)).rejects.toThrow(StoreDownError)
      await expect(sessions.endAll(OPS.id)).rejects.toThrow(StoreDownError)
    } finally {
      await away.close()
    }
  })
})
