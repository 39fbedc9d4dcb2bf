/** Distinguishes outages of MongoDB from errors of an operation. */
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerClosedError,
  MongoServerError,
  MongoSystemError,
  MongoTopologyClosedError,
} from 'mongodb'
import { CatalogUnavailableError } from './errors.ts'

/** The operator's one command; a replica set of one member is enough. */
export const STANDALONE =
  'is a standalone server, which has no transactions: start it with --replSet tollgate and run ' +
  "mongosh --eval 'rs.initiate()' once"

/** The answer of a standalone server to every command of a transaction. */
const ILLEGAL_OPERATION = 20

/**
 * The outage that the error means; null if it means none. `isFinal`: the driver does not repeat the
 * transaction any more.
 */
export function outageOf(
  error: unknown,
  what: string,
  isFinal = false,
): CatalogUnavailableError | null {
  if (error instanceof MongoServerError && isIllegalOperation(error)) {
    return new CatalogUnavailableError(`MongoDB: ${what}: MongoDB ${STANDALONE}`, { cause: error })
  }
  if (!isOutage(error, isFinal)) return null
  const text = `MongoDB: ${what}: ${(error as Error).message}`
  return new CatalogUnavailableError(text, { cause: error })
}

/** For a write, the driver wraps the server's error in one without a code. */
function isIllegalOperation({ code, originalError }: MongoServerError): boolean {
  const original: unknown = originalError
  const found = original instanceof MongoServerError ? original.code : code
  return found === ILLEGAL_OPERATION
}

const MAX_TIME_EXPIRED = 50

export function isTimeLimitError(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED
}

/** Codes of servers that respond but cannot serve: failover, shutdown, access refused. */
const OUTAGE_CODES: ReadonlySet<number> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  13, // Unauthorized
  18, // AuthenticationFailed
  43, // CursorNotFound: the server was restarted within a read
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

function isOutage(error: unknown, isFinal: boolean): boolean {
  if (!(error instanceof MongoError)) return isSocketError(error)
  // The transaction is repeated as a whole.
  if (isTransient(error) && !isFinal) return false
  if (CLIENT_OUTAGES.some((kind) => error instanceof kind)) return true
  // The driver also reports lost connections as bulk write errors; only errors from the server have
  // a number as code.
  if (error instanceof MongoBulkWriteError && typeof error.code !== 'number') {
    return [error.writeErrors].flat().length === 0
  }
  if (error instanceof MongoServerError) return OUTAGE_CODES.has(Number(error.code))
  // The driver does not export the class of this connection pool error.
  return error.name === 'MongoWaitQueueTimeoutError'
}

/** The driver does not wrap the error of a socket that has not accepted the whole command. */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error
}

/** Whether the driver repeats a transaction after this error: a conflict, or a lost connection. */
export function isTransient(error: unknown): boolean {
  return error instanceof MongoError && error.hasErrorLabel('TransientTransactionError')
}
