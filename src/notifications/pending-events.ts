/**
 * Pending events in MongoDB, by receiver: each read is of one receiver, and as short as the batch,
 * however many events of others are pending. Operations reject with `CatalogUnavailableError`.
 */
import { randomUUID } from 'node:crypto'
import type { AnyBulkWriteOperation, UpdateFilter, WithId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { NotificationDocument } from '../catalog/records/events/event-document.ts'

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
  /** The event before it was claimed. */
  readonly event: StoredEvent
  /** Identifies the events that were claimed together. */
  readonly id: string
  /** Number of the attempt, from 1. */
  readonly attempt: number
  readonly endMs: number
}

/** The result for a claimed event. */
export type Outcome =
  /** Stored even if the claim has ended meanwhile: the receiver has the event. */
  | {
      readonly kind: 'delivered'
      readonly claim: EventClaim
      readonly startMs: number
      readonly nowMs: number
      readonly returned: string
    }
  /** `dueMs`: when the next attempt is due; null if this was the last one. */
  | {
      readonly kind: 'failed'
      readonly claim: EventClaim
      readonly startMs: number
      readonly error: string
      readonly dueMs: number | null
    }
  /** No attempt was made, or it was broken off: the event is as it was before the claim. */
  | { readonly kind: 'released'; readonly claim: EventClaim }

const PENDING = { 'delivery.state': 'pending' } as const
/** Missing addresses come first: this order is the only way to find them by the index. */
const BY_RECEIVER = { 'receiver.url': 1, 'delivery.due': 1 } as const

/** The first receiver with pending events after one, in the order of keys; null for the first. */
export async function nextReceiver(
  catalog: Catalog,
  after: string | null,
): Promise<PendingReceiver | null> {
  const filter = after === null ? PENDING : { ...PENDING, 'receiver.url': { $gt: after } }
  const [first] = await catalog.events
    .find(filter, { projection: { 'receiver.url': 1, 'delivery.due': 1 } })
    .sort(BY_RECEIVER)
    .limit(1)
    .toArray()
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
  const found = await catalog.events.find(filter).sort(BY_RECEIVER).limit(limit).toArray()
  return found.filter((event) => keyOf(event) === key && event.delivery.due.getTime() <= nowMs)
}

export interface ClaimTimes {
  /** When the events were read as due. */
  readonly nowMs: number
  readonly leaseMs: number
}

/** Claims events that were read; without those that another process has claimed meanwhile. */
export async function claimEvents(
  catalog: Catalog,
  events: readonly StoredEvent[],
  { nowMs, leaseMs }: ClaimTimes,
): Promise<EventClaim[]> {
  const id = randomUUID()
  const endMs = nowMs + leaseMs
  const ids = events.map(({ _id }) => _id)
  const filter = { _id: { $in: ids }, ...PENDING, 'delivery.due': { $lte: new Date(nowMs) } }
  const claimed = {
    start_notify_time: new Date(nowMs),
    'delivery.due': new Date(endMs),
    'delivery.claim': id,
  }
  const { modifiedCount } = await catalog.events.updateMany(filter, {
    $set: claimed,
    $inc: { 'delivery.attempts': 1 },
  })
  const mine = modifiedCount === ids.length ? events : await claimedOf(catalog, events, id)
  return mine.map((event) => ({ event, id, attempt: event.delivery.attempts + 1, endMs }))
}

async function claimedOf(
  catalog: Catalog,
  events: readonly StoredEvent[],
  id: string,
): Promise<StoredEvent[]> {
  const filter = { _id: { $in: events.map(({ _id }) => _id) }, 'delivery.claim': id }
  const found = await catalog.events.find(filter, { projection: { _id: 1 } }).toArray()
  const mine = new Set(found.map(({ _id }) => String(_id)))
  return events.filter(({ _id }) => mine.has(String(_id)))
}

export async function storeOutcomes(catalog: Catalog, outcomes: readonly Outcome[]): Promise<void> {
  const writes: AnyBulkWriteOperation<NotificationDocument>[] = outcomes.map((outcome) => ({
    updateOne: { filter: concerned(outcome), update: changeBy(outcome) },
  }))
  await catalog.events.bulkWrite(writes, { ordered: false })
}

function concerned({ kind, claim: { event, id } }: Outcome): object {
  const one = { _id: event._id, ...PENDING }
  return kind === 'delivered' ? one : { ...one, 'delivery.claim': id }
}

function changeBy(outcome: Outcome): UpdateFilter<NotificationDocument> {
  if (outcome.kind === 'released') {
    return {
      $set: { 'delivery.due': outcome.claim.event.delivery.due },
      $inc: { 'delivery.attempts': -1 },
      $unset: { 'delivery.claim': '' },
    }
  }
  const started = { start_notify_time: new Date(outcome.startMs) }
  if (outcome.kind === 'delivered') {
    const { nowMs, returned: returned_value } = outcome
    const delivered = { notify_time: new Date(nowMs), returned_value }
    return {
      $set: { ...started, ...delivered, 'delivery.state': 'delivered' },
      $unset: { 'delivery.error': '', 'delivery.claim': '' },
    }
  }
  const { error, dueMs } = outcome
  const next =
    dueMs === null
      ? { 'delivery.state': 'dead' as const }
      : { 'delivery.due': new Date(Math.floor(dueMs)) }
  return {
    $set: { ...started, ...next, 'delivery.error': error },
    $unset: { 'delivery.claim': '' },
  }
}

/** Marks events that have no address. Returns their number. */
export async function storeUnaddressed(
  catalog: Catalog,
  events: readonly StoredEvent[],
): Promise<number> {
  const ids = events.map(({ _id }) => _id)
  const { modifiedCount } = await catalog.events.updateMany(
    { _id: { $in: ids }, ...PENDING },
    { $set: { 'delivery.state': 'unaddressed' } },
  )
  return modifiedCount
}
