/** Steps that all writes share, from the draft to the decision that is stored. */
import type { Actor } from '../../catalog/actor.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { EntityCollection } from '../../catalog/entities/entity-table.ts'
import { checkedEntity } from '../../catalog/revisions/check.ts'
import type { ChangeDecision } from '../../catalog/revisions/entity-changes.ts'
import type { Fields } from '../../domain/fields.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import { checkCustomFields } from '../fields/check.ts'
import type { EntityStores, WriteRequest } from '../requests/entity-request.ts'
import type { RuleContext } from '../rules/rule.ts'
import type { Draft } from '../timeline/draft.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { checkAll, orNote } from '../trial.ts'
import { checkIndexedTexts } from './indexed-texts.ts'
import { checkUniqueFields } from './uniqueness.ts'

/** Warning of a change that is stored while a store is unavailable for what follows. */
export const POSTPONED =
  'Redis or MongoDB is unavailable: the change is stored, and applies to charging within a ' +
  'second of its return'

export function ruleContextOf(
  stores: EntityStores,
  action: ActionName,
  fromMs: number,
  actor: Actor,
): RuleContext {
  const { catalog, ledger, lookup, clock, config } = stores
  const { timeZone: zone, cycleDay } = config.rating
  const sources = { catalog, ledger, lookup }
  return { ...sources, action, nowMs: clock.nowMs(), zone, cycleDay, fromMs, actor }
}

/** The configured fields of the request, checked; undefined removes a field. */
export function customChanges(
  { definition, fields, raw, issues }: WriteRequest,
  { action, zone, nowMs }: RuleContext,
  current: RawDocument | null,
): Fields {
  const check = { definition, action, timeZone: zone, nowMs, issues, ...(current && { current }) }
  const values = checkCustomFields(fields, raw, check)
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === null ? undefined : value]),
  )
}

/**
 * The changes as the rules of the collection complete them. With `issues`, fields that the rules
 * refuse are noted and left out. Throws `EntityRuleError`.
 */
export async function completedChanges(
  { rules }: Pick<EntityStores, 'rules'>,
  { definition, issues }: Pick<WriteRequest, 'definition' | 'issues'>,
  changes: FieldChanges,
  target: RawDocument | null,
  context: RuleContext,
): Promise<FieldChanges> {
  const prepare = rules[definition.name]?.prepare
  if (prepare === undefined) return changes
  const isRefused = issues?.isEmpty === false
  try {
    return await prepare(changes, target, { ...context, isRefused })
  } catch (error) {
    if (issues?.note(error) !== true) throw error
    issues.leaveOutRefused()
    const set = Object.entries(changes.set).filter(([name]) => !issues.isRefused(name))
    const rest = { ...changes, set: Object.fromEntries(set) }
    let completed = rest
    await orNote(issues, async () => {
      completed = await prepare(rest, target, { ...context, isRefused: true })
    })
    return completed
  }
}

/**
 * Updates the derived dates of all revisions, validates each revision that changes, and returns the
 * writes to store. Throws `EntityRuleError` or `FieldError`.
 */
export async function decisionOf<T>(
  stores: EntityStores,
  { definition, fields }: Pick<WriteRequest, 'definition' | 'fields'>,
  draft: Draft,
  context: RuleContext,
  result: T,
): Promise<ChangeDecision<T>> {
  const rules = stores.rules[definition.name]
  rules?.derive?.(draft)
  rules?.seal?.(draft)
  await checkDraft(stores, definition, fields, draft, context)
  return {
    collection: definition.store as EntityCollection,
    steps: draft.steps(context.zone),
    before: draft.before(),
    result,
  }
}

async function checkDraft(
  stores: EntityStores,
  definition: CollectionDefinition,
  fields: WriteRequest['fields'],
  draft: Draft,
  context: RuleContext,
): Promise<void> {
  const { catalog, rules, config } = stores
  // Check for overlaps first: further errors of overlapping revisions are misleading.
  draft.steps(context.zone)
  for (const { document, stored } of draft.changed()) {
    await checkAll([
      () => checkIndexedTexts(definition, document),
      () => rules[definition.name]?.check?.(document, stored, context),
      () => checkUniqueFields(catalog, definition, fields, document, draft.before()),
      () => checkDocument(stores, definition, document, stored, config.rating.timeZone),
    ])
  }
}

async function checkDocument(
  { catalog }: EntityStores,
  { store }: CollectionDefinition,
  document: RawDocument,
  stored: RawDocument | null,
  timeZone: string,
): Promise<void> {
  const mode = stored === null ? 'insert' : 'replace'
  await checkedEntity(catalog, store as EntityCollection, document, { mode, timeZone })
}
