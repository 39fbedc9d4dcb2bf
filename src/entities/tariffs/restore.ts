/** Takes back what a scheduled set has done to entities: as a whole, or from an instant on. */
import type { ClientSession } from '../../catalog/collections.ts'
import { inSession } from '../../catalog/in-session.ts'
import type { TariffChange, TariffSetDocument } from '../../catalog/records/tariff-set-document.ts'
import { writeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { FieldIssue } from '../../domain/field-errors.ts'
import { withAuditEntries } from '../actions/audit-entries.ts'
import { decisionOf, ruleContextOf } from '../actions/decision.ts'
import { lostValidity, lostValidityWarnings } from '../actions/lost-validity.ts'
import { DEFINITIONS } from '../definitions/collections.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import { revisionsOf } from '../revisions.ts'
import { Draft, fromOf, toOf } from '../timeline/draft.ts'
import { conflictsOf, orIssues, type TariffWork } from './writes.ts'

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
  const stores = { ...work.api.stores, catalog: inSession(work.api.stores.catalog, session) }
  for (const change of set.changes.toReversed()) {
    const definition = DEFINITIONS.get(change.collection) as CollectionDefinition
    issues.push(...(await conflictsOf(work.api, set, { ...change, definition })))
    await orIssues(issues, `writes.${change.write}`, () =>
      restore(work, { stores, definition, session }, change, fromMs),
    )
  }
  return issues
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
): Promise<void> {
  const nowMs = stores.clock.nowMs()
  const draft = new Draft(await revisionsOf(stores.catalog, definition, change.key))
  putBack(draft, change, fromMs, nowMs)
  const action = 'update'
  const context = ruleContextOf(stores, action, Math.max(fromMs, nowMs), actor)
  const losing = { action, rules: stores.rules[definition.name], context, isForced: false } as const
  await lostValidityWarnings(lostValidity(draft), losing)
  const written = { definition, actor, fields: await api.fields.of(definition) }
  const decision = await decisionOf(stores, written, draft, context, null)
  await writeDecision(stores, session, withAuditEntries(decision, written, action, null))
}

/** Revisions that begin before `fromMs` end there; the previous ones go on from there. */
export function putBack(
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
