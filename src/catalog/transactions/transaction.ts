/** Transactions of the catalogue: serializable, with audit records and outbox entries. */
import { type ClientSession, MongoServerError } from 'mongodb'
import { monotonicMs } from '../../runtime/clock.ts'
import type { Collections } from '../collections.ts'
import { CatalogUnavailableError, EntityConflictError } from '../errors.ts'
import { isTransient, outageOf } from '../outages.ts'
import type { HeadDocument } from '../records/head-document.ts'
import { linkRecords } from './audit-chain.ts'
import type { OutboxDispatcher } from './dispatcher.ts'
import { readHead } from './head.ts'
import { PendingWrites } from './pending-writes.ts'
import { beginState, type TransactionState } from './state.ts'
import { Turns } from './turns.ts'

/** Until a transaction gives up waiting for its turn, or losing to other processes. */
const GIVE_UP_MS = 30_000
/**
 * After this many conflicts a transaction writes the head first as well, so that others lose to it:
 * a long transaction would otherwise never get through beside many short ones.
 */
const CONFLICTS_BEFORE_PRECEDENCE = 2

export interface TransactionParts {
  collections: Collections
  withSession<T>(act: (session: ClientSession) => Promise<T>): Promise<T>
  dispatcher: OutboxDispatcher
  /** Limit of a commit. */
  timeoutMs: number
}

interface Committed<T> extends Pick<TransactionState, 'entriesToRun' | 'afterCommit'> {
  result: T
}

/**
 * The head as this process has written it last; null if another process writes, too. It spares the
 * read: if it is outdated, the transaction is repeated.
 */
interface OwnHead {
  head: HeadDocument | null
  version: number
}

type Transaction = <T>(
  what: string,
  operation: (session: ClientSession) => Promise<T>,
  onPostponed?: () => void,
) => Promise<T>

export function createTransactions(parts: TransactionParts): Transaction {
  const turns = new Turns()
  const own: OwnHead = { head: null, version: -1 }
  return async (what, operation, onPostponed) => {
    const giveUpMs = monotonicMs() + GIVE_UP_MS
    const leave = await turns.enter(what, giveUpMs)
    const committed = await commit(parts, own, what, operation, giveUpMs).finally(leave)
    const { result, entriesToRun, afterCommit } = committed
    for (const call of afterCommit) call()
    // The writes are committed: an error would deny them.
    if (!(await parts.dispatcher.dispatch(entriesToRun))) onPostponed?.()
    return result
  }
}

/** Rejects as soon as the outcome is known to the caller; an abort may still be under way then. */
function commit<T>(
  parts: TransactionParts,
  own: OwnHead,
  what: string,
  operation: (session: ClientSession) => Promise<T>,
  giveUpMs: number,
): Promise<Committed<T>> {
  return new Promise((resolve, reject) => {
    let conflicts = 0
    let timer: NodeJS.Timeout | undefined
    const attempt = async (session: ClientSession) => {
      clearTimeout(timer)
      if (conflicts > 0 && monotonicMs() >= giveUpMs) throw lostToOthers(what)
      try {
        const found = own.head ?? (await readHead(parts.collections))
        own.head = null
        const isAlone = found.version === own.version
        const takesPrecedence = conflicts >= CONFLICTS_BEFORE_PRECEDENCE
        const state = await begin(parts, session, found, takesPrecedence)
        const result = await perform(parts, session, state, operation)
        timer = setTimeout(() => reject(commitTimeout(what, parts.timeoutMs)), parts.timeoutMs)
        const head = { ...state.head, version: state.head.version + 1 }
        const { entriesToRun, afterCommit } = state
        return { result, entriesToRun, afterCommit, head, isAlone }
      } catch (error) {
        // An abort would wait for the store once more.
        if (error instanceof CatalogUnavailableError) reject(error)
        if (isTransient(error)) conflicts += 1
        throw error
      }
    }
    parts
      .withSession((session) => session.withTransaction(() => attempt(session)))
      .then(
        ({ head, isAlone, ...done }) => {
          own.version = head.version
          own.head = isAlone ? head : null
          resolve(done)
        },
        (error: unknown) => reject(finalError(error, what)),
      )
      .finally(() => clearTimeout(timer))
  })
}

/** The error of a transaction that the driver has given up. */
function finalError(error: unknown, what: string): unknown {
  return outageOf(error, what, true) ?? (isTransient(error) ? lostToOthers(what) : error)
}

async function begin(
  { collections, dispatcher }: TransactionParts,
  session: ClientSession,
  found: HeadDocument,
  takesPrecedence: boolean,
): Promise<TransactionState> {
  const state: TransactionState = {
    head: { ...found, numbers: { ...found.numbers } },
    audit: [],
    entries: [],
    entriesToRun: [],
    writes: new PendingWrites(),
    afterCommit: [],
    memory: new Map(),
    hasPrecedence: takesPrecedence,
    handles: (kind) => dispatcher.handles(kind),
  }
  beginState(session, state)
  if (takesPrecedence) {
    const { version } = found
    await writeHead(collections, session, { ...found, version: version + 1 }, version)
    state.head.version += 1
  }
  return state
}

/** An error counts only if no other transaction has changed what the operation has read. */
async function perform<T>(
  parts: TransactionParts,
  session: ClientSession,
  state: TransactionState,
  operation: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const { version } = state.head
  try {
    const result = await operation(session)
    await finish(parts, session, state)
    return result
  } catch (error) {
    if (isTransient(error) || error instanceof CatalogUnavailableError || state.hasPrecedence) {
      throw error
    }
    const now = await readHead(parts.collections)
    throw now.version === version ? error : conflict()
  }
}

/** The writes that all transactions have in common; the head last, because others wait for it. */
async function finish(
  { collections }: TransactionParts,
  session: ClientSession,
  { head, audit, entries, writes }: TransactionState,
): Promise<void> {
  await writes.send(collections, session)
  if (entries.length > 0) {
    await collections.outbox.insertMany([...entries], { session })
  }
  if (audit.length > 0) {
    const records = linkRecords(audit, head.audit)
    await collections.audit.insertMany(records, { session })
    const { seq, hash } = records.at(-1)?.chain ?? head.audit
    head.audit = { seq, hash }
  }
  const { version } = head
  await writeHead(collections, session, { ...head, version: version + 1 }, version)
}

async function writeHead(
  collections: Collections,
  session: ClientSession,
  head: HeadDocument,
  expected: number,
): Promise<void> {
  const { matchedCount } = await collections.transactions.replaceOne(
    { _id: 'head', version: expected },
    head,
    { session },
  )
  if (matchedCount !== 1) throw conflict()
}

/** Another process has committed since the head was read: the driver repeats the transaction. */
function conflict(): MongoServerError {
  return new MongoServerError({
    message: 'the head was changed by another transaction',
    code: WRITE_CONFLICT,
    errorLabels: ['TransientTransactionError'],
  })
}

const WRITE_CONFLICT = 112

function lostToOthers(what: string): EntityConflictError {
  return new EntityConflictError(`${what}: it is being changed by others, nothing was written`)
}

function commitTimeout(what: string, limitMs: number): CatalogUnavailableError {
  return new CatalogUnavailableError(
    `MongoDB: ${what}: no answer to the commit within ${limitMs} ms`,
  )
}
