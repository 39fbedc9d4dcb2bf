/** The command line is not understood: exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A command cannot do what it was asked for: exit code 1. The message is all that is shown. */
export class CommandError extends Error {
  override name = 'CommandError'
}
