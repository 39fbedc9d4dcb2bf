import { describe, expect, it } from 'vitest'
import { openExpiringKeys } from '../../src/store/expiring.ts'
import { createTokens, newFamily, type TokenHolder } from '../../src/store/tokens.ts'
import { useRedis } from '../support/connected-redis.ts'
import { useMade } from '../support/opened.ts'

const { redis } = useRedis()
const tokens = useMade(() => createTokens(openExpiringKeys(redis(), 'auth')))

const MINUTE_MS = 60_000
const HOLDER: TokenHolder = {
  client: 'crm',
  fingerprint: 'f',
  user: null,
  grant: 'client_credentials',
  scope: null,
  family: null,
  expiresMs: 5,
}
const ofUser = (id: string, family: string): TokenHolder => {
  return { ...HOLDER, user: { id, name: 'ops', passwordMark: 'm' }, family }
}

describe('a token', () => {
  it('is 40 random hex digits, and Redis stores its digest until it expires', async () => {
    const issued = await tokens().access.issue(HOLDER, MINUTE_MS)
    const refresh = await tokens().refresh.issue(HOLDER, 2 * MINUTE_MS)
    expect([issued, refresh]).toEqual(Array(2).fill(expect.stringMatching(/^[0-9a-f]{40}$/)))
    const keys = await redis().client.keys('*')
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(key).toMatch(/^auth:(token|refresh):[0-9a-f]{64}$/)
      const value = await redis().client.get(key)
      for (const token of [issued, refresh]) expect(`${key} ${value}`).not.toContain(token)
      const leftMs = await redis().client.pttl(key)
      const lifeMs = key.includes(':token:') ? MINUTE_MS : 2 * MINUTE_MS
      expect(leftMs > lifeMs / 2 && leftMs <= lifeMs).toBe(true)
    }
    expect(await tokens().access.find(issued)).toEqual(HOLDER)
  })

  it('is not a refresh token, and is found only by its exact text', async () => {
    const issued = await tokens().access.issue(HOLDER, MINUTE_MS)
    expect(await tokens().refresh.find(issued)).toBeNull()
    const others = ['', issued.slice(1), `${issued}0`, issued.toUpperCase(), '*', '0'.repeat(40)]
    for (const other of others.filter((each) => each !== issued)) {
      expect(await tokens().access.find(other)).toBeNull()
    }
  })

  it('does not exist after it was revoked', async () => {
    const [issued, other] = await Promise.all([
      tokens().access.issue(HOLDER, MINUTE_MS),
      tokens().access.issue(HOLDER, MINUTE_MS),
    ])
    await tokens().access.revoke(issued)
    expect(await tokens().access.find(issued)).toBeNull()
    expect(await tokens().access.find(other)).toEqual(HOLDER)
  })
})

describe('the tokens of a login', () => {
  it('end together, and no others', async () => {
    const holder = ofUser('1', newFamily())
    const access = await tokens().access.issue(holder, MINUTE_MS)
    const refresh = await tokens().refresh.issue(holder, MINUTE_MS)
    const other = await tokens().access.issue(ofUser('1', newFamily()), MINUTE_MS)
    await tokens().endFamily(holder.family ?? '')
    expect(await tokens().access.find(access)).toBeNull()
    expect(await tokens().refresh.find(refresh)).toBeNull()
    expect(await tokens().access.find(other)).not.toBeNull()
  })
})

describe('a refresh token', () => {
  it('is claimed by one of several concurrent clients, until it is released', async () => {
    const issued = await tokens().refresh.issue(HOLDER, MINUTE_MS)
    const claim = () => tokens().claim(issued, MINUTE_MS)
    const claims = await Promise.all(Array.from({ length: 20 }, claim))
    expect(claims.filter((isMine) => isMine)).toHaveLength(1)
    await tokens().release(issued)
    expect(await claim()).toBe(true)
  })
})
