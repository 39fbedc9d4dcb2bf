import { describe, expect, it } from 'vitest'
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { LoadedOwner } from '../../src/ledger/ledger.ts'
import { OwnerCache } from '../../src/workers/owner-cache.ts'

function loaded(aid: number, sid: number, version = 0): LoadedOwner {
  const fence = { number: 0, dirty: false, changedMs: 0 }
  return { state: { ...emptyOwner(aid, sid), version }, fence, sessions: [] }
}

describe('cached owners', () => {
  it('are found by account and subscriber, shared ones by 0', () => {
    const cache = new OwnerCache(100)
    for (const sid of [0, 11, 12, 13]) cache.take(loaded(1, sid), [])
    for (const sid of [0, 11, 12, 13]) expect(cache.get(1, sid)?.state.sid).toBe(sid)
    expect(cache.get(1, 14)).toBeUndefined()
    expect(cache.get(2, 11)).toBeUndefined()
  })

  it('are replaced by another version, and keep their sessions with the same version', () => {
    const cache = new OwnerCache(100)
    const first = cache.take({ ...loaded(1, 11, 5), sessions: [null] }, ['a'])
    expect(cache.take({ ...loaded(1, 11, 5), sessions: [null] }, ['b'])).toBe(first)
    expect([...first.sessions.keys()]).toEqual(['a', 'b'])
    const second = cache.take(loaded(1, 11, 6), [])
    expect(cache.get(1, 11)).toBe(second)
    expect(second.sessions.size).toBe(0)
  })

  it.each([11, 12])('are dropped one by one: %d', (sid) => {
    const cache = new OwnerCache(100)
    for (const each of [0, 11, 12]) cache.take(loaded(1, each), [])
    cache.drop(1, sid)
    expect(cache.get(1, sid)).toBeUndefined()
    expect(cache.get(1, 23 - sid)).toBeDefined()
    cache.take(loaded(1, sid, 3), [])
    expect(cache.get(1, sid)?.state.version).toBe(3)
    cache.drop(1, 0)
    expect(cache.get(1, 0)).toBeUndefined()
  })

  it('are evicted when others fill the cache, least recently used first', () => {
    const cache = new OwnerCache(100)
    cache.take(loaded(1, 11), [])
    cache.take(loaded(2, 21), [])
    for (let aid = 3; aid < 200; aid += 1) {
      cache.take(loaded(aid, aid * 10), [])
      expect(cache.get(1, 11)?.state.aid).toBe(1)
    }
    expect(cache.get(2, 21)).toBeUndefined()
    const kept = Array.from({ length: 200 }, (_, aid) => cache.get(aid, aid * 10) !== undefined)
    expect(kept.filter(Boolean).length).toBeLessThanOrEqual(100)
  })

  it.each([true, false])('do not evict others when read again; dropped: %s', (isDropped) => {
    const cache = new OwnerCache(20)
    for (const aid of [1, 2, 3, 4]) for (const sid of [0, 11]) cache.take(loaded(aid, sid), [])
    for (let version = 1; version < 100; version += 1) {
      if (isDropped) for (const sid of [0, 11]) cache.drop(1, sid)
      for (const sid of [0, 11]) cache.take(loaded(1, sid, version), [])
    }
    for (const aid of [1, 2, 3, 4]) expect(cache.get(aid, 11)).toBeDefined()
  })

  it('are also bounded within one account', () => {
    const cache = new OwnerCache(1_000_000)
    for (let sid = 1; sid <= 25_000; sid += 1) cache.take(loaded(1, sid), [])
    const kept = Array.from({ length: 25_000 }, (_, index) => cache.get(1, index + 1))
    expect(kept.filter((owner) => owner !== undefined).length).toBeLessThanOrEqual(10_001)
    expect(cache.get(1, 25_000)).toBeDefined()
  })
})
