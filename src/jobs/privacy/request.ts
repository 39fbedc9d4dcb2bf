/** Requests for an erasure: precondition checks, audit entry and job. */
import { moneyFormat } from '../../billing/currency.ts'
import { appendDocuments, unwrittenRecords } from '../../catalog/audit/append.ts'
import { auditDocument } from '../../catalog/audit/audit.ts'
import type { AuditDocument } from '../../catalog/records/audit-document.ts'
import type { JobDocument } from '../../catalog/records/job-document.ts'
import { debtOf } from '../../domain/bucket.ts'
import { decimalText } from '../../domain/money.ts'
import type { ErasureRequest } from '../../entities/erasure.ts'
import type { EntityStores } from '../../entities/requests/entity-request.ts'
import { toOf } from '../../entities/timeline/draft.ts'
import { dateText } from '../../entities/views.ts'
import { openSessionsOf } from '../../ledger/open-sessions.ts'
import { DISPLAY, EntityRuleError, TargetError } from '../../requests/errors.ts'
import { addJob } from '../jobs.ts'
import { type ErasureScope, erasureScopeOf, subjectText } from './subject.ts'

export type ErasureStores = Pick<EntityStores, 'catalog' | 'ledger' | 'clock' | 'config'>

/**
 * Begins the erasure, or returns the one in progress. Throws `TargetError` if the entity does not
 * exist, `EntityRuleError` with the reason for a refusal, or errors of the stores.
 */
export async function requestErasure(
  stores: ErasureStores,
  { subject, force, actor }: ErasureRequest,
): Promise<JobDocument> {
  const { catalog, clock } = stores
  const scope = await erasureScopeOf(catalog, subject)
  if (scope.entities.length === 0) throw new TargetError(`there is no ${subjectText(subject)}`)
  if (!force) await refuseIfNeeded(stores, scope)
  const options = { ...subject, force }
  const name = `${subject.collection}/${subject.key}`
  const job = { kind: 'erase', subject: name, options, actor } as const
  return catalog.transaction('begin an erasure', async (session) => {
    const begun = await addJob({ catalog, clock }, session, job)
    appendDocuments(session, await unwrittenRecords(catalog, [recordOf(begun)]))
    return begun
  })
}

/** The audit record of the request. */
function recordOf({ _id, options, actor, created }: JobDocument): AuditDocument {
  const operationId = _id.toHexString()
  const { collection, key, force } = options
  const entry = {
    collection: String(collection),
    type: 'erase',
    key: String(key),
    operationId,
    new: { force: force === true, job: operationId },
  }
  return auditDocument(actor, created.getTime(), entry, `erase/${operationId}`)
}

async function refuseIfNeeded(
  { catalog: _, ledger, clock, config }: ErasureStores,
  { entities, owners }: ErasureScope,
): Promise<void> {
  const nowMs = clock.nowMs()
  const money = moneyFormat(config.rating.currencyCode)
  for (const { revisions, ...entity } of entities) {
    const ends = revisions.filter((one) => one['deleted'] !== true).map(toOf)
    const endMs = Math.max(0, ...ends)
    if (endMs <= nowMs) continue
    const until = dateText(endMs, config.rating.timeZone)
    throw refusal(`${subjectText(entity)} is in force until ${until}: close it first`)
  }
  for (const owner of owners) {
    const who = owner.sid === 0 ? `account ${owner.aid}` : `subscriber ${owner.sid}`
    if (owner.sid !== 0) {
      for await (const { session } of openSessionsOf(ledger, owner)) {
        throw refusal(`${who} has open sessions (${session.origin}): end them first`)
      }
    }
    const [loaded] = await ledger.load([{ ...owner, sessionKeys: [] }])
    if (loaded instanceof Error) throw loaded
    const debt = loaded === undefined ? 0 : debtOf(loaded.state)
    if (debt > 0) throw refusal(`${who} owes ${money(decimalText(debt))}: settle it first`)
  }
}

function refusal(reason: string): EntityRuleError {
  return new EntityRuleError(`erase: ${reason}, or use force`, 'refused', DISPLAY.refused)
}
