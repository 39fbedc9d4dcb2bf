/** The writes that a transaction collects while its operation runs, and adds before the commit. */
import type { ClientSession } from 'mongodb'
import type { AuditDocument } from '../audit/audit-document.ts'
import type { HeadDocument, NumberedCollection } from './head-document.ts'
import type { OutboxDocument } from './outbox-document.ts'

/** One operation on MongoDB, with the time limit and the errors of `Catalog.run`. */
export type Run = <T>(what: string, operation: () => Promise<T>) => Promise<T>

export interface TransactionState {
  /** The head to write; `version` is still the one that was read. */
  readonly head: HeadDocument
  readonly audit: AuditDocument[]
  readonly entries: OutboxDocument[]
  /** Those of `entries` to execute right after the commit. */
  readonly due: OutboxDocument[]
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
