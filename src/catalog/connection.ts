import { type ClientSession, type Db, MongoClient } from 'mongodb'
import { redactUrl } from '../config/error.ts'
import { monotonicMs } from '../runtime/clock.ts'
import {
  collectionsOf,
  ensureIndexes,
  type GuardedCollections,
  guardedCollections,
  type UnguardedCollections,
} from './collections.ts'
import {
  CatalogUnavailableError,
  CatalogUrlError,
  ReadCancelledError,
  SlowReadError,
} from './errors.ts'
import type { Guards, ReadLimits } from './guarded.ts'
import './lost-connections.ts'
import { isTimeLimitError, outageOf, STANDALONE } from './outages.ts'
import { NO_PATIENCE, type Patience } from './patience.ts'
import { type BatchCursor, type BatchReadOptions, batchReader } from './read-batches.ts'
import { OutboxDispatcher } from './transactions/dispatcher.ts'
import { createTransactions } from './transactions/transaction.ts'

export interface CatalogOptions {
  /** mongodb:// or mongodb+srv://; may contain a password. */
  url: string
  database: string
  /** Time limit of an operation; an operation that exceeds it counts as an outage. */
  timeoutMs: number
  /** Shown in the server log and in currentOp. */
  appName: string
  /** Size of the connection pool; 1 for threads that run one operation at a time. */
  connectionsMax?: number
  /** Time limit of a `read`; `timeoutMs` if absent. */
  readTimeoutMs?: number
  /** Reads from a replica if there is one; its data may be some seconds old. Not for writes. */
  readsReplica?: boolean
  /**
   * Gives an operation of batch work a minute or more for its answer, and tells when it waits
   * longer than `timeoutMs`.
   */
  patience?: Patience
}

/** The collections of one database; `run` and `read` are for several operations at once. */
export interface Catalog extends GuardedCollections, Guards {
  /** Has no time limits, and the errors of the driver: for `run`, `read` and `readBatches`. */
  readonly unguarded: UnguardedCollections
  /**
   * The results of a cursor, one batch at a time: the next one is read when it is asked for. Ending
   * the iteration or `signal` ends the read on the server. Rejects like `read`.
   */
  readBatches<T>(
    what: string,
    open: (limits: ReadLimits) => BatchCursor<T>,
    options: BatchReadOptions,
  ): AsyncGenerator<T[]>
  /**
   * One transaction for several writes: `operation` passes `session` to each of them. Transactions
   * are serializable, also with respect to what `operation` reads without the session, as long as
   * all writers of what it reads use transactions. Audit records (`appendAudit`) and outbox entries
   * (`enqueueOutbox`) of the session are written with it; the outbox entries that this process has
   * handlers for are executed after the commit and before this resolves.
   *
   * `operation` may be called again after a conflict, and has no effects but those of the session.
   * If it throws, nothing is written and the error is passed on. Transactions of a process run one
   * after the other: `operation` must not begin another one. Rejects with `EntityConflictError`
   * (lost to other processes too often, nothing is written) or with `CatalogUnavailableError` (the
   * writes may have been committed). `onPostponed` is called after the commit if a store is
   * unavailable for an outbox entry, which is executed later then.
   */
  transaction<T>(
    what: string,
    operation: (session: ClientSession) => Promise<T>,
    onPostponed?: () => void,
  ): Promise<T>
  /** Executes what follows from transactions in other stores. */
  readonly dispatcher: OutboxDispatcher
  /** Each is called when this process has begun a job (jobs). */
  readonly jobWatchers: Set<() => void>
  /**
   * Creates the missing indexes; idempotent. `identifiers`: identifying fields of subscribers in
   * addition to sid, msisdn and imsi.
   */
  ensureIndexes(identifiers?: readonly string[]): Promise<void>
  /** Rejects with `CatalogUnavailableError`, also if MongoDB is not a replica set. */
  ping(): Promise<void>
  /** That of the options, for `repeated`; without it a step is attempted once. */
  readonly patience: Patience
  close(): Promise<void>
}

/** Limit of one operation of batch work, if its patience allows that. */
const PATIENT_ANSWER_MS = 60_000

/** Per thread. Threads batch their operations, so a few connections suffice. */
const CONNECTIONS_MAX = 16

/**
 * Opens the catalogue; MongoDB need not be available yet. The first `run` connects, and the next
 * ones retry after an outage. `first`: an open catalogue whose outbox and job watchers this one
 * shares. Throws `CatalogUrlError` if the URL is invalid.
 */
export async function openCatalog(
  provided: CatalogOptions,
  first?: Pick<Catalog, 'dispatcher' | 'jobWatchers'>,
): Promise<Catalog> {
  const options = patientOptions(provided)
  const client = createClient(options, provided.timeoutMs)
  const db = client.db(options.database)
  const link = createLink(client)
  const guards = createGuards(link, options, provided.timeoutMs)
  // Whether MongoDB is there is answered soon, also to batch work.
  const { patience: _, ...soon } = provided
  const { run: runSoon } = createGuards(link, soon, soon.timeoutMs)
  const unguarded = collectionsOf(db)
  const collections = guardedCollections(unguarded, guards)
  const dispatcher = first?.dispatcher ?? new OutboxDispatcher(collections)
  const transaction = createTransactions({
    collections,
    withSession: (act) => client.withSession(act),
    dispatcher,
    timeoutMs: options.timeoutMs,
  })
  return {
    ...collections,
    ...guards,
    unguarded,
    readBatches: batchReader(guards.read),
    transaction,
    dispatcher,
    jobWatchers: first?.jobWatchers ?? new Set(),
    ensureIndexes: (identifiers = []) => ensureIndexes(collections, identifiers),
    ping: () => runSoon('ping', () => pingOnce(db)),
    patience: provided.patience ?? NO_PATIENCE,
    async close() {
      await dispatcher.flush()
      await link.close()
    },
  }
}

/** The catalogue with other guards, also of its collections. */
export function withGuards(
  catalog: Catalog,
  { run = catalog.run, read = catalog.read }: Partial<Guards>,
): Catalog {
  return { ...catalog, ...guardedCollections(catalog.unguarded, { run, read }), run, read }
}

function patientOptions(options: CatalogOptions): CatalogOptions {
  const { timeoutMs, readTimeoutMs = timeoutMs, patience } = options
  if (patience === undefined) return options
  const answerMs = Math.max(timeoutMs, Math.min(patience.forMs, PATIENT_ANSWER_MS))
  return { ...options, timeoutMs: answerMs, readTimeoutMs: Math.max(readTimeoutMs, answerMs) }
}

/** `selectMs`: a server that is away is an outage soon, also to batch work, which repeats. */
function createClient(options: CatalogOptions, selectMs: number): MongoClient {
  const { url, timeoutMs, appName, connectionsMax = CONNECTIONS_MAX } = options
  const { readTimeoutMs = timeoutMs, readsReplica = false } = options
  try {
    return new MongoClient(url, {
      appName,
      serverSelectionTimeoutMS: selectMs,
      connectTimeoutMS: selectMs,
      // The server enforces the time limit of reads; the socket timeout only ends reads that hang.
      socketTimeoutMS: Math.max(timeoutMs, readTimeoutMs + READ_GRACE_MS),
      waitQueueTimeoutMS: timeoutMs,
      maxPoolSize: connectionsMax,
      ...(readsReplica && { readPreference: 'secondaryPreferred' as const }),
      ignoreUndefined: true,
      // Acknowledged writes are deleted here (streams are trimmed), so they must be durable there.
      writeConcern: { w: 'majority', journal: true },
    })
  } catch (error) {
    // The driver quotes parts of the URL, so its message is passed on only if the URL cannot
    // contain a secret.
    const isPlain = !url.includes('@') && !url.includes('?')
    const reason = isPlain && error instanceof Error ? `: ${error.message}` : ''
    throw new CatalogUrlError(`MongoDB URL ${redactUrl(url)} cannot be used${reason}`)
  }
}

/** How much longer than the server's time limit the client waits for a read. */
const READ_GRACE_MS = 1000

/** Rejects if the server is a standalone, which has no transactions. */
async function pingOnce(db: Db): Promise<void> {
  const hello = await db.command({ hello: 1 })
  const hasTransactions = typeof hello['setName'] === 'string' || hello['msg'] === 'isdbgrid'
  if (!hasTransactions) throw new CatalogUnavailableError(`MongoDB ${STANDALONE}`)
}

interface ServerLink {
  /** Resolves once the server was reached; from then on the driver reconnects automatically. */
  ready(): Promise<void>
  /**
   * Closes all connections and connects again, in case the driver waits forever for something that
   * has no time limit.
   */
  reconnect(): void
  close(): Promise<void>
}

function createLink(client: MongoClient): ServerLink {
  let wasReached = false
  let isClosed = false
  let ending: Promise<void> = Promise.resolve()
  return {
    reconnect() {
      if (isClosed || !wasReached) return
      wasReached = false
      ending = client.close().catch(() => undefined)
    },
    async ready() {
      if (!wasReached) await ending
      if (isClosed) throw new CatalogUnavailableError('MongoDB: the catalogue is closed')
      if (wasReached) return
      // A driver whose first implicit connect failed stays closed; an explicit connect retries.
      await client.connect()
      wasReached = true
    },
    async close() {
      isClosed = true
      await client.close()
    },
  }
}

/** A timer that is later than this was held up by the thread itself. */
const BUSY_MS = 50
/** After this many times `timeoutMs` without any answer, the driver is reconnected. */
const SILENT_TIMEOUTS = 3

type Within = <T>(what: string, limitMs: number, operation: () => Promise<T>) => Promise<T>

/** Bounds operations as a whole, and tells when one takes longer than `noticeMs`. */
function createDeadlines(
  link: ServerLink,
  { timeoutMs, patience }: CatalogOptions,
  noticeMs: number,
): Within {
  let answeredMs = monotonicMs()
  const tellLater = (what: string) => {
    if (patience === undefined) return undefined
    const reason = `MongoDB: ${what}: no answer within ${noticeMs} ms`
    return setTimeout(() => patience.onWait(reason), noticeMs)
  }
  const reconnectIfSilent = () => {
    if (monotonicMs() - answeredMs < SILENT_TIMEOUTS * timeoutMs) return
    answeredMs = monotonicMs()
    link.reconnect()
  }
  return async (what, limitMs, operation) => {
    let timer: NodeJS.Timeout | undefined
    let isLate = false
    const notice = tellLater(what)
    const deadline = new Promise<never>((_resolve, reject) => {
      // The driver's own limits apply per step (select, connect, send, retry) and would add up.
      let dueMs = monotonicMs() + limitMs
      const expire = () => {
        // An answer could not be read while this thread was busy: that is no silence of MongoDB.
        const busyMs = monotonicMs() - dueMs
        if (busyMs > BUSY_MS) {
          const moreMs = Math.min(busyMs, limitMs)
          dueMs += busyMs + moreMs
          timer = setTimeout(expire, moreMs)
          return
        }
        isLate = true
        reconnectIfSilent()
        reject(new CatalogUnavailableError(`MongoDB: ${what}: no answer within ${limitMs} ms`))
      }
      timer = setTimeout(expire, limitMs)
    })
    const attempt = async () => {
      await link.ready()
      // The operation was already reported as failed, so it must not write any more.
      if (isLate) return deadline
      const answer = await operation()
      answeredMs = monotonicMs()
      patience?.onWait(null)
      return answer
    }
    try {
      return await Promise.race([attempt(), deadline])
    } finally {
      clearTimeout(timer)
      clearTimeout(notice)
    }
  }
}

function createGuards(link: ServerLink, options: CatalogOptions, noticeMs: number): Guards {
  const { timeoutMs, readTimeoutMs = timeoutMs } = options
  const within = createDeadlines(link, options, noticeMs)
  return {
    async run(what, operation) {
      try {
        return await within(what, timeoutMs, operation)
      } catch (error) {
        throw outageOf(error, what) ?? error
      }
    },
    async read(what, operation, { signal: caller, remainingMs = readTimeoutMs } = {}) {
      const maxTimeMS = Math.max(1, Math.min(Math.ceil(remainingMs), readTimeoutMs))
      const ended = new AbortController()
      const signal = caller ? AbortSignal.any([caller, ended.signal]) : ended.signal
      try {
        return await within(what, maxTimeMS + READ_GRACE_MS, () => operation({ maxTimeMS, signal }))
      } catch (error) {
        if (caller?.aborted) throw new ReadCancelledError(`MongoDB: ${what}: cancelled`)
        if (isTimeLimitError(error)) throw new SlowReadError(what, maxTimeMS)
        throw outageOf(error, what) ?? error
      } finally {
        // Also stops operations that are still running after the deadline.
        ended.abort()
      }
    },
  }
}
