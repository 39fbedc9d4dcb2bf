/** The writes that a transaction collects while its operation runs, and adds before the commit. */
import type { ClientSession } from 'mongodb'
import type { AuditDocument } from '../records/audit-document.ts'
import type { HeadDocument, NumberedCollection } from '../records/head-document.ts'
import type { OutboxDocument } from '../records/outbox-document.ts'
import { PendingWrites } from './pending-writes.ts'

export interface TransactionState {
  /** The head to write; `version` is still the one that was read. */
  readonly head: HeadDocument
  readonly audit: AuditDocument[]
  readonly entries: OutboxDocument[]
  /** The part of `entries` to execute right after the commit. */
  readonly entriesToRun: OutboxDocument[]
  /** Further writes, of many operations together. */
  readonly writes: PendingWrites
  /** Called right after the commit. */
  readonly afterCommit: (() => void)[]
  /** Values that parts of the transaction share; they are replaced, never changed. */
  readonly memory: Map<string, unknown>
  /** The head is written already: no other transaction can commit. */
  readonly hasPrecedence: boolean
  /** Whether this process executes outbox entries of this kind. */
  handles(kind: string): boolean
}

const states = new WeakMap<ClientSession, TransactionState>()

export function beginState(session: ClientSession, state: TransactionState): void {
  states.set(session, state)
}

/** The state of the session's transaction, which `catalog.transaction` has begun. */
export function stateOf(session: ClientSession): TransactionState {
  const state = states.get(session)
  if (state === undefined) throw new Error('the session is not that of a catalogue transaction')
  return state
}

/** Takes the next `count` write numbers of a collection and returns the first one. */
export function takeRevs(
  session: ClientSession,
  collection: NumberedCollection,
  count = 1,
): number {
  const { numbers } = stateOf(session).head
  const first = numbers[collection] + 1
  numbers[collection] = first + count - 1
  return first
}

/**
 * Runs one of several operations that share a transaction: what it has collected is kept if it
 * succeeds, and dropped if it fails. It must not write by commands of its own: these would stay.
 */
export async function runPart<T>(session: ClientSession, part: () => Promise<T>): Promise<T> {
  const whole = stateOf(session)
  const own: TransactionState = {
    ...whole,
    head: { ...whole.head, numbers: { ...whole.head.numbers } },
    audit: [],
    entries: [],
    entriesToRun: [],
    writes: new PendingWrites(),
    afterCommit: [],
    memory: new Map(whole.memory),
  }
  states.set(session, own)
  try {
    const result = await part()
    Object.assign(whole.head.numbers, own.head.numbers)
    whole.audit.push(...own.audit)
    whole.entries.push(...own.entries)
    whole.entriesToRun.push(...own.entriesToRun)
    whole.writes.append(own.writes)
    whole.afterCommit.push(...own.afterCommit)
    for (const [key, value] of own.memory) whole.memory.set(key, value)
    return result
  } finally {
    states.set(session, whole)
  }
}
