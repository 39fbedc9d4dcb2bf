/** A broken invariant of ours: never an answer to a client's mistake and never an outage. */
export class InvariantError extends Error {
  override name = 'InvariantError'
}

/** Throws `InvariantError` unless the condition holds. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

/** Narrows away `undefined` and `null` where the code knows that a value is there. */
export function present<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new InvariantError(`${what} is missing`)
  return value
}
