import type { Catalog } from './connection.ts'
import { type Patience, repeated } from './patience.ts'

/** The catalogue for work whose operations only read: each of them is repeated. */
export function repeatingReads(catalog: Catalog, patience: Patience): Catalog {
  return {
    ...catalog,
    run: (what, operation) => repeated(() => catalog.run(what, operation), patience),
    read: (what, operation, options) =>
      repeated(() => catalog.read(what, operation, options), patience),
  }
}
