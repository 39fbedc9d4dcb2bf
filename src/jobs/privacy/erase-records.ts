/** Removes personal data from lines, bills, invoice documents, events and texts naming people. */
import type {
  ClientSession,
  Collection,
  UnguardedCollection,
  WithId,
} from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { ERASED } from '../../catalog/transactions/audit-chain.ts'
import type { Clock } from '../../runtime/clock.ts'
import { withoutNames } from './personal.ts'

type Fields = Record<string, unknown>

const BATCH = 500
/** Reports of failed rows; each has the failures of one batch of an import. */
const IMPORTS_BATCH = 20
/** Rejected usage records, each with a text of up to 64 KiB. */
const REJECTED_BATCH = 100
/** Shorter texts occur in others by chance. */
const TEXT_LENGTH_MIN = 4

/**
 * Commits a batch with the progress of the erasure in one transaction. `write` returns the number
 * of changed documents, and may be called again.
 */
export type CommitBatch = (write: (session: ClientSession) => Promise<number>) => Promise<void>

/**
 * Erases members of these names in all documents that match the filter. Charging rewrites lines of
 * the sessions that it still stores. Throws `CatalogUnavailableError`, or errors of `commit`.
 */
export async function eraseRecords(
  catalog: Catalog,
  name: 'lines' | 'bills' | 'billrun' | 'gatewaycharges' | 'events',
  filter: Fields,
  names: ReadonlySet<string>,
  commit: CommitBatch,
): Promise<void> {
  const documents = catalog[name] as unknown as Collection<Fields>
  const unguarded = catalog.unguarded[name] as unknown as UnguardedCollection<Fields>
  const cursor = unguarded.find(filter, { projection: { _id: 1 }, batchSize: BATCH })
  for (;;) {
    const batch = await catalog.run(`read ${name}`, () => nextOf(cursor, BATCH))
    const ids = batch.map(({ _id }) => _id)
    await commit(async (session) => {
      const found = await documents.find({ _id: { $in: ids } }, { session }).toArray()
      const operations = found.flatMap((document) => {
        const update = changesOf(document, names)
        return update === null ? [] : [{ updateOne: { filter: { _id: document._id }, update } }]
      })
      if (operations.length === 0) return 0
      await documents.bulkWrite(operations, { session })
      return operations.length
    })
    if (batch.length < BATCH) return
  }
}

/** The next documents of a cursor, at most `count`. */
export async function nextOf<T>(
  cursor: { next(): Promise<T | null> },
  count: number,
): Promise<T[]> {
  const batch: T[] = []
  while (batch.length < count) {
    const document = await cursor.next()
    if (document === null) break
    batch.push(document)
  }
  return batch
}

/** Field by field, because the recorder may write the other fields concurrently. */
function changesOf(document: WithId<Fields>, names: ReadonlySet<string>): Fields | null {
  const erased = withoutNames(document, names) as Fields
  if (erased === document) return null
  const $set: Fields = {}
  const $unset: Fields = {}
  for (const [name, value] of Object.entries(document)) {
    if (!Object.hasOwn(erased, name)) $unset[name] = ''
    else if (erased[name] !== value) $set[name] = erased[name]
  }
  return {
    ...(Object.keys($set).length > 0 && { $set }),
    ...(Object.keys($unset).length > 0 && { $unset }),
  }
}

/** Replaces the reasons of the account's postings; the rest of a posting never changes. */
export async function eraseReasons(
  catalog: Catalog,
  aid: number,
  commit: CommitBatch,
): Promise<void> {
  const filter = { aid, reason: { $exists: true, $ne: ERASED } }
  for (;;) {
    let count = 0
    await commit(async (session) => {
      const found = await catalog.journal
        .find(filter, { projection: { _id: 1 }, session })
        .limit(BATCH)
        .toArray()
      count = found.length
      if (count === 0) return 0
      const ids = { _id: { $in: found.map(({ _id }) => _id) } }
      await catalog.journal.updateMany(ids, { $set: { reason: ERASED } }, { session })
      return count
    })
    if (count < BATCH) return
  }
}

/** Reports of failed rows quote the invalid values. */
export async function eraseInImports(
  catalog: Catalog,
  texts: readonly string[],
  commit: CommitBatch,
): Promise<void> {
  const personal = searchable(texts)
  if (personal.length === 0) return
  const filter = { kind: 'failures' } as const
  const cursor = catalog.unguarded.imports.find(filter, { projection: { _id: 1 } })
  for (;;) {
    const batch = await catalog.run('read failed rows', () => nextOf(cursor, IMPORTS_BATCH))
    const ids = batch.map(({ _id }) => _id)
    await commit((session) => eraseFailures(catalog, session, ids, personal))
    if (batch.length < IMPORTS_BATCH) return
  }
}

async function eraseFailures(
  catalog: Catalog,
  session: ClientSession,
  ids: readonly string[],
  personal: readonly string[],
): Promise<number> {
  const found = await catalog.imports.find({ _id: { $in: [...ids] } }, { session }).toArray()
  let changed = 0
  for (const document of found) {
    if (document.kind !== 'failures') continue
    const before = document.failures
    const failures = before.map((one) => ({ ...one, text: textWithout(one.text, personal) }))
    const erased = failures.filter(({ text }, index) => text !== before[index]?.text)
    if (erased.length === 0) continue
    changed += erased.length
    await catalog.imports.updateOne({ _id: document._id }, { $set: { failures } }, { session })
  }
  return changed
}

function searchable(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter(({ length }) => length >= TEXT_LENGTH_MIN)
}

function textWithout(text: string, personal: readonly string[]): string {
  return personal.reduce((left, one) => left.replaceAll(one, ERASED), text)
}

/**
 * Erases rejected usage records that have one of the subscriber's identifiers; nothing is left to
 * charge, so those that wait are dropped.
 */
export async function eraseRejected(
  { catalog, clock }: { catalog: Catalog; clock: Clock },
  identifiers: readonly string[],
  commit: CommitBatch,
): Promise<void> {
  const personal = searchable(identifiers)
  if (personal.length === 0) return
  const filter = { text: { $ne: ERASED } }
  const cursor = catalog.unguarded.intakerejected.find(filter, { projection: { _id: 1 } })
  for (;;) {
    const batch = await catalog.run('read rejected', () => nextOf(cursor, REJECTED_BATCH))
    const ids = batch.map(({ _id }) => _id)
    await commit(async (session) => {
      const found = await catalog.intakerejected.find({ _id: { $in: ids } }, { session }).toArray()
      const updated = new Date(clock.nowMs())
      const operations = found
        .filter(({ text }) => isNamed(text, personal))
        .map((document) => {
          const { _id, reason } = document
          const state = document.state === 'waiting' ? 'dropped' : document.state
          const erased = { text: ERASED, reason: textWithout(reason, personal), state, updated }
          return { updateOne: { filter: { _id }, update: { $set: erased } } }
        })
      if (operations.length > 0) await catalog.intakerejected.bulkWrite(operations, { session })
      return operations.length
    })
    if (batch.length < REJECTED_BATCH) return
  }
}

/** Shorter ones occur in other numbers by chance; columns of a fixed width have no separator. */
const SHORT = /^[\p{L}\p{N}]{1,9}$/u

/** Short identifiers count only as a whole word. */
function isNamed(text: string, identifiers: readonly string[]): boolean {
  const words = new Set(text.split(/[^\p{L}\p{N}]+/u))
  return identifiers.some((one) => (SHORT.test(one) ? words.has(one) : text.includes(one)))
}
