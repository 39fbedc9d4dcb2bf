/** The catalogue as one transaction sees it. */
import type { ClientSession } from 'mongodb'
import type { UnguardedCollections } from './collections.ts'
import { type Catalog, withGuards } from './connection.ts'

/** Reads, and the place of their options. Writes name their session themselves. */
const READS: Readonly<Record<string, number>> = {
  find: 1,
  findOne: 1,
  aggregate: 1,
  countDocuments: 1,
  distinct: 2,
}

/**
 * Reads find what the transaction has written, and transactions are parts of it: writes after one
 * another need not know of each other. Operations wait for each other, as a session demands.
 */
export function inSession(catalog: Catalog, session: ClientSession): Catalog {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(operation: () => Promise<T>): Promise<T> => {
    const done = last.then(operation)
    last = done.catch(() => undefined)
    return done
  }
  const collections = Object.entries(catalog.unguarded)
  const unguarded = Object.fromEntries(
    collections.map(([name, one]) => [name, readingIn(one, session)]),
  ) as unknown as UnguardedCollections
  const guarded = withGuards(
    { ...catalog, unguarded },
    {
      run: (what, operation) => inTurn(() => catalog.run(what, operation)),
      read: (what, operation, options) => inTurn(() => catalog.read(what, operation, options)),
    },
  )
  return { ...guarded, transaction: (_what, operation) => operation(session) }
}

function readingIn<C extends object>(collection: C, session: ClientSession): C {
  return new Proxy(collection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const place = READS[String(name)]
      if (place === undefined) return value.bind(target)
      return (...given: unknown[]) => {
        const passed = [...given]
        passed[place] = { ...(given[place] as object | undefined), session }
        return value.apply(target, passed)
      }
    },
  })
}
