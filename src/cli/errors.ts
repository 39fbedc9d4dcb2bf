import { InvariantError } from '../domain/assert.ts'
import { withSources } from '../runtime/source-places.ts'

/** The command line is invalid: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A command failed: exit code 1. Only the message is shown. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** A process was ended by a signal before it was ready; another start may succeed. */
export class KilledAtStartError extends CommandError {
  override name = 'KilledAtStartError'
}

/** Message of the Redis driver for a command time-out; it does not name Redis. */
const REDIS_TIMEOUT = 'Command timed out'

/** Defects show their stack; operational errors only their message. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isDefect =
    error instanceof InvariantError ||
    error instanceof ReferenceError ||
    error instanceof TypeError ||
    error instanceof RangeError
  if (error.message === REDIS_TIMEOUT) {
    return 'Redis did not answer within redis.commandTimeoutMs; try again, or raise that'
  }
  return isDefect && error.stack !== undefined ? withSources(error.stack) : error.message
}
