/** Audit entries of writes of revisions. */
import type { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { ChangeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { RevisionWrite } from '../../catalog/revisions/store-revisions.ts'
import { DEFINITIONS } from '../definitions/collections.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import type { WriteRequest } from '../requests/entity-request.ts'

/**
 * Adds an audit entry for each revision that is written, except for the revision that `closeandnew`
 * ends: the entry of the new revision covers it. The entry of a new revision has the revision that
 * it was made from (`target`; null for a `create`) as its old document; changed neighbours are
 * recorded as `update`.
 */
export function withAuditEntries<T>(
  decision: ChangeDecision<T>,
  { definition, actor }: Pick<WriteRequest, 'definition' | 'actor'>,
  action: ActionName,
  target: RawDocument | null,
): ChangeDecision<T> {
  const before = new Map(
    (decision.before ?? []).map((one) => [idOf(one).toHexString(), one as RawDocument]),
  )
  const steps = decision.steps.flatMap(({ mode, document }: RevisionWrite) => {
    const isInsert = mode === 'insert'
    const isTarget = target?._id.equals(document._id) === true
    if (action === 'closeandnew' && isTarget) return []
    // The target of a reopen is an earlier revision: changes of its derived dates are recorded as
    // `update`.
    const isRecordedAsAction = isTarget && action !== 'reopen'
    const isAction = isInsert || isRecordedAsAction || action === 'permanentchange'
    const old = isInsert ? target : (before.get(document._id.toHexString()) ?? null)
    const { name, keyField } = definitionOf(document, definition)
    return {
      id: document._id,
      key: String(document[keyField]),
      old,
      collection: name,
      type: isAction && name === definition.name ? action : 'update',
    }
  })
  return { ...decision, audit: { actor, steps } }
}

/** A write may change another entity of the same store as well: an account with its subscriber. */
function definitionOf(
  document: RawDocument,
  written: CollectionDefinition,
): Pick<CollectionDefinition, 'name' | 'keyField'> {
  const isOf = ({ store, fixed }: CollectionDefinition) =>
    store === written.store &&
    Object.entries(fixed).every(([field, value]) => document[field] === value)
  return isOf(written) ? written : ([...DEFINITIONS.values()].find(isOf) ?? written)
}

function idOf(document: Readonly<Record<string, unknown>>): ObjectId {
  return document['_id'] as ObjectId
}
