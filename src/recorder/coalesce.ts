/** Merges the stream entries of a flush: only the newest version of each record. Pure. */
import type { OwnerState } from '../domain/bucket.ts'
import type { BalanceEvent } from '../domain/events/event.ts'
import { type Line, type OperationLine, RERATE } from '../domain/line.ts'
import { canFall } from '../domain/tariff.ts'
import type { StreamEntry } from '../ledger/stream-entries.ts'

/** Content of an entry, independent of its stream position. */
export type EntryContent = Pick<StreamEntry, 'lines' | 'operations' | 'owners' | 'events'>

export interface FlushRecords {
  /** By stamp. */
  lines: ReadonlyMap<string, Line>
  operations: ReadonlyMap<string, OperationLine>
  events: ReadonlyMap<string, BalanceEvent>
  /** By `ownerKey`. */
  owners: ReadonlyMap<string, OwnerState>
  /** Keys of owners whose debt may have been refunded, because a price can fall. */
  refundable: ReadonlySet<string>
  /** Stamps of lines with new prices: they may have been exported. */
  rerated: ReadonlySet<string>
}

export const NO_RECORDS: FlushRecords = {
  lines: new Map(),
  operations: new Map(),
  events: new Map(),
  owners: new Map(),
  refundable: new Set(),
  rerated: new Set(),
}

export function ownerKey({ aid, sid }: { aid: number; sid: number }): string {
  return `${aid}:${sid}`
}

/** Entries may be in any order and duplicated. */
export function coalesce(entries: readonly EntryContent[]): FlushRecords {
  const lines = new Map<string, Line>()
  const operations = new Map<string, OperationLine>()
  const events = new Map<string, BalanceEvent>()
  const owners = new Map<string, OwnerState>()
  const rerated = new Set<string>()
  for (const entry of entries) {
    for (const line of entry.lines) keepNewest(lines, line.stamp, line)
    for (const operation of entry.operations) operations.set(operation.stamp, operation)
    for (const event of entry.events ?? []) events.set(event.stamp, event)
    for (const owner of entry.owners) keepNewest(owners, ownerKey(owner), owner)
    if (!entry.operations.some(({ operation }) => operation === RERATE)) continue
    for (const { stamp } of entry.lines) rerated.add(stamp)
  }
  const refundable = ownersWithFallingPrices(lines.values())
  return { lines, operations, events, owners, refundable, rerated }
}

function ownersWithFallingPrices(lines: Iterable<Line>): Set<string> {
  const keys = new Set<string>()
  for (const { session, pricing } of lines) {
    const { tariff, others } = pricing
    if (!canFall(tariff) && !others.some((other) => canFall(other.tariff))) continue
    keys.add(ownerKey(session)).add(ownerKey({ aid: session.aid, sid: 0 }))
  }
  return keys
}

/** Keys of all records in an entry, as in `coalesce`. */
export function keysOf({ lines, operations, events = [], owners }: EntryContent): string[] {
  const stamped = [...lines, ...operations, ...events]
  return [...stamped.map(({ stamp }) => stamp), ...owners.map(ownerKey)]
}

function keepNewest<T extends { version: number }>(
  newest: Map<string, T>,
  key: string,
  candidate: T,
): void {
  const known = newest.get(key)
  if (known === undefined || known.version < candidate.version) newest.set(key, candidate)
}
