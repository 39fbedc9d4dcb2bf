/** Old events are removed, unless they are still to be sent. */
import { expect, it } from 'vitest'
import type { DeliveryState } from '../../../src/catalog/records/events/event-document.ts'
import { removeEvents } from '../../../src/jobs/retention/others.ts'
import type { Removal } from '../../../src/jobs/retention/removal.ts'
import { useStore } from '../../support/catalog/store.ts'
import { eventOf, NOW_MS } from '../../support/notifications/event.ts'

const store = useStore()
const DAY_MS = 86_400_000

it('removes old events that were delivered, are dead or have no receiver', async () => {
  const catalog = await store.open()
  const of = (stamp: string, state: DeliveryState, ageDays: number) => {
    const event = eventOf(stamp, { creation_ms: NOW_MS - ageDays * DAY_MS })
    event.delivery.state = state
    return event
  }
  const many = Array.from({ length: 1_100 }, (_, index) => of(`old-${index}`, 'delivered', 40))
  await catalog.events.insertMany([
    ...many,
    of('dead', 'dead', 31),
    of('unaddressed', 'unaddressed', 31),
    of('pending', 'pending', 400),
    of('new', 'delivered', 29),
    of('new-dead', 'dead', 29),
  ])
  const removed: number[] = []
  await removeEvents({
    catalog,
    beforeMs: NOW_MS - 30 * DAY_MS,
    signal: new AbortController().signal,
    removeBatch: async (remove) => {
      removed.push(await catalog.transaction('remove', remove))
    },
  } as Removal)
  const left = await catalog.events.find({}).sort({ stamp: 1 }).toArray()
  expect(left.map(({ stamp }) => stamp)).toEqual(['new', 'new-dead', 'pending'])
  expect(removed).toEqual([500, 500, 100, 1, 1])
})
