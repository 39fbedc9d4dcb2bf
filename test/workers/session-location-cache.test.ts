import { describe, expect, it } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { SessionLocationCache } from '../../src/workers/session-location-cache.ts'

const TTL_MS = 1_000
const of = (origin: string, sessionId = 's') => ({ origin, sessionId })

function open(renewLocations = async () => undefined) {
  return new SessionLocationCache({ renewLocations } as unknown as Ledger, TTL_MS, 100)
}

describe('the cached locations', () => {
  it('are those of a session id and its origin', () => {
    const cache = open()
    const origins = ['a', 'b', 'c']
    for (const [index, origin] of origins.entries()) {
      cache.remember(of(origin), `key-${origin}`, { aid: index + 1, sid: 10 }, 0)
    }
    const found = () => origins.map((origin) => cache.peek(of(origin), 0)?.aid)
    expect(found()).toEqual([1, 2, 3])
    cache.remember(of('b'), 'key-b', { aid: 7, sid: 10 }, 0)
    expect(found()).toEqual([1, 7, 3])
    cache.forget(of('a'))
    expect(found()).toEqual([undefined, 7, 3])
    cache.forget(of('b'))
    cache.forget(of('c'))
    expect(found()).toEqual([undefined, undefined, undefined])
    expect(cache.peek(of('c', 'other'), 0)).toBeUndefined()
  })

  it('are renewed once after half of their time, and dropped if that fails', async () => {
    const renewals: boolean[] = []
    const cache = open(async () => {
      renewals.push(true)
      throw new Error('redis is unavailable')
    })
    cache.remember(of('a'), 'key-a', { aid: 1, sid: 10 }, 0)
    cache.remember(of('b'), 'key-b', { aid: 2, sid: 10 }, TTL_MS)
    expect(cache.peek(of('a'), TTL_MS / 2)?.aid).toBe(1)
    expect(renewals).toHaveLength(0)
    expect(cache.peek(of('a'), TTL_MS)?.aid).toBe(1)
    expect(cache.peek(of('a'), TTL_MS)?.aid).toBe(1)
    await Promise.resolve()
    expect(renewals).toHaveLength(1)
    expect(cache.peek(of('a'), TTL_MS)).toBeUndefined()
    expect(cache.peek(of('b'), TTL_MS)?.aid).toBe(2)
  })
})
