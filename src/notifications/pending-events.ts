/**
 * Pending events in MongoDB, by receiver: each read is of one receiver, and as short as the batch,
 * however many events of others are pending. Operations reject with `CatalogUnavailableError`.
 */
import type { WithId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { NotificationDocument } from '../catalog/records/event-document.ts'

export type StoredEvent = WithId<NotificationDocument>

/** The receiver of the settings; others have the address in their rule. */
export const OF_SETTINGS = ''

export interface PendingReceiver {
  /** `OF_SETTINGS`, or the address. */
  readonly key: string
  /** When the first of its events is due. */
  readonly dueMs: number
}

/** An event that this process may send until the claim ends. */
export interface EventClaim {
  readonly event: StoredEvent
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly startMs: number
  readonly endMs: number
}

const PENDING = { 'delivery.state': 'pending' } as const
/** Missing addresses come first: this order is the only way to find them by the index. */
const BY_RECEIVER = { 'receiver.url': 1, 'delivery.due': 1 } as const

/** The first receiver with pending events after one, in the order of keys; null for the first. */
export async function nextReceiver(
  catalog: Catalog,
  after: string | null,
): Promise<PendingReceiver | null> {
  const filter = after === null ? PENDING : { ...PENDING, 'receiver.url': { $gt: after } }
  const [first] = await catalog.run('find a receiver of events', () =>
    catalog.events
      .find(filter, { projection: { 'receiver.url': 1, 'delivery.due': 1 } })
      .sort(BY_RECEIVER)
      .limit(1)
      .toArray(),
  )
  if (first === undefined) return null
  return { key: keyOf(first), dueMs: first.delivery.due.getTime() }
}

function keyOf({ receiver }: Pick<NotificationDocument, 'receiver'>): string {
  return receiver?.url ?? OF_SETTINGS
}

/** The events of a receiver that are due, the longest due first. */
export async function dueEvents(
  catalog: Catalog,
  key: string,
  nowMs: number,
  limit: number,
): Promise<StoredEvent[]> {
  const filter = key === OF_SETTINGS ? PENDING : { ...PENDING, 'receiver.url': key }
  const found = await catalog.run('read events that are due', () =>
    catalog.events.find(filter).sort(BY_RECEIVER).limit(limit).toArray(),
  )
  return found.filter((event) => keyOf(event) === key && event.delivery.due.getTime() <= nowMs)
}

/** Null if it is no longer due: another process has claimed or delivered it. */
export async function claimEvent(
  catalog: Catalog,
  { _id, delivery }: StoredEvent,
  startMs: number,
  leaseMs: number,
): Promise<EventClaim | null> {
  const endMs = startMs + leaseMs
  const claimed = await catalog.run('claim an event', () =>
    catalog.events.findOneAndUpdate(
      { _id, ...PENDING, 'delivery.due': delivery.due },
      {
        $set: { start_notify_time: new Date(startMs), 'delivery.due': new Date(endMs) },
        $inc: { 'delivery.attempts': 1 },
      },
      { returnDocument: 'after' },
    ),
  )
  if (claimed === null) return null
  return { event: claimed, attempt: claimed.delivery.attempts, startMs, endMs }
}

/** Also if the claim has ended meanwhile: the receiver has the event. */
export async function storeDelivered(
  catalog: Catalog,
  { event: { _id } }: EventClaim,
  nowMs: number,
  returned: string,
): Promise<void> {
  const state = { 'delivery.state': 'delivered', notify_time: new Date(nowMs) } as const
  await catalog.run('store that an event is delivered', () =>
    catalog.events.updateOne(
      { _id, ...PENDING },
      { $set: { ...state, returned_value: returned }, $unset: { 'delivery.error': '' } },
    ),
  )
}

/** `dueMs`: of the next attempt; null if it was the last one. */
export async function storeFailed(
  catalog: Catalog,
  claim: EventClaim,
  error: string,
  dueMs: number | null,
): Promise<void> {
  const next =
    dueMs === null
      ? { 'delivery.state': 'dead' as const }
      : { 'delivery.due': new Date(Math.floor(dueMs)) }
  await catalog.run('store that an event was not delivered', () =>
    catalog.events.updateOne(mine(claim), { $set: { ...next, 'delivery.error': error } }),
  )
}

/** Gives a claim back whose attempt was broken off. */
export async function releaseClaim(catalog: Catalog, claim: EventClaim): Promise<void> {
  await catalog.run('release an event', () =>
    catalog.events.updateOne(mine(claim), {
      $set: { 'delivery.due': new Date(claim.startMs) },
      $inc: { 'delivery.attempts': -1 },
    }),
  )
}

function mine({ event: { _id }, endMs }: EventClaim) {
  return { _id, ...PENDING, 'delivery.due': new Date(endMs) }
}

/** Marks events for which nobody has an address. Returns their number. */
export async function storeUnaddressed(
  catalog: Catalog,
  events: readonly StoredEvent[],
): Promise<number> {
  const ids = events.map(({ _id }) => _id)
  const { modifiedCount } = await catalog.run('store that events have no receiver', () =>
    catalog.events.updateMany(
      { _id: { $in: ids }, ...PENDING },
      { $set: { 'delivery.state': 'unaddressed' } },
    ),
  )
  return modifiedCount
}
