/** A broken invariant of the product: neither a client's mistake nor an outage. */
export class InvariantError extends Error {
  override name = 'InvariantError'
}

/** Throws `InvariantError` unless the condition holds. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

/**
 * Removes `undefined` and `null` from the type. Throws `InvariantError` if the value is missing.
 */
export function present<T>(value: T | undefined | null, what: string): T {
  if (value === undefined || value === null) throw new InvariantError(`${what} is missing`)
  return value
}
