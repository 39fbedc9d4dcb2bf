/** Reads and claims of pending events: as short as the batch, whatever is pending for others. */
import { describe, expect, it } from 'vitest'
import type { FindCursor } from '../../src/catalog/collections.ts'
import { type Catalog, withGuards } from '../../src/catalog/connection.ts'
import { refreshNotificationGauges } from '../../src/notifications/delivery.ts'
import { firstUnmailedMs } from '../../src/notifications/digest.ts'
import {
  claimEvents,
  dueEvents,
  nextReceiver,
  OF_SETTINGS,
} from '../../src/notifications/pending-events.ts'
import { eventOf, NOW_MS } from '../support/notifications/event.ts'
import { useScene } from '../support/notifications/scene.ts'

const scene = useScene()

interface Explained {
  executionStats: { totalKeysExamined: number; totalDocsExamined: number }
}

/** A catalogue that adds up what its reads and changes of events examine. */
function measured(catalog: Catalog): { catalog: Catalog; examined(): number } {
  let examined = 0
  const events = new Proxy(catalog.unguarded.events, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      const explain = async (cursor: FindCursor) => {
        const { executionStats } = (await cursor.explain('executionStats')) as never as Explained
        examined += executionStats.totalKeysExamined + executionStats.totalDocsExamined
      }
      if (name === 'updateMany') {
        return async (filter: object, ...args: unknown[]) => {
          await explain(target.find(filter))
          return Reflect.apply(member, target, [filter, ...args])
        }
      }
      if (name !== 'find') return member.bind(target)
      return (...args: unknown[]) => {
        const cursor = Reflect.apply(member, target, args) as FindCursor
        const toArray = cursor.toArray.bind(cursor)
        cursor.toArray = async () => {
          await explain(cursor.clone())
          return toArray()
        }
        return cursor
      }
    },
  })
  const unguarded = { ...catalog.unguarded, events }
  return { catalog: withGuards({ ...catalog, unguarded }, {}), examined: () => examined }
}

const OTHER = 'http://other.example.net/x'
const THIRD = 'http://third.example.net/x'

async function filled() {
  const { catalog, add, metrics } = await scene()
  const of = (url: string | null, count: number, dueMs: number) =>
    Array.from({ length: count }, (_, at) => {
      const event = eventOf(`${url}-${dueMs}-${at}`, { receiver: url === null ? {} : { url } })
      event.delivery.due = new Date(dueMs)
      return event
    })
  await add(
    ...of(null, 2_000, NOW_MS - 60_000),
    ...of(null, 500, NOW_MS + 60_000),
    ...of(OTHER, 2_000, NOW_MS - 50_000),
    ...of(THIRD, 3, NOW_MS - 1_000),
    ...of(THIRD, 500, NOW_MS + 1_000),
  )
  const delivered = of(THIRD, 500, NOW_MS - 70_000)
  for (const event of delivered) event.delivery.state = 'delivered'
  await add(...delivered.map((event) => ({ ...event, stamp: `${event.stamp}-done` })))
  return { ...measured(catalog), metrics }
}

describe('reads and claims of pending events', () => {
  it('find each receiver by one step', async () => {
    const { catalog, examined } = await filled()
    const found: unknown[] = []
    for (let after: string | null = null; ; ) {
      const next = await nextReceiver(catalog, after)
      if (next === null) break
      found.push([next.key, next.dueMs - NOW_MS])
      after = next.key
    }
    expect(found).toEqual([
      [OF_SETTINGS, -60_000],
      [OTHER, -50_000],
      [THIRD, -1_000],
    ])
    expect(examined()).toBeLessThan(20)
  })

  it('find the events of one receiver that are due', async () => {
    const { catalog, examined } = await filled()
    const due = async (key: string) => (await dueEvents(catalog, key, NOW_MS, 16)).length
    expect([await due(THIRD), await due(OTHER), await due(OF_SETTINGS)]).toEqual([3, 16, 16])
    expect(examined()).toBeLessThan(120)
  })

  it('that are claimed, are the only ones examined', async () => {
    const { catalog, examined } = await filled()
    const events = await dueEvents(catalog, OTHER, NOW_MS, 16)
    const read = examined()
    const claims = await claimEvents(catalog, events, { nowMs: NOW_MS, leaseMs: 60_000 })
    expect(claims).toHaveLength(16)
    expect(examined() - read).toBeLessThan(40)
  })

  it('find no event for e-mails among those that were sent', async () => {
    const { catalog, examined } = await filled()
    const notify = { receiver: { notify_by_email: { notify: true } } }
    const sent = Array.from({ length: 300 }, (_, at) => ({
      ...eventOf(`m${at}`, notify),
      email_time: new Date(NOW_MS),
    }))
    await catalog.events.insertMany(sent)
    expect(await firstUnmailedMs(catalog)).toBeNull()
    await catalog.events.insertOne(eventOf('news', notify))
    expect(await firstUnmailedMs(catalog)).toBe(NOW_MS + 750)
    expect(examined()).toBeLessThan(10)
  })

  it('are counted, with the age of the oldest', async () => {
    const { catalog, examined, metrics } = await filled()
    const clock = { nowMs: () => NOW_MS + 10_750 }
    await refreshNotificationGauges({ catalog, metrics, clock })
    const { metrics: all } = await metrics.snapshot()
    const valueIn = (name: string) => all.find((one) => one.name === name)?.values[0]?.value
    expect(valueIn('tollgate_notifications_pending')).toBe(5_003)
    expect(valueIn('tollgate_notifications_oldest_pending_seconds')).toBe(10)
    expect(examined()).toBeLessThan(10)
  })
})
