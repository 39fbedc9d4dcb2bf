import {
  type ClientSession,
  type Db,
  MongoBulkWriteError,
  MongoClient,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerError,
  MongoSystemError,
  MongoTopologyClosedError,
} from 'mongodb'
import { redactUrl } from '../config/error.ts'
import { monotonicMs } from '../runtime/clock.ts'
import { type Collections, collectionsOf, ensureIndexes } from './collections.ts'
import {
  CatalogUnavailableError,
  CatalogUrlError,
  ReadCancelledError,
  SlowReadError,
} from './errors.ts'

export interface CatalogOptions {
  /** mongodb:// or mongodb+srv://; may carry a password. */
  url: string
  database: string
  /** How long one operation may take before it counts as an outage. */
  timeoutMs: number
  /** Shown in the server's log and in currentOp. */
  appName: string
  /** Of a thread that does one thing at a time: 1. */
  connectionsMax?: number
  /** How long one `read` may take; `timeoutMs` if not given. */
  readTimeoutMs?: number
}

/** What ends a read: given to every operation of it. */
export interface ReadLimits {
  /** The server stops after this time. */
  maxTimeMS: number
  /** Aborted when nobody waits any more: the driver then has the server stop. */
  signal: AbortSignal
}

export interface StoreReadOptions {
  /** Ends the read, also in the server. */
  signal?: AbortSignal | undefined
  /** What is left of the time of a read in several parts; at most `readTimeoutMs`. */
  remainingMs?: number
}

/** The typed collections of one database, and what keeps their outages in one shape. */
export interface Catalog extends Collections {
  /**
   * Does one operation on the collections, which must not be used without it. An outage, or no end
   * within `timeoutMs`, becomes `CatalogUnavailableError` with `what` in its text; other errors
   * pass through.
   */
  run<T>(what: string, operation: () => Promise<T>): Promise<T>
  /**
   * Likewise, of reads that may have to look at much, with the time of `readTimeoutMs`. `operation`
   * gives the limits to each of its operations, so that the server ends its work, too, when the
   * time is over (`SlowReadError`), or when nobody waits any more (`ReadCancelledError`).
   */
  read<T>(
    what: string,
    operation: (limits: ReadLimits) => Promise<T>,
    options?: StoreReadOptions,
  ): Promise<T>
  /**
   * Likewise, of several writes that become true together where the server has transactions; else
   * the operation gets no session, and does them one after the other. It may be called again.
   */
  transaction<T>(
    what: string,
    operation: (session: ClientSession | undefined) => Promise<T>,
  ): Promise<T>
  /**
   * Creates the indexes that are missing; safe to repeat. `identifiers`: fields beside sid, msisdn
   * and imsi that subscribers are found by.
   */
  ensureIndexes(identifiers?: readonly string[]): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}

/** Connections of one thread: it batches its work, so a few go far. */
const CONNECTIONS_MAX = 16

/**
 * The catalogue on a MongoDB that need not be up yet: the first `run` connects, and each one after
 * an outage tries again. Throws `CatalogUrlError` if the URL is of no use.
 */
export async function openCatalog(options: CatalogOptions): Promise<Catalog> {
  const client = createClient(options)
  const db = client.db(options.database)
  const link = createLink(client)
  const { run, read } = createRunners(link, options)
  const collections = collectionsOf(db)
  return {
    ...collections,
    run,
    read,
    transaction: (what, operation) =>
      run(what, async () => {
        if (!(await hasTransactions(db))) return operation(undefined)
        return client.withSession((session) => session.withTransaction(operation))
      }),
    ensureIndexes: (identifiers = []) => ensureIndexes(collections, identifiers, run),
    ping: () => run('ping', () => pingOnce(db)),
    close: link.close,
  }
}

function createClient(options: CatalogOptions): MongoClient {
  const { url, timeoutMs, appName, connectionsMax = CONNECTIONS_MAX } = options
  const { readTimeoutMs = timeoutMs } = options
  try {
    return new MongoClient(url, {
      appName,
      serverSelectionTimeoutMS: timeoutMs,
      connectTimeoutMS: timeoutMs,
      // The server ends a read in time by itself: only one that hangs is cut off.
      socketTimeoutMS: Math.max(timeoutMs, readTimeoutMs + READ_GRACE_MS),
      waitQueueTimeoutMS: timeoutMs,
      maxPoolSize: connectionsMax,
      ignoreUndefined: true,
      // What is acknowledged is forgotten here (streams are trimmed), so it must be on disk there.
      writeConcern: { w: 'majority', journal: true },
    })
  } catch (error) {
    // The driver quotes the URL, or parts of it: only what cannot hold a secret is passed on.
    const isPlain = !url.includes('@') && !url.includes('?')
    const reason = isPlain && error instanceof Error ? `: ${error.message}` : ''
    throw new CatalogUrlError(`MongoDB URL ${redactUrl(url)} cannot be used${reason}`)
  }
}

/** How much longer a read is waited for than the server may work on it. */
const READ_GRACE_MS = 1000

/** Only members of a replica set, and what routes to them, know transactions. */
async function hasTransactions(db: Db): Promise<boolean> {
  const hello = await db.command({ hello: 1 })
  return typeof hello['setName'] === 'string' || hello['msg'] === 'isdbgrid'
}

async function pingOnce(db: Db): Promise<void> {
  await db.command({ ping: 1 })
}

interface ServerLink {
  /** Resolves when the store was reached once; from then on the driver keeps itself connected. */
  ready(): Promise<void>
  /**
   * Ends all connections and begins anew. A driver whose server died in the midst of a check has
   * been seen to wait for that check for good.
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
      // A driver that failed to connect by itself stays closed for good; an explicit connect tries
      // anew.
      await client.connect()
      wasReached = true
    },
    async close() {
      isClosed = true
      await client.close()
    },
  }
}

/** After so many times the limit of an operation without any answer the link is made anew. */
const SILENT_TIMEOUTS = 3

function createRunners(
  link: ServerLink,
  { timeoutMs, readTimeoutMs = timeoutMs }: CatalogOptions,
): Pick<Catalog, 'run' | 'read'> {
  let answeredMs = monotonicMs()
  const late = () => {
    if (monotonicMs() - answeredMs < SILENT_TIMEOUTS * timeoutMs) return
    answeredMs = monotonicMs()
    link.reconnect()
  }
  const within = async <T>(what: string, limitMs: number, operation: () => Promise<T>) => {
    let timer: NodeJS.Timeout | undefined
    let isLate = false
    const deadline = new Promise<never>((_resolve, reject) => {
      // The driver's own limits are per step (select, connect, send, retry) and would add up.
      timer = setTimeout(() => {
        isLate = true
        late()
        reject(new CatalogUnavailableError(`MongoDB: ${what}: no answer within ${limitMs} ms`))
      }, limitMs)
    })
    const attempt = async () => {
      await link.ready()
      // Nobody waits for it any more: a write must not happen after it was reported as failed.
      if (isLate) return deadline
      const answer = await operation()
      answeredMs = monotonicMs()
      return answer
    }
    try {
      return await Promise.race([attempt(), deadline])
    } finally {
      clearTimeout(timer)
    }
  }
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
        if (isTimeLimitError(error)) throw new SlowReadError(what, readTimeoutMs)
        throw outageOf(error, what) ?? error
      } finally {
        // What a deadline has left behind ends, too.
        ended.abort()
      }
    },
  }
}

function outageOf(error: unknown, what: string): CatalogUnavailableError | null {
  if (!isOutage(error)) return null
  const text = `MongoDB: ${what}: ${(error as Error).message}`
  return new CatalogUnavailableError(text, { cause: error })
}

const MAX_TIME_EXPIRED = 50

function isTimeLimitError(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED
}

/**
 * Server error codes of a server that is there, but cannot serve: failing over, stopping, refusing.
 */
const OUTAGE_CODES: ReadonlySet<number> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  13, // Unauthorized
  18, // AuthenticationFailed
  50, // MaxTimeMSExpired
  64, // WriteConcernFailed
  89, // NetworkTimeout
  91, // ShutdownInProgress
  133, // FailedToSatisfyReadPreference
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
  14031, // OutOfDiskSpace
])

const CLIENT_OUTAGES = [
  MongoNetworkError,
  MongoSystemError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
] as const

function isOutage(error: unknown): boolean {
  if (!(error instanceof MongoError)) return false
  if (CLIENT_OUTAGES.some((kind) => error instanceof kind)) return true
  // The driver puts a connection that was lost into such words, too: only a server gives codes.
  if (error instanceof MongoBulkWriteError && error.code === undefined) {
    return [error.writeErrors].flat().length === 0
  }
  if (error instanceof MongoServerError) return OUTAGE_CODES.has(Number(error.code))
  // The pool's "waited too long for a connection" is not exported as a class.
  return error.name === 'MongoWaitQueueTimeoutError'
}
