/**
 * Writes of stored entities: `update`, `close`, `closeandnew`, `reopen`, `move`, `permanentchange`
 * and `delete`.
 */
import { randomUUID } from 'node:crypto'
import { plainActor } from '../../catalog/actor.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { type ChangeDecision, changeEntities } from '../../catalog/revisions/entity-changes.ts'
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, fieldRule } from '../../requests/errors.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import { balancesOf, type FollowUp } from '../follow-ups.ts'
import type { EntityStores, WriteRequest, WriteResult } from '../requests/entity-request.ts'
import type { RuleContext } from '../rules/rule.ts'
import { Draft, fromOf, toOf } from '../timeline/draft.ts'
import * as edits from '../timeline/edits.ts'
import { move } from '../timeline/move.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { withServiceEdges } from '../timeline/subscriber-dates.ts'
import { withAuditEntries } from './audit-entries.ts'
import { completedChanges, customChanges, decisionOf, POSTPONED, ruleContextOf } from './commit.ts'
import { lostValidity, lostValidityWarnings } from './lost-validity.ts'
import { minimumDateMs } from './minimum-date.ts'
import { planChangeWarnings } from './plan-change.ts'
import { revisionsOf } from './revisions.ts'
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
      throw fieldRule('from', 'reopen: from is missing', DISPLAY.refused)
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
  const { definition, fields, from, trial, ifMatch } = request
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
      trial?.throwIfAny()
      return withAuditEntries(decision, request, action, current)
    },
    trial !== undefined,
  )
  const { details, responseRevision, more } = result
  const warnings = [...(result.warnings ?? []), ...(isPostponed ? [POSTPONED] : [])]
  const entity =
    responseRevision === null
      ? null
      : (stored.get(responseRevision._id.toHexString()) ?? responseRevision)
  // Existing clients expect `details: null` here.
  const isSilent = definition.name === 'users'
  const extras = { ...(more && { more }), ...(warnings.length > 0 && { warnings }) }
  return { details: isSilent ? null : details, entity, ...extras }
}

async function decisionForEdit(work: ChangeWork, edited: Edited): Promise<ChangeDecision<Edited>> {
  const { stores, request, draft, context } = work
  const { definition, isForced = false } = request
  const { action } = context
  // A delete has checked for referrers itself, and `force` does not apply to it.
  const lost = action === 'delete' ? [] : lostValidity(draft)
  const rules = stores.rules[definition.name]
  const losing = { definition, action, rules, context, isForced }
  const isSubscriber = definition.name === 'subscribers'
  const warnings = [
    ...(await lostValidityWarnings(lost, losing)),
    ...(isSubscriber ? planChangeWarnings(draft, context.zone) : []),
  ]
  const result = warnings.length > 0 ? { ...edited, warnings } : edited
  const decision = await decisionOf(stores, request, draft, context, result)
  const followUp = accountTransfer(request.definition, draft, context) ?? earlyPayment(work)
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

function moveEdge({ request, draft, target, edit }: ChangeWork): Edited {
  const { from, to, definition } = request
  const edge = from === null ? 'to' : 'from'
  const at = from ?? to
  if (at === null) throw fieldRule('from', 'move: from or to is missing')
  const atMs = at.getTime()
  const wasMs = edge === 'from' ? fromOf(target) : toOf(target)
  const isSubscriber = definition.name === 'subscribers'
  const moved = move(draft, target, { edge, atMs, alwaysMovesNeighbour: isSubscriber }, edit)
  if (!moved.isMoved) return { details: false, responseRevision: target }
  if (!isSubscriber) return { details: true, responseRevision: moved.entity }
  const { entity, neighbour } = moved
  const responseRevision = draft.put(entity, withServiceEdges(entity, edge, wasMs, atMs))
  if (neighbour !== null) {
    const other = edge === 'from' ? 'to' : 'from'
    draft.put(neighbour, withServiceEdges(neighbour, other, wasMs, atMs))
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

/**
 * The transfer of the balances that belongs to the change; undefined if there is nothing to
 * transfer. Throws `EntityRuleError` if the account would change later than now: balances move
 * immediately and would then be in the wrong account.
 */
function accountTransfer(
  { name }: CollectionDefinition,
  draft: Draft,
  { nowMs }: RuleContext,
): FollowUp | undefined {
  if (name !== 'subscribers') return undefined
  const fromAid = accountHoldingBalances(draft.before(), nowMs)
  const toAid = accountHoldingBalances(draft.revisions(), nowMs)
  const later = draft.revisions().filter((revision) => toOf(revision) > nowMs)
  if (later.some(({ aid }) => aid !== toAid)) {
    throw fieldRule(
      'aid',
      'aid can only change with immediate effect, because the balances move with the subscriber',
    )
  }
  if (fromAid === null || toAid === null || fromAid === toAid) return undefined
  const sid = Number(draft.revisions()[0]?.['sid'])
  const payload = { sid, fromAid, toAid, operationId: randomUUID(), buckets: null }
  return { kind: 'transfer', payload, subject: balancesOf(sid) }
}

/** Installments become due when a subscriber is closed with immediate effect, if configured. */
function earlyPayment({
  stores,
  request,
  draft,
  context: { nowMs },
}: ChangeWork): FollowUp | undefined {
  const { preponeOnTermination } = stores.config.billing
  if (!preponeOnTermination || request.definition.name !== 'subscribers') return undefined
  const hadEnd = draft.before().every((revision) => toOf(revision) <= nowMs)
  const hasEnd = draft.revisions().every((revision) => toOf(revision) <= nowMs)
  const last = draft.revisions().at(-1)
  if (hadEnd || !hasEnd || last === undefined) return undefined
  const [sid, aid] = [Number(last['sid']), Number(last['aid'])]
  const payload = { actor: plainActor(request.actor), aid, sid }
  return { kind: 'prepone', payload, subject: `installments/${sid}` }
}

/**
 * The account that holds the balances: of the current or next revision, otherwise of the last one.
 */
function accountHoldingBalances(revisions: readonly Fields[], nowMs: number): number | null {
  const ordered = [...revisions].sort((a, b) => toOf(a) - toOf(b))
  const found = ordered.find((revision) => toOf(revision) > nowMs) ?? ordered.at(-1)
  return found === undefined ? null : Number(found['aid'])
}
