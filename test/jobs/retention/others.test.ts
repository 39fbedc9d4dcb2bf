/** Old events and usage records are removed, unless they still wait. */
import { expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { DeliveryState } from '../../../src/catalog/records/events/event-document.ts'
import type { IntakeRejectedDocument } from '../../../src/catalog/records/usage/intake-documents.ts'
import { removeEvents, removeIntake } from '../../../src/jobs/retention/others.ts'
import type { Removal } from '../../../src/jobs/retention/removal.ts'
import { useStore } from '../../support/catalog/store.ts'
import { eventOf, NOW_MS } from '../../support/notifications/event.ts'

const store = useStore()
const DAY_MS = 86_400_000

/** The removal of documents older than 30 days; `removed`: the number of each batch. */
function removalOf(catalog: Catalog, removed: number[]): Removal {
  return {
    catalog,
    beforeMs: NOW_MS - 30 * DAY_MS,
    signal: new AbortController().signal,
    removeBatch: async (remove) => {
      removed.push(await catalog.transaction('remove', remove))
    },
  } as Removal
}

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
  await removeEvents(removalOf(catalog, removed))
  const left = await catalog.events.find({}).sort({ stamp: 1 }).toArray()
  expect(left.map(({ stamp }) => stamp)).toEqual(['new', 'new-dead', 'pending'])
  expect(removed).toEqual([500, 500, 100, 1, 1])
})

it('removes usage records that were corrected or dropped', async () => {
  const catalog = await store.open()
  const of = (_id: string, state: IntakeRejectedDocument['state'], ageDays: number) => {
    const updated = new Date(NOW_MS - ageDays * DAY_MS)
    const file = { file: 'f', file_name: 'f.csv', file_type: 'CDR', line: 1 }
    return { _id, ...file, text: '', field: '', reason: '', state, created: updated, updated }
  }
  await catalog.intakerejected.insertMany([
    of('corrected', 'corrected', 31),
    of('dropped', 'dropped', 31),
    of('new', 'dropped', 29),
    of('waiting', 'waiting', 400),
  ])
  const removed: number[] = []
  await removeIntake(removalOf(catalog, removed))
  const left = await catalog.intakerejected.find({}).sort({ _id: 1 }).toArray()
  expect(left.map(({ _id }) => _id)).toEqual(['new', 'waiting'])
  expect(removed).toEqual([1, 1])
})
