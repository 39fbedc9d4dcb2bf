/**
 * Removes personal data from audit records; the hash chain remains valid
 * (catalog/transactions/audit-chain.ts).
 */
import type { ClientSession, ObjectId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { AuditDocument } from '../../catalog/records/audit-document.ts'
import { type ChainedRecord, eraseFields } from '../../catalog/transactions/audit-chain.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import { hasTrait } from '../../entities/definitions/traits.ts'
import { type CommitBatch, nextOf } from './erase-records.ts'
import { withFreeTexts, withoutNames } from './personal.ts'
import type { ErasureScope } from './subject.ts'

const BATCH = 200

/** Records of these collections are found by the owner in their documents. */
const BY_DOCUMENT = ['sessions', 'lines', 'bills', 'autorenew', 'cards'] as const

export interface AuditErasure {
  /** Id of the erasure, which has its own record. */
  id: string
  scope: ErasureScope
  /** First segments of the paths of personal fields. */
  fields: ReadonlySet<string>
  /** Names erased in all other records. */
  names: ReadonlySet<string>
}

/** Throws `CatalogUnavailableError`, or errors of `commit`. */
export async function eraseAudit(
  catalog: Catalog,
  erasure: AuditErasure,
  commit: CommitBatch,
): Promise<void> {
  for (const filter of filtersOf(erasure.scope)) {
    const cursor = catalog.unguarded.audit.find(filter, {
      projection: { _id: 1 },
      batchSize: BATCH,
    })
    for (;;) {
      const batch = await catalog.run('read the audit', () => nextOf(cursor, BATCH))
      const ids = batch.map(({ _id }) => _id)
      await commit((session) => eraseBatch(catalog, session, ids, erasure))
      if (batch.length < BATCH) break
    }
  }
}

function filtersOf({ entities, owners }: ErasureScope): Record<string, unknown>[] {
  const aids = [...new Set(owners.filter(({ sid }) => sid === 0).map(({ aid }) => aid))]
  const sids = [...new Set(owners.map(({ sid }) => sid))].filter((sid) => sid !== 0)
  const named = [
    { 'old.sid': { $in: sids } },
    { 'new.sid': { $in: sids } },
    ...(aids.length > 0 ? [{ 'old.aid': { $in: aids } }, { 'new.aid': { $in: aids } }] : []),
  ]
  return [
    ...entities.map(({ collection, key }) => ({ key: String(key), collection })),
    ...owners.map(({ aid, sid }) => ({ key: `${aid}_${sid}`, collection: 'balances' })),
    ...BY_DOCUMENT.map((collection) => ({ collection, $or: named })),
  ]
}

/** Returns the number of records from which something was removed. */
async function eraseBatch(
  catalog: Catalog,
  session: ClientSession,
  ids: readonly ObjectId[],
  erasure: AuditErasure,
): Promise<number> {
  const found = await catalog.audit.find({ _id: { $in: [...ids] } }, { session }).toArray()
  const operations = found.flatMap((record) => {
    const erased = erasedRecord(record, erasure)
    if (erased === null) return []
    return [{ replaceOne: { filter: { _id: record._id }, replacement: erased as AuditDocument } }]
  })
  if (operations.length === 0) return 0
  await catalog.audit.bulkWrite(operations, { session })
  return operations.length
}

function erasedRecord(record: AuditDocument, erasure: AuditErasure): ChainedRecord | null {
  if (record.chain === undefined) return null
  const { collection } = record
  const hasFreeTexts = hasTrait({ name: collection }, 'hasFreeTexts')
  const names = hasFreeTexts ? withFreeTexts(erasure.names) : erasure.names
  const isEntity = DEFINITIONS.get(collection)?.actions.erase !== undefined
  return eraseFields(record as ChainedRecord, erasure.id, (field, member, value) => {
    if (field === 'key') return collection === 'sessions'
    if (field !== 'old' && field !== 'new') return false
    if (isEntity && member !== undefined && erasure.fields.has(member)) return true
    const document = member === undefined ? value : { [member]: value }
    return !isEntity && withoutNames(document, names) !== document
  })
}
