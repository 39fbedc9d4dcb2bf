import { describe, expect, it } from 'vitest'
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { LoadedOwner } from '../../src/ledger/ledger.ts'
import { OwnerCache, SESSIONS_MAX } from '../../src/workers/owner-cache.ts'
import { sessionOf } from '../support/ledger/fixture.ts'

function loaded(aid: number, sid: number, version = 0): LoadedOwner {
  const fence = { number: 0, dirty: false, changedMs: 0 }
  return { state: { ...emptyOwner(aid, sid), version }, fence, sessions: [] }
}

const openedBy = (aid: number) => sessionOf(11, 'a;1;2', { aid })

describe('cached owners', () => {
  it('are found by account and subscriber, shared ones by 0', () => {
    const cache = new OwnerCache(100)
    for (const sid of [0, 11, 12, 13]) cache.take(loaded(1, sid), [])
    for (const sid of [0, 11, 12, 13]) expect(cache.get(1, sid)?.sid).toBe(sid)
    expect(cache.get(1, 14)).toBeUndefined()
    expect(cache.get(2, 11)).toBeUndefined()
  })

  it('are replaced by another version, and keep their sessions with the same version', () => {
    const cache = new OwnerCache(100)
    const first = cache.take({ ...loaded(1, 11, 5), sessions: [null] }, ['a'])
    expect(cache.take({ ...loaded(1, 11, 5), sessions: [null] }, ['b'])).toBe(first)
    expect(['a', 'b', 'c'].map((key) => first.hasSession(key))).toEqual([true, true, false])
    const second = cache.take(loaded(1, 11, 6), [])
    expect(cache.get(1, 11)).toBe(second)
    expect(second.sessionCount).toBe(0)
  })

  it.each([11, 12])('are dropped one by one: %d', (sid) => {
    const cache = new OwnerCache(100)
    for (const each of [0, 11, 12]) cache.take(loaded(1, each), [])
    cache.drop(1, sid)
    expect(cache.get(1, sid)).toBeUndefined()
    expect(cache.get(1, 23 - sid)).toBeDefined()
    cache.take(loaded(1, sid, 3), [])
    expect(cache.get(1, sid)?.version).toBe(3)
    cache.drop(1, 0)
    expect(cache.get(1, 0)).toBeUndefined()
  })

  it('are evicted when others fill the cache, least recently used first', () => {
    const cache = new OwnerCache(100)
    cache.take(loaded(1, 11), [])
    cache.take(loaded(2, 21), [])
    for (let aid = 3; aid < 200; aid += 1) {
      cache.take(loaded(aid, aid * 10), [])
      expect(cache.get(1, 11)?.aid).toBe(1)
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

  it('stay readable for a batch that uses them when they are dropped or replaced', () => {
    const cache = new OwnerCache(10)
    const open = openedBy(1)
    const used = cache.take({ ...loaded(1, 11, 5), sessions: [open] }, ['a'])
    const state = used.state()
    cache.take(loaded(1, 11, 6), [])
    cache.drop(1, 11)
    // Owners that come later use the memory of both.
    for (let aid = 2; aid < 500; aid += 1) {
      cache.take({ ...loaded(aid, 11, aid), sessions: [openedBy(aid)] }, ['b'])
      cache.drop(aid, 11)
      cache.take({ ...loaded(aid, 11, aid + 1), sessions: [openedBy(aid)] }, ['b'])
    }
    expect(used.state()).toEqual(state)
    expect(used.session('a')).toEqual(open)
  })

  it('keep their sessions when they are used again before they are evicted', () => {
    const cache = new OwnerCache(10)
    for (let aid = 1; aid < 40; aid += 1) {
      cache.take({ ...loaded(aid, 11, aid), sessions: [openedBy(aid)] }, ['a'])
      expect(cache.get(1, 11)?.session('a')).toEqual(openedBy(1))
    }
  })

  it('remember that a session is absent, and forget sessions beyond the maximum', () => {
    const cache = new OwnerCache(10)
    const owner = cache.take({ ...loaded(1, 11), sessions: [null, openedBy(1)] }, ['a', 'b'])
    expect([owner.hasSession('a'), owner.session('a')]).toEqual([true, null])
    cache.take({ ...loaded(1, 11), sessions: [null] }, ['b'])
    expect([owner.hasSession('b'), owner.session('b')]).toEqual([true, null])
    for (let index = 0; index < SESSIONS_MAX - 2; index += 1) owner.takeSession(`c${index}`, null)
    owner.trimSessions()
    expect(owner.sessionCount).toBe(SESSIONS_MAX)
    owner.takeSession('d', openedBy(1))
    owner.trimSessions()
    expect([owner.sessionCount, owner.hasSession('a')]).toEqual([0, false])
  })
})
