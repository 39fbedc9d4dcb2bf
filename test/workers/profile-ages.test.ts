import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { SubscriberProfile } from '../../src/domain/catalogue.ts'
import { ProfileCache, type ProfileQuery } from '../../src/workers/profiles.ts'
import { NOW_MS, profileOf } from '../support/workers/processor-fixture.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  return () => vi.useRealTimers()
})
afterEach(() => vi.clearAllTimers())

const AGE_LIMITS = { ttlMs: 300_000, staleMs: 3_600_000 }

/** A cache over a customer system that knows the subscribers of `known`, or fails. */
function open(ageLimits = AGE_LIMITS) {
  const known = new Map<string, Partial<SubscriberProfile>>()
  const system = { failure: null as Error | null, asked: [] as string[], stale: 0 }
  const read = async ({ key, value, atMs }: ProfileQuery) => {
    system.asked.push(`${key}:${value}@${atMs - NOW_MS}`)
    if (system.failure !== null) throw system.failure
    const found = known.get(`${key}:${value}`)
    const profile = found === undefined ? null : profileOf(found.sid ?? 5)
    if (profile === null) return null
    return { profile: { ...profile, ...found }, validUntilMs: profile.toMs, ageLimits }
  }
  const onStale = () => {
    system.stale += 1
  }
  const profiles = new ProfileCache(read, { entriesMax: 100, unknownTtlMs: 1000, onStale })
  const query = (identifier: string, atMs: number) => {
    const [key, value] = identifier.split(':') as [string, string]
    return { key, value, atMs }
  }
  return {
    known,
    system,
    profiles,
    peek: (identifier = 'sid:5', atMs = NOW_MS) =>
      profiles.peek(query(identifier, atMs), NOW_MS)?.profile,
    lookUp: (identifier = 'sid:5') => profiles.lookUp(query(identifier, NOW_MS), NOW_MS, null),
  }
}

/** Lets reads end. */
const settled = () => vi.advanceTimersByTimeAsync(0)

it('an old profile is used once more while it is read again, as of the request', async () => {
  const { known, system, peek, lookUp } = open()
  known.set('sid:5', { id: 'a', plan: 'OLD' })
  await lookUp()
  known.set('sid:5', { id: 'b', plan: 'NEW' })
  await vi.advanceTimersByTimeAsync(299_000)
  expect(peek()?.plan).toBe('OLD')
  expect(system.asked).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(peek('sid:5', NOW_MS + 7)?.plan).toBe('OLD')
  expect([system.asked, system.stale]).toEqual([['sid:5@0', 'sid:5@7'], 1])
  await settled()
  expect(peek()?.plan).toBe('NEW')
  expect(system.asked).toHaveLength(2)
})

it('while it cannot be read it is used within the bound, and tried again', async () => {
  const { known, system, peek, lookUp } = open()
  known.set('sid:5', {})
  await lookUp()
  system.failure = new Error('down')
  await vi.advanceTimersByTimeAsync(301_000)
  for (let second = 0; second < 20; second += 1) {
    expect(peek()).toBeDefined()
    await vi.advanceTimersByTimeAsync(1000)
  }
  expect(system.asked.length).toBeGreaterThanOrEqual(4)
  expect(system.asked.length).toBeLessThanOrEqual(6)
  await vi.advanceTimersByTimeAsync(AGE_LIMITS.staleMs)
  expect(peek()).toBeUndefined()
  expect(peek()).toBeUndefined()
})

it('a subscriber that is gone, or a number that has another one, is not used again', async () => {
  const { known, peek, lookUp } = open()
  known.set('sid:5', {})
  known.set('msisdn:49', { sid: 6 })
  await lookUp()
  await lookUp('msisdn:49')
  known.clear()
  known.set('msisdn:49', { sid: 7, id: 's7' })
  await vi.advanceTimersByTimeAsync(301_000)
  expect(peek()).toBeDefined()
  expect(peek('msisdn:49')?.sid).toBe(6)
  await settled()
  expect(peek()).toBeNull()
  expect(peek('sid:6')).toBeUndefined()
  expect(peek('msisdn:49')?.sid).toBe(7)
})

it('a dropped profile is not revived, and after a gap all are read again', async () => {
  const { known, system, profiles, peek, lookUp } = open()
  for (const sid of [5, 6, 700]) known.set(`sid:${sid}`, { sid })
  for (const sid of [5, 6, 700]) await lookUp(`sid:${sid}`)
  await vi.advanceTimersByTimeAsync(301_000)
  profiles.drop(5, [])
  profiles.dropAccount(8)
  expect([peek('sid:5'), peek('sid:700')]).toEqual([undefined, undefined])
  expect(peek('sid:6')).toBeDefined()
  await settled()
  const before = system.asked.length
  profiles.expire()
  expect(peek('sid:6')).toBeDefined()
  expect(system.asked).toHaveLength(before + 1)
  profiles.clear()
  expect(peek('sid:6')).toBeUndefined()
})

it('without a cache a profile serves the requests that wait for it', async () => {
  const { known, peek, lookUp } = open({ ttlMs: 0, staleMs: 0 })
  known.set('sid:5', {})
  await lookUp()
  expect(peek()).toBeDefined()
  await vi.advanceTimersByTimeAsync(200)
  expect(peek()).toBeUndefined()
})

it('entities of the node have no age, and no timer', async () => {
  const profile = profileOf(5) as SubscriberProfile
  const read = async () => ({ profile, validUntilMs: NOW_MS + 1 })
  const entities = new ProfileCache(read, { entriesMax: 10, unknownTtlMs: 1000 })
  await entities.lookUp({ key: 'sid', value: '5', atMs: NOW_MS }, NOW_MS, null)
  expect(vi.getTimerCount()).toBe(0)
  entities.expire()
  await vi.advanceTimersByTimeAsync(10_000_000)
  expect(entities.peekSid(5, NOW_MS, NOW_MS)?.profile).toBe(profile)
})
