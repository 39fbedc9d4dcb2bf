/**
 * Removes personal data from audit records; the hash chain remains valid (catalog/audit/chain.ts).
 */
import type { AuditDocument } from '../../catalog/audit/audit-document.ts'
import { type ChainedRecord, eraseFields } from '../../catalog/audit/chain.ts'
import type { WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { OnBatch } from './erase-records.ts'
import { withFreeTexts, withoutNames } from './personal.ts'
import type { ErasureScope } from './subject.ts'

const BATCH = 200
const ATTEMPTS_MAX = 20

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

/** Throws `CatalogUnavailableError`, or errors of `onBatch`. */
export async function eraseAudit(
  catalog: Catalog,
  erasure: AuditErasure,
  onBatch: OnBatch,
): Promise<void> {
  for (const filter of filtersOf(erasure.scope)) {
    const cursor = catalog.audit.find(filter, { batchSize: BATCH })
    for (let isMore = true; isMore; ) {
      let changed = 0
      for (let index = 0; index < BATCH && isMore; index += 1) {
        const record = await catalog.run('read the audit', () => cursor.next())
        isMore = record !== null
        if (record !== null && (await eraseIn(catalog, record, erasure))) changed += 1
      }
      await onBatch(changed)
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

/** Returns whether anything was removed. */
async function eraseIn(
  catalog: Catalog,
  found: WithId<AuditDocument>,
  erasure: AuditErasure,
): Promise<boolean> {
  const { _id } = found
  let record: WithId<AuditDocument> | null = found
  for (let attempt = 0; attempt < ATTEMPTS_MAX && record !== null; attempt += 1) {
    const erased = erasedRecord(record, erasure)
    if (erased === null) return false
    // An erasure of the account may change the same record concurrently.
    const same = { _id, 'chain.fields': record.chain?.fields ?? { $exists: false } }
    const { matchedCount } = await catalog.run('erase in the audit', () =>
      catalog.audit.replaceOne(same as object, erased),
    )
    if (matchedCount === 1) return true
    record = await catalog.run('read the audit', () => catalog.audit.findOne({ _id }))
  }
  return false
}

function erasedRecord(record: AuditDocument, erasure: AuditErasure): ChainedRecord | null {
  if (record.chain === undefined) return null
  const { collection } = record
  const isMoney = collection === 'lines' || collection === 'bills'
  const names = isMoney ? withFreeTexts(erasure.names) : erasure.names
  const isEntity = collection === 'accounts' || collection === 'subscribers'
  return eraseFields(record as ChainedRecord, erasure.id, (field, member, value) => {
    if (field === 'key') return collection === 'sessions'
    if (field !== 'old' && field !== 'new') return false
    if (isEntity && member !== undefined && erasure.fields.has(member)) return true
    const document = member === undefined ? value : { [member]: value }
    return !isEntity && withoutNames(document, names) !== document
  })
}
