/** Single accounts and subscribers of the customer system (docs/EXTERNAL.md). */
import type { Catalog } from '../catalog/connection.ts'
import { findSubscriber } from '../catalog/feed/subscribers.ts'
import type { Fields } from '../domain/fields.ts'
import { askDetails, type DetailsCall } from '../external/customers/details.ts'
import { CustomerSystemError } from '../external/customers/errors.ts'
import type { CustomerRevision } from '../external/customers/revisions.ts'

/** By number, without those that do not exist; null if MongoDB has them. */
export type FoundCustomers = ReadonlyMap<number, Fields> | null

/** Revisions at an instant. Its calls reject with `CustomerSystemError`. */
export interface CustomerLookup {
  accounts(aids: readonly number[], atMs: number): Promise<FoundCustomers>
  subscribers(sids: readonly number[], atMs: number): Promise<FoundCustomers>
}

/** Accounts and subscribers are stored in MongoDB. */
export const STORED_CUSTOMERS: CustomerLookup = {
  accounts: async () => null,
  subscribers: async () => null,
}

/** Where subscribers are: MongoDB, or the customer system. */
export interface CustomerSource {
  catalog: Catalog
  lookup: CustomerLookup
}

/**
 * Account and plan of a subscriber at an instant; null if there is no such subscriber then. Rejects
 * with `CatalogUnavailableError`, `CustomerSystemError`, or `FieldError` for an invalid document.
 */
export async function subscriberAt(
  { catalog, lookup }: CustomerSource,
  sid: number,
  atMs: number,
): Promise<{ readonly aid: number; readonly plan: string } | null> {
  const outside = await lookup.subscribers([sid], atMs)
  if (outside === null) {
    const found = await findSubscriber(catalog, { key: 'sid', value: String(sid), atMs })
    return found?.profile ?? null
  }
  const fields = outside.get(sid)
  return fields === undefined ? null : { aid: Number(fields['aid']), plan: String(fields['plan']) }
}

const QUERIES_MAX = 100

/** Asks for each number once. An invalid revision rejects. */
export async function askByNumber<Revision extends CustomerRevision>(
  call: DetailsCall<Revision>,
  key: 'aid' | 'sid',
  numbers: readonly number[],
  atMs: number,
): Promise<Map<number, Fields>> {
  const found = new Map<number, Fields>()
  const distinct = [...new Set(numbers)]
  for (let index = 0; index < distinct.length; index += QUERIES_MAX) {
    const some = distinct.slice(index, index + QUERIES_MAX)
    const questions = some.map((value) => ({ key, value, atMs, limit: 1 }))
    const answers = await askDetails(call, questions)
    for (const [position, answer] of answers.entries()) {
      if (answer instanceof Error) throw invalid(key, some[position] ?? 0, answer)
      const [revision] = answer
      if (revision !== undefined) found.set(some[position] ?? 0, revision.fields)
    }
  }
  return found
}

function invalid(key: 'aid' | 'sid', number: number, error: Error): CustomerSystemError {
  if (error instanceof CustomerSystemError) return error
  const holder = key === 'aid' ? 'account' : 'subscriber'
  return new CustomerSystemError('invalid answer', `${holder} ${number}: ${error.message}`)
}
