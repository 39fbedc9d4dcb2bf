import type { ClientSession } from 'mongodb'
import type { Catalog } from './connection.ts'

/** Ends a transaction that must not be committed, with the result of its operation. */
class Tried extends Error {
  readonly result: unknown

  constructor(result: unknown) {
    super('a trial is not committed')
    this.result = result
  }
}

/** Runs an operation in a transaction, or tries it. */
export function inTransaction<T>(
  catalog: Pick<Catalog, 'transaction'>,
  what: string,
  operation: (session: ClientSession) => Promise<T>,
  isTrial: boolean,
): Promise<T> {
  return isTrial ? tryTransaction(catalog, what, operation) : catalog.transaction(what, operation)
}

/**
 * As `catalog.transaction`, but nothing is committed: the operation and its writes are executed, or
 * fail, in a transaction that is then aborted.
 */
export async function tryTransaction<T>(
  catalog: Pick<Catalog, 'transaction'>,
  what: string,
  operation: (session: ClientSession) => Promise<T>,
): Promise<T> {
  try {
    return await catalog.transaction(what, async (session) => {
      throw new Tried(await operation(session))
    })
  } catch (error) {
    if (error instanceof Tried) return error.result as T
    throw error
  }
}
