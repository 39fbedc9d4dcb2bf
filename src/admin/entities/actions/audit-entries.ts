/** What is recorded of a write of revisions (spec/entity-api.md 6). */

import type { ObjectId } from '../../../catalog/collections.ts'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { ChangeDecision } from '../../../catalog/revisions/entity-changes.ts'
import type { RevisionWrite } from '../../../catalog/revisions/store-steps.ts'
import type { ActionName } from '../definitions/definition.ts'
import type { WriteRequest } from '../requests/entity-request.ts'

/**
 * With a record for each revision that is written; but what a `closeandnew` cuts off is told by the
 * record of the new revision. A new one is told with the revision that it was made from (`target`;
 * null: of a `create`), and neighbours as an `update` of theirs.
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
    // Of a reopened entity the revision before says when it had ended.
    const isTold = isTarget && action !== 'reopen'
    const isAction = isInsert || isTold || action === 'permanentchange'
    const old = isInsert ? target : (before.get(document._id.toHexString()) ?? null)
    // A subscriber may begin its account (account-begin.ts).
    const isItsAccount = definition.name === 'subscribers' && document['type'] === 'account'
    const key = document[isItsAccount ? 'aid' : definition.keyField]
    return {
      id: document._id,
      key: String(key),
      old,
      collection: isItsAccount ? 'accounts' : definition.name,
      type: isAction && !isItsAccount ? action : 'update',
    }
  })
  return { ...decision, audit: { actor, steps } }
}

function idOf(document: Readonly<Record<string, unknown>>): ObjectId {
  return document['_id'] as ObjectId
}
