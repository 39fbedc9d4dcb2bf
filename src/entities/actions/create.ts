/** The action `create`. */
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { changeEntities } from '../../catalog/revisions/entity-changes.ts'
import { nextNumber, takeNumbers } from '../../catalog/revisions/sequence.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { DISPLAY, EntityRuleError } from '../../requests/errors.ts'
import { isNumbered } from '../definitions/definition.ts'
import { answersNull } from '../definitions/traits.ts'
import type { EntityStores, WriteRequest, WriteResult } from '../requests/entity-request.ts'
import { dateText } from '../timeline/dates.ts'
import { Draft, fromOf } from '../timeline/draft.ts'
import { withChanges } from '../timeline/set-fields.ts'
import { orNote } from '../trial.ts'
import { withAuditEntries } from './audit-entries.ts'
import { completedChanges, customChanges, decisionOf, POSTPONED, ruleContextOf } from './commit.ts'
import { checkIndexedTexts } from './indexed-texts.ts'
import { checkDuplicate } from './uniqueness.ts'

/** A number from the sequence may already be in use because it was assigned by hand. */
const NUMBERS_TRIED_MAX = 8

export async function create(stores: EntityStores, request: WriteRequest): Promise<WriteResult> {
  const { definition, issues } = request
  const document = await newDocument(stores, request)
  const what = `create ${definition.name}`
  const rules = stores.rules[definition.name]
  // A repeated decision keeps the number, otherwise each conflict would leave a gap.
  let taken: number | undefined
  const decide = async () => {
    const numbered = await withAssignedNumber(stores, request, document, taken)
    if (isNumbered(definition)) taken = Number(numbered[definition.keyField])
    const draft = new Draft([])
    const added = draft.add(numbered)
    const context = ruleContextOf(stores, 'create', fromOf(added), request.actor)
    const checkNew = await rules?.newEntityCheck?.([added], context)
    await orNote(issues, () => checkNew?.(added))
    const decision = await decisionOf(stores, request, draft, context, added._id)
    const related = await rules?.withRelated?.(decision, added, context)
    const whole = related ?? { ...decision, isNew: true }
    issues?.throwIfAny()
    return withAuditEntries(whole, request, 'create', null)
  }
  const { stored, result, isPostponed } = await changeEntities(
    stores,
    what,
    decide,
    issues?.isTrial,
  )
  const entity = stored.get(result.toHexString()) ?? null
  const warnings = isPostponed ? { warnings: [POSTPONED] } : {}
  return { details: answersNull(definition, 'create') ? null : true, entity, ...warnings }
}

/**
 * The complete document to store, except for a number that is assigned later. Throws
 * `EntityRuleError`.
 */
export async function newDocument(
  stores: EntityStores,
  request: WriteRequest,
): Promise<RawDocument> {
  const { definition, from, to } = request
  const zone = stores.config.rating.timeZone
  const begin = from ?? new Date(stores.clock.nowMs())
  const end = to ?? new Date(FOREVER_MS)
  if (end.getTime() <= begin.getTime()) {
    const text = `create: to must be after ${dateText(begin.getTime(), zone)}, where it begins`
    throw new EntityRuleError(text, { path: 'to' }, DISPLAY.date)
  }
  const { isMigrated = false } = request
  const rules = ruleContextOf(stores, 'create', begin.getTime(), request.actor)
  const context = { ...rules, isMigrated }
  const custom = customChanges(request, context, null)
  const changes = { ...request.changes, set: { ...custom, ...request.changes.set } }
  const prepared = await completedChanges(stores, request, changes, null, context)
  const period = { from: begin, to: end, creation_time: begin }
  const empty = { _id: new ObjectId(), rev: 0, ...definition.fixed, ...period }
  const document = withChanges(empty, prepared)
  // These fields are used in queries next, so they are checked first.
  checkIndexedTexts(definition, document)
  return document
}

async function withAssignedNumber(
  { catalog }: EntityStores,
  { definition, issues }: WriteRequest,
  document: RawDocument,
  taken: number | undefined,
): Promise<RawDocument> {
  const { keyField } = definition
  const nextOf = (attempt: number): number | Promise<number> => {
    if (attempt === 1 && taken !== undefined) return taken
    // A write that is not committed takes no number.
    const isTaken = issues === undefined || (!issues.isTrial && issues.isEmpty)
    return isTaken ? takeNumbers(catalog, 1) : nextNumber(catalog, attempt)
  }
  if (!isNumbered(definition)) {
    await orNote(issues, () => checkDuplicate(catalog, definition, document))
    return document
  }
  for (let attempt = 1; ; attempt += 1) {
    const numbered = { ...document, [keyField]: await nextOf(attempt) }
    try {
      await checkDuplicate(catalog, definition, numbered)
      return numbered
    } catch (error) {
      if (!(error instanceof EntityRuleError) || attempt === NUMBERS_TRIED_MAX) throw error
    }
  }
}
