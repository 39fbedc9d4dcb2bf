/**
 * Writes of stored entities: `update`, `close`, `closeandnew`, `reopen`, `move`, `permanentchange`
 * and `delete`.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { type ChangeDecision, changeEntities } from '../../catalog/revisions/entity-changes.ts'
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, EntityRuleError } from '../../requests/errors.ts'
import type { ActionName } from '../definitions/definition.ts'
import { answersNull } from '../definitions/traits.ts'
import type { EntityStores, WriteRequest, WriteResult } from '../requests/entity-request.ts'
import { revisionsOf } from '../revisions.ts'
import { minimumDateMs } from '../rules/minimum-date.ts'
import type { RuleContext } from '../rules/rule.ts'
import { Draft, fromOf, toOf } from '../timeline/draft.ts'
import * as edits from '../timeline/edits.ts'
import { move } from '../timeline/move.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { withAuditEntries } from './audit-entries.ts'
import { completedChanges, customChanges, decisionOf, POSTPONED, ruleContextOf } from './commit.ts'
import { lostValidity, lostValidityWarnings } from './lost-validity.ts'
import { findTarget } from './target.ts'

/** State of one change while it is prepared. */
interface ChangeWork {
  stores: EntityStores
  request: WriteRequest
  draft: Draft
  target: RawDocument
  context: RuleContext
  edit: edits.EditContext
}

interface Edited {
  details: boolean
  /** Revision that the response contains; null if it has no entity. */
  responseRevision: RawDocument | null
  more?: Fields
  warnings?: readonly string[]
}

type Change = (work: ChangeWork) => Promise<Edited> | Edited

const CHANGES: Readonly<Partial<Record<ActionName, Change>>> = {
  update: async (work) => {
    const changes = await preparedChanges(work)
    return {
      details: true,
      responseRevision: edits.update(work.draft, work.target, changes, work.edit),
    }
  },
  close: ({ draft, target, request, edit }) => {
    const toMs = request.to?.getTime() ?? edit.nowMs
    return { details: true, responseRevision: edits.close(draft, target, toMs, edit) }
  },
  closeandnew: async (work) => {
    const changes = withEnd(await preparedChanges(work), work.request)
    const fromMs = work.context.fromMs
    const next = { fromMs, changes }
    return {
      details: true,
      responseRevision: edits.closeAndNew(work.draft, work.target, next, work.edit),
    }
  },
  reopen: async (work) => {
    if (work.request.from === null) {
      throw new EntityRuleError(
        'reopen: from is missing',
        { path: 'from', code: 'missing' },
        DISPLAY.refused,
      )
    }
    const next = { fromMs: work.request.from.getTime(), changes: await preparedChanges(work) }
    return {
      details: true,
      responseRevision: edits.reopen(work.draft, work.target, next, work.edit),
    }
  },
  permanentchange: async (work) => {
    const next = { fromMs: work.context.fromMs, changes: await preparedChanges(work) }
    const changed = edits.permanentChange(work.draft, work.target, next, work.edit)
    const { entity, totalUpdated, totalCreated } = changed
    return { details: true, responseRevision: entity, more: { totalUpdated, totalCreated } }
  },
  move: moveEdge,
  delete: deleteRevision,
}

/** Executes any write except `create`. */
export async function change(
  stores: EntityStores,
  action: ActionName,
  request: WriteRequest,
): Promise<WriteResult> {
  const { definition, fields, from, issues, ifMatch } = request
  const { catalog, config, clock } = stores
  const zone = config.rating.timeZone
  const isById = definition.actions[action]?.target === 'id'
  const addressed = { definition, isById, ifMatch, fields, zone }
  const target = await findTarget(catalog, request.target, addressed)
  const { stored, result, isPostponed } = await changeEntities(
    stores,
    `${action} ${definition.name}`,
    async (session) => {
      await request.claim?.(session)
      const revisions = await revisionsOf(catalog, definition, target.key)
      const draft = new Draft(revisions)
      const nowMs = clock.nowMs()
      const current = target.in(revisions)
      const changed = { action, revisions, target: current, set: request.changes.set }
      const minimumMs = await minimumDateMs(catalog, definition, changed, config)
      const context = ruleContextOf(
        stores,
        action,
        effectiveFromMs(action, current, from, nowMs),
        request.actor,
      )
      const edit = { nowMs, minimumMs, zone }
      const work = { stores, request, draft, target: current, context, edit }
      const edited = await (CHANGES[action] as Change)(work)
      const decision = await decisionForEdit(work, edited)
      issues?.throwIfAny()
      return withAuditEntries(decision, request, action, current)
    },
    issues?.isTrial,
  )
  const { details, responseRevision, more } = result
  const warnings = [...(result.warnings ?? []), ...(isPostponed ? [POSTPONED] : [])]
  const entity =
    responseRevision === null
      ? null
      : (stored.get(responseRevision._id.toHexString()) ?? responseRevision)
  const extras = { ...(more && { more }), ...(warnings.length > 0 && { warnings }) }
  return { details: answersNull(definition, action) ? null : details, entity, ...extras }
}

async function decisionForEdit(work: ChangeWork, edited: Edited): Promise<ChangeDecision<Edited>> {
  const { stores, request, draft, context } = work
  const { definition, isForced = false } = request
  const { action } = context
  // A delete has checked for referrers itself, and `force` does not apply to it.
  const lost = action === 'delete' ? [] : lostValidity(draft)
  const rules = stores.rules[definition.name]
  const losing = { action, rules, context, isForced }
  const warnings = [
    ...(await lostValidityWarnings(lost, losing)),
    ...(rules?.changeWarnings?.(draft, context.zone) ?? []),
  ]
  const result = warnings.length > 0 ? { ...edited, warnings } : edited
  const decision = await decisionOf(stores, request, draft, context, result)
  const followUp = rules?.followUp?.(draft, context)
  return followUp === undefined ? decision : { ...decision, followUp }
}

/** Instant from which a change is in effect. */
function effectiveFromMs(
  action: ActionName,
  target: RawDocument,
  from: Date | null,
  nowMs: number,
): number {
  if (from !== null) return from.getTime()
  if (action !== 'update') return nowMs
  const isHeld = fromOf(target) <= nowMs && nowMs < toOf(target)
  return isHeld ? nowMs : fromOf(target)
}

/** The requested changes after the rules of the collection; the key field cannot change. */
function preparedChanges({ stores, request, target, context }: ChangeWork): Promise<FieldChanges> {
  const { definition, changes } = request
  const custom = customChanges(request, context, target)
  const { [definition.keyField]: _, ...set } = { ...custom, ...changes.set }
  const kept = { ...changes, set: { ...set, ...definition.fixed } }
  return completedChanges(stores, request, kept, target, context)
}

function withEnd(changes: FieldChanges, { to }: WriteRequest): FieldChanges {
  return to === null ? changes : { ...changes, set: { ...changes.set, to } }
}

function moveEdge({ stores, request, draft, target, edit }: ChangeWork): Edited {
  const { from, to, definition } = request
  const edge = from === null ? 'to' : 'from'
  const at = from ?? to
  if (at === null)
    throw new EntityRuleError('move: from or to is missing', { path: 'from', code: 'missing' })
  const atMs = at.getTime()
  const wasMs = edge === 'from' ? fromOf(target) : toOf(target)
  const withMovedEdge = stores.rules[definition.name]?.withMovedEdge
  const alwaysMovesNeighbour = withMovedEdge !== undefined
  const moved = move(draft, target, { edge, atMs, alwaysMovesNeighbour }, edit)
  if (!moved.isMoved) return { details: false, responseRevision: target }
  if (withMovedEdge === undefined) return { details: true, responseRevision: moved.entity }
  const { entity, neighbour } = moved
  const responseRevision = draft.put(entity, withMovedEdge(entity, edge, wasMs, atMs))
  if (neighbour !== null) {
    const other = edge === 'from' ? 'to' : 'from'
    draft.put(neighbour, withMovedEdge(neighbour, other, wasMs, atMs))
  }
  return { details: true, responseRevision }
}

async function deleteRevision({
  stores,
  request,
  draft,
  target,
  context,
  edit,
}: ChangeWork): Promise<Edited> {
  const extended = edits.remove(draft, target, edit)
  if (extended === null) {
    await stores.rules[request.definition.name]?.checkUnused?.(target, context)
  }
  return { details: true, responseRevision: extended }
}
