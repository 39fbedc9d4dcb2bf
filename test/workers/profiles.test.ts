import { describe, expect, it } from 'vitest'
import type { SubscriberProfile } from '../../src/domain/catalogue.ts'
import { ProfileCache, type ProfileQuery, satisfies } from '../../src/workers/profiles.ts'
import { aidOf, NOW_MS, profileOf } from '../support/workers/processor-fixture.ts'

const END_MS = NOW_MS + 1_000_000

/** A profile store by identifier that counts its reads and can be made to wait. */
function createStore() {
  const held = new Map<string, SubscriberProfile>()
  const store = {
    reads: [] as string[],
    gate: null as Promise<void> | null,
    put(identifier: string, sid: number, more: Partial<SubscriberProfile> = {}) {
      const profile = profileOf(sid)
      if (profile !== null) held.set(identifier, { ...profile, toMs: END_MS, ...more })
    },
    remove: (identifier: string) => held.delete(identifier),
    async read({ key, value, atMs }: ProfileQuery) {
      store.reads.push(`${key}:${value}`)
      const found = held.get(`${key}:${value}`)
      await store.gate
      if (found === undefined || atMs < found.fromMs) return null
      return { profile: found, validUntilMs: found.toMs }
    },
  }
  return store
}

function query(identifier: string, atMs = NOW_MS): ProfileQuery {
  const [key, value] = identifier.split(':') as [ProfileQuery['key'], string]
  return { key, value, atMs }
}

function open(entriesMax = 100) {
  const store = createStore()
  const profiles = new ProfileCache(store.read, { entriesMax, unknownTtlMs: 1000 })
  const peek = (identifier: string, nowMs = NOW_MS, atMs = NOW_MS) =>
    profiles.peek(query(identifier, atMs), nowMs)
  const lookUp = (identifier: string, atMs = NOW_MS) =>
    profiles.lookUp(query(identifier, atMs), NOW_MS, null)
  return { store, profiles, peek, lookUp }
}

describe('profiles', () => {
  it('are cached for the instants at which they are valid', async () => {
    const { store, peek, lookUp } = open()
    store.put('sid:5', 5, { fromMs: NOW_MS - 10 })
    expect(peek('sid:5')).toBeUndefined()
    const held = await lookUp('sid:5')
    expect(peek('sid:5')).toBe(held)
    expect(peek('sid:5', NOW_MS, NOW_MS - 11)).toBeUndefined()
    expect(peek('sid:5', NOW_MS, END_MS)).toBeUndefined()
  })

  it('are dropped under all identifiers, and not cached if read meanwhile', async () => {
    const { store, profiles, peek, lookUp } = open()
    for (const identifier of ['sid:5', 'msisdn:49', 'imsi:26']) store.put(identifier, 5)
    for (const identifier of ['sid:5', 'msisdn:49', 'imsi:26']) await lookUp(identifier)
    profiles.drop(5, [])
    for (const identifier of ['sid:5', 'msisdn:49', 'imsi:26']) {
      expect(peek(identifier)).toBeUndefined()
    }
    let resume: () => void = () => undefined
    store.gate = new Promise((resolve) => {
      resume = resolve
    })
    const reading = lookUp('sid:5')
    profiles.drop(5, [])
    resume()
    await reading
    expect(peek('sid:5')).toBeUndefined()
  })

  it('serve one subscriber by several identifiers without repeated reads', async () => {
    const { store, peek, lookUp } = open()
    for (const identifier of ['msisdn:49', 'imsi:26']) store.put(identifier, 5)
    await lookUp('msisdn:49')
    await lookUp('imsi:26')
    for (let round = 0; round < 3; round += 1) {
      expect(peek('msisdn:49')?.profile?.sid).toBe(5)
      expect(peek('imsi:26')).toBe(peek('sid:5'))
    }
    expect(store.reads).toHaveLength(2)
  })

  it('are dropped with their account, and with shared parts of it', async () => {
    const { store, profiles, peek, lookUp } = open()
    store.put('sid:5', 5)
    store.put('sid:6', 6, { pool: [] })
    store.put('sid:500', 500, { pool: [] })
    const all = ['sid:5', 'sid:6', 'sid:500']
    const known = () => all.filter((identifier) => peek(identifier) !== undefined)
    for (const identifier of all) await lookUp(identifier)
    profiles.dropPool(aidOf(5))
    expect(known()).toEqual(['sid:5', 'sid:500'])
    await lookUp('sid:6')
    profiles.dropAccount(aidOf(5))
    expect(known()).toEqual(['sid:500'])
    for (const identifier of all) await lookUp(identifier)
    expect(known()).toEqual(all)
  })

  it('read while their account changes are not cached', async () => {
    const { store, profiles, peek, lookUp } = open()
    store.put('sid:5', 5)
    let resume: () => void = () => undefined
    store.gate = new Promise((resolve) => {
      resume = resolve
    })
    const reading = lookUp('sid:5')
    profiles.dropAccount(aidOf(5))
    resume()
    expect((await reading).profile?.sid).toBe(5)
    expect(peek('sid:5')).toBeUndefined()
  })

  it('follow an identifier to another subscriber', async () => {
    const { store, profiles, peek, lookUp } = open()
    store.put('msisdn:49', 5)
    await lookUp('msisdn:49')
    store.put('msisdn:49', 6)
    profiles.drop(5, [])
    expect(peek('msisdn:49')).toBeUndefined()
    await lookUp('msisdn:49')
    expect(peek('msisdn:49')?.profile?.sid).toBe(6)
  })

  it('of unknown subscribers are cached for a second and their instant', async () => {
    const { store, profiles, peek, lookUp } = open()
    await lookUp('sid:5')
    expect(peek('sid:5')?.profile).toBeNull()
    expect(peek('sid:5', NOW_MS + 999)?.profile).toBeNull()
    expect(peek('sid:5', NOW_MS + 1000)).toBeUndefined()
    store.put('sid:5', 5, { fromMs: NOW_MS - 5000 })
    profiles.drop(5, [])
    expect(peek('sid:5')).toBeUndefined()
    await lookUp('sid:5')
    // A request for a past instant says nothing about the present.
    expect((await lookUp('sid:5', NOW_MS - 1_000_000)).profile).toBeNull()
    expect(peek('sid:5')?.profile?.sid).toBe(5)
    expect(peek('sid:5', NOW_MS, NOW_MS - 1_000_000)?.profile).toBeNull()
    await lookUp('sid:6', NOW_MS - 1_000_000)
    expect(peek('sid:6')).toBeUndefined()
  })

  it('are read once for simultaneous requests, and again after a failure', async () => {
    const { store, lookUp } = open()
    store.put('sid:5', 5)
    const all = await Promise.all([1, 2, 3].map(() => lookUp('sid:5')))
    expect(new Set(all).size).toBe(1)
    expect(store.reads).toHaveLength(1)
    store.gate = Promise.reject(new Error('away'))
    await expect(lookUp('sid:5')).rejects.toThrow('away')
    store.gate = null
    expect((await lookUp('sid:5')).profile?.sid).toBe(5)
  })

  it('stay bounded', async () => {
    const { store, peek, lookUp } = open(4)
    for (let sid = 1; sid <= 50; sid += 1) {
      store.put(`sid:${sid}`, sid)
      await lookUp(`sid:${sid}`)
    }
    const kept = Array.from({ length: 50 }, (_, index) => peek(`sid:${index + 1}`))
    expect(kept.filter((held) => held !== undefined).length).toBeLessThanOrEqual(4)
    expect(peek('sid:50')).toBeDefined()
  })
})

describe('the fence of a profile', () => {
  const fence = (number: number, changedMs: number) => ({ number, dirty: false, changedMs })
  const NONE = fence(0, 0)
  const seenOf = (sid: number, subscriber: number, account = 0) => ({
    aid: aidOf(sid),
    sid,
    subscriber,
    account,
  })

  it('of the account counts as that of the subscriber', async () => {
    const { store, profiles, lookUp } = open()
    store.put('sid:5', 5)
    expect(satisfies(await lookUp('sid:5'), NONE, fence(1, NOW_MS - 60_000))).toBe(true)
    expect(satisfies(await lookUp('sid:5'), NONE, fence(1, NOW_MS))).toBe(false)
    const seen = await profiles.lookUp(query('sid:5'), NOW_MS, seenOf(5, 0, 1))
    expect(satisfies(seen, NONE, fence(1, NOW_MS))).toBe(true)
    expect(satisfies(seen, NONE, fence(2, NOW_MS - 60_000))).toBe(false)
    const other = await profiles.lookUp(query('sid:5'), NOW_MS, { ...seenOf(5, 0, 1), aid: 9 })
    expect(satisfies(other, NONE, fence(1, NOW_MS))).toBe(false)
  })

  it('is satisfied by a read that saw it or began well after it', async () => {
    const { store, profiles, lookUp } = open()
    store.put('sid:5', 5)
    const held = await lookUp('sid:5')
    expect(satisfies(held, fence(0, 0), NONE)).toBe(true)
    expect(satisfies(held, fence(1, NOW_MS - 60_000), NONE)).toBe(false)
    const late = await lookUp('sid:5')
    expect(satisfies(late, fence(3, NOW_MS - 9_000), NONE)).toBe(false)
    expect(satisfies(late, fence(3, NOW_MS - 10_001), NONE)).toBe(true)
    const seen = await profiles.lookUp(query('sid:5'), NOW_MS, seenOf(5, 7))
    expect(satisfies(seen, fence(7, NOW_MS), NONE)).toBe(true)
    expect(satisfies(seen, fence(8, NOW_MS - 60_000), NONE)).toBe(false)
  })

  it('of one subscriber does not apply to another to whom the identifier has moved', async () => {
    const { store, profiles } = open()
    store.put('msisdn:49', 6)
    const held = await profiles.lookUp(query('msisdn:49'), NOW_MS, seenOf(5, 2))
    expect(satisfies(held, fence(2, NOW_MS), NONE)).toBe(false)
  })

  it('is not satisfied by a read that began before it was seen', async () => {
    const { store, profiles } = open()
    store.put('sid:5', 5, { plan: 'OLD' })
    let resume: () => void = () => undefined
    store.gate = new Promise((resolve) => {
      resume = resolve
    })
    const early = profiles.lookUp(query('sid:5'), NOW_MS, null)
    store.put('sid:5', 5, { plan: 'NEW' })
    const late = profiles.lookUp(query('sid:5'), NOW_MS, seenOf(5, 2))
    resume()
    await early
    expect((await late).profile?.plan).toBe('NEW')
    expect(store.reads).toHaveLength(2)
  })
})
