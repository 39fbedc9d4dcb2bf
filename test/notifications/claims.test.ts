/** Claims of events in batches, by processes that compete, stop, or are killed. */
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../src/catalog/connection.ts'
import { claimEvents, dueEvents, storeOutcomes } from '../../src/notifications/pending-events.ts'
import { eventOf, NOW_MS } from '../support/notifications/event.ts'
import { useScene } from '../support/notifications/scene.ts'
import { waitUntil } from '../support/wait.ts'

const scene = useScene()

const URL = 'http://crm.example.net/x'
const LEASE_MS = 60_000
const DUE_MS = NOW_MS + 750
const READ_MS = NOW_MS + 1_000

const events = (count: number, name: string, receiver: object = {}) =>
  Array.from({ length: count }, (_, at) => eventOf(`${name}-${at}`, { receiver }))

async function claimed(catalog: Catalog, limit: number, nowMs = READ_MS) {
  const due = await dueEvents(catalog, URL, nowMs, limit)
  return claimEvents(catalog, due, { nowMs, leaseMs: LEASE_MS })
}

describe('a claim', () => {
  it('has the events that no other process has claimed meanwhile', async () => {
    const { catalog, add } = await scene()
    await add(...events(20, 'e', { url: URL }))
    const [mine, others] = await Promise.all([
      dueEvents(catalog, URL, READ_MS, 20),
      dueEvents(catalog, URL, READ_MS, 8),
    ])
    const times = { nowMs: READ_MS, leaseMs: LEASE_MS }
    const [first, second] = [
      await claimEvents(catalog, others, times),
      await claimEvents(catalog, mine, times),
    ]
    expect([first.length, second.length]).toEqual([8, 12])
    const stamps = [...first, ...second].map(({ event }) => event.stamp)
    expect(new Set(stamps).size).toBe(20)
    expect(await claimed(catalog, 20)).toEqual([])
  })

  it('has the longest due events, in their order', async () => {
    const { catalog, add } = await scene()
    const all = events(9, 'e', { url: URL })
    for (const [at, event] of all.entries()) event.delivery.due = new Date(NOW_MS + ((at * 5) % 9))
    await add(...all)
    const due = (await claimed(catalog, 6)).map(({ event }) => event.delivery.due.getTime())
    expect(due).toEqual([0, 1, 2, 3, 4, 5].map((ms) => NOW_MS + ms))
  })

  it('that has ended stores an acceptance, but no failure, and is not given back', async () => {
    const { catalog, add, event, states } = await scene()
    await add(...events(3, 'e', { url: URL }))
    const old = await claimed(catalog, 3)
    const next = await claimed(catalog, 3, READ_MS + LEASE_MS)
    expect(next.map(({ attempt }) => attempt)).toEqual([2, 2, 2])
    const [a, b, c] = old
    if (a === undefined || b === undefined || c === undefined) throw new Error('no claims')
    const times = { startMs: READ_MS, nowMs: READ_MS + 5 }
    await storeOutcomes(catalog, [
      { kind: 'delivered', claim: a, ...times, returned: '{"success":1}' },
      { kind: 'failed', claim: b, ...times, error: 'timeout: late', dueMs: null },
      { kind: 'released', claim: c },
    ])
    const stampsOf = [a, b, c].map(({ event: { stamp } }) => stamp)
    const found = await states()
    expect(stampsOf.map((stamp) => found[stamp])).toEqual(['delivered', 'pending', 'pending'])
    for (const stamp of stampsOf.slice(1)) {
      const { delivery } = await event(stamp)
      expect(delivery).toEqual({
        state: 'pending',
        due: new Date(READ_MS + 2 * LEASE_MS),
        attempts: 2,
        claim: next[0]?.id,
      })
    }
  })
})

describe('two processes', () => {
  it('send each event once, in batches', async () => {
    const { settings, add, receiver, deliver, catalog } = await scene()
    const crm = await receiver()
    await settings({ url: crm.url, concurrency: 10, rate_per_second: 10_000, timeout_ms: 60_000 })
    const all = events(1_500, 'e')
    await add(...all)
    deliver()
    deliver()
    const pending = () => catalog.events.countDocuments({ 'delivery.state': 'pending' })
    await waitUntil('all are delivered', async () => (await pending()) === 0)
    expect(crm.stamps().sort()).toEqual(all.map(({ stamp }) => stamp).sort())
  })

  it('take over what a killed one was sending, not before its claim ends', async () => {
    const { settings, add, receiver, deliver, catalog, connect, states, event } = await scene()
    const crm = await receiver()
    let nowMs = NOW_MS + 10_000
    const clock = { nowMs: () => nowMs }
    await settings({ url: crm.url, concurrency: 3, timeout_ms: 60_000 })
    await add(...events(8, 'e'))
    crm.respond = () => undefined
    const killed = await connect()
    deliver({ catalog: killed, clock })
    await waitUntil('it sends', () => crm.received.length === 3)
    const taken = crm.stamps()
    // It can write nothing any more.
    await killed.close()
    crm.respond = null
    deliver({ clock })
    const delivered = () => catalog.events.countDocuments({ 'delivery.state': 'delivered' })
    await waitUntil('the others are delivered', async () => (await delivered()) === 5)
    expect(crm.received.length).toBe(8)
    nowMs += 65_000
    await waitUntil('all are delivered', async () => (await delivered()) === 8)
    expect(crm.stamps().slice(8).sort()).toEqual(taken.sort())
    for (const stamp of Object.keys(await states())) {
      const { delivery } = await event(stamp)
      expect([delivery.attempts, delivery.claim]).toEqual([
        taken.includes(stamp) ? 2 : 1,
        undefined,
      ])
    }
  })
})

describe('a process that stops', () => {
  it('gives back what it has claimed and not sent, as it was', async () => {
    const { settings, add, receiver, deliver, catalog } = await scene()
    const crm = await receiver()
    const ANSWERED = 600
    crm.respond = (response) => {
      if (crm.received.length <= ANSWERED) response.end('{"success":true}')
    }
    await settings({ url: crm.url, concurrency: 5, rate_per_second: 10_000, timeout_ms: 60_000 })
    await add(...events(1_000, 'e'))
    const delivery = deliver()
    const isClaimed = { 'delivery.claim': { $exists: true } }
    const count = (filter: object) => catalog.events.countDocuments(filter)
    await waitUntil('the receiver hangs', () => crm.received.length === ANSWERED + 5)
    // More than those under way: the receiver was fast.
    await waitUntil('events wait', async () => (await count(isClaimed)) > 5)
    await delivery.stop(0)
    expect(await count(isClaimed)).toBe(0)
    const untouched = { 'delivery.due': new Date(DUE_MS), 'delivery.attempts': 0 }
    expect(await count({ 'delivery.state': 'pending', ...untouched })).toBe(1_000 - ANSWERED)
  })
})
