/** Takes back what a scheduled set has done to entities: as a whole, or from an instant on. */
import type { ClientSession } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { inSession } from '../../catalog/in-session.ts'
import type { TariffChange, TariffSetDocument } from '../../catalog/records/tariff-set-document.ts'
import { writeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { FieldIssue } from '../../domain/field-errors.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { withAuditEntries } from '../actions/audit-entries.ts'
import { decisionOf, ruleContextOf } from '../actions/decision.ts'
import {
  lostValidity,
  lostValidityWarnings,
  type ValidityLossContext,
} from '../actions/lost-validity.ts'
import { DEFINITIONS } from '../definitions/collections.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import { revisionsOf } from '../revisions.ts'
import { Draft, fromOf, toOf } from '../timeline/draft.ts'
import { digestOfRevisions, orIssues, type TariffWork } from './writes.ts'

/**
 * The last change first, because later writes may need what earlier ones have created. `fromMs`:
 * from when on the previous terms apply again; 0 removes all that the set has written. Returns what
 * is wrong: then nothing may be committed.
 */
export async function restoreAll(
  work: TariffWork,
  set: TariffSetDocument,
  fromMs: number,
  session: ClientSession,
): Promise<FieldIssue[]> {
  const issues: FieldIssue[] = []
  const losses: Loss[] = []
  const stores = { ...work.api.stores, catalog: inSession(work.api.stores.catalog, session) }
  for (const change of set.changes.toReversed()) {
    const definition = DEFINITIONS.get(change.collection) as CollectionDefinition
    await orIssues(issues, `writes.${change.write}`, async () => {
      losses.push(await restore(work, { stores, definition, session }, change, fromMs))
    })
  }
  if (issues.length > 0) return issues
  // Only now: an earlier write may be of the entity that uses what a later one has created.
  for (const { change, lost, context } of losses) {
    await orIssues(issues, `writes.${change.write}`, async () => {
      await lostValidityWarnings(lost, context)
    })
  }
  return issues
}

/** The validity that an entity has lost, to be checked when all are restored. */
interface Loss {
  change: TariffChange
  lost: RawDocument[]
  context: ValidityLossContext
}

interface Restoring {
  stores: EntityStores
  definition: CollectionDefinition
  session: ClientSession
}

async function restore(
  { api, actor }: TariffWork,
  { stores, definition, session }: Restoring,
  change: TariffChange,
  fromMs: number,
): Promise<Loss> {
  const nowMs = stores.clock.nowMs()
  const found = await revisionsOf(stores.catalog, definition, change.key)
  if (digestOfRevisions(found) !== change.digest) {
    const what = `${definition.name} ${change.key}`
    throw new EntityRuleError(`${what} has been changed by others since schedule`, 'conflict')
  }
  const draft = new Draft(found)
  putBack(draft, change, fromMs, nowMs)
  const action = 'update'
  const context = ruleContextOf(stores, action, Math.max(fromMs, nowMs), actor)
  const lost = lostValidity(draft)
  const written = { definition, actor, fields: await api.fields.of(definition) }
  const decision = await decisionOf(stores, written, draft, context, null)
  await writeDecision(stores, session, withAuditEntries(decision, written, action, null))
  const rules = stores.rules[definition.name]
  return { change, lost, context: { action, rules, context, isForced: false } }
}

/** Revisions that begin before `fromMs` end there; the previous ones go on from there. */
function putBack(
  draft: Draft,
  { before, added }: Pick<TariffChange, 'before' | 'added'>,
  fromMs: number,
  nowMs: number,
): void {
  const from = new Date(fromMs)
  const present = draft.revisions()
  const byId = ({ _id }: Pick<TariffChange['before'][number], '_id'>) =>
    present.find((one) => one._id.equals(_id))
  for (const _id of added) {
    const one = byId({ _id })
    if (one === undefined) continue
    if (fromOf(one) >= fromMs) draft.remove(one, nowMs)
    else if (toOf(one) > fromMs) draft.change(one, { to: from })
  }
  for (const previous of before) {
    const one = byId(previous)
    if (one === undefined) continue
    if (fromOf(one) >= fromMs) draft.put(one, previous)
    else {
      if (toOf(one) > fromMs) draft.change(one, { to: from })
      if (toOf(previous) > fromMs) draft.add({ ...previous, from })
    }
  }
}
