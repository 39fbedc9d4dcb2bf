import { type Catalog, withGuards } from './connection.ts'
import { isUnanswered, repeated } from './patience.ts'

/** The catalogue for work whose operations only read: each of them is repeated. */
export function repeatingReads(
  catalog: Catalog,
  patience = catalog.patience,
  isOutage: (error: unknown) => boolean = isUnanswered,
): Catalog {
  const repeating = withGuards(catalog, {
    run: (what, operation) => repeated(() => catalog.run(what, operation), patience, isOutage),
    read: (what, operation, options) =>
      repeated(() => catalog.read(what, operation, options), patience, isOutage),
  })
  return { ...repeating, patience }
}
