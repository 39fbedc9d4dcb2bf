import { InvariantError } from '../domain/assert.ts'

/** The command line is not understood: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A command cannot do what it was asked for: exit code 1. The message is all that is shown. */
export class CommandError extends Error {
  override name = 'CommandError'
}

/** The driver's words for a command of Redis, which name no store. */
const REDIS_TIMEOUT = 'Command timed out'

/** A defect of ours shows where it happened; what went wrong outside is said in words. */
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
  return (isDefect ? error.stack : undefined) ?? error.message
}
