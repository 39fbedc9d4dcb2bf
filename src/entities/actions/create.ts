/** The action `create`. */
import type { Actor } from '../../catalog/actor.ts'
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import { type ChangeDecision, changeEntities } from '../../catalog/revisions/entity-changes.ts'
import { nextNumber, takeNumbers } from '../../catalog/revisions/sequence.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { DISPLAY, EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { renewalEntry } from '../follow-ups.ts'
import type { EntityStores, WriteRequest, WriteResult } from '../requests/entity-request.ts'
import { afterCharge } from '../rules/autorenew.ts'
import type { RuleContext } from '../rules/rule.ts'
import { dateText } from '../timeline/dates.ts'
import { Draft, fromOf } from '../timeline/draft.ts'
import { withChanges } from '../timeline/set-fields.ts'
import { orNote } from '../trial.ts'
import { withEarlierAccountStart } from './account-start.ts'
import { withAuditEntries } from './audit-entries.ts'
import { completedChanges, customChanges, decisionOf, POSTPONED, ruleContextOf } from './commit.ts'
import { checkIndexedTexts } from './indexed-texts.ts'
import { confirmedUntilMs } from './minimum-date.ts'
import { checkDuplicate } from './uniqueness.ts'

/** A number from the sequence may already be in use because it was assigned by hand. */
const NUMBERS_TRIED_MAX = 8

export async function create(stores: EntityStores, request: WriteRequest): Promise<WriteResult> {
  const { definition, trial } = request
  const document = await newDocument(stores, request)
  const what = `create ${definition.name}`
  const decide = async () => {
    const numbered = await withAssignedNumber(stores, request, document)
    const draft = new Draft([])
    const added = draft.add(numbered)
    if (definition.name === 'subscribers') {
      const { catalog, config } = stores
      const untilMs = await confirmedUntilMs(catalog, [Number(added['aid'])], config)
      await orNote(trial, () => checkNotInvoiced(added, untilMs, config.rating.timeZone))
    }
    const context = ruleContextOf(stores, 'create', fromOf(added), request.actor)
    const decision = await decisionOf(stores, request, draft, context, added._id)
    const whole = await withRelatedWrites(stores, request, decision, added, context)
    trial?.throwIfAny()
    return withAuditEntries(whole, request, 'create', null)
  }
  const isTrial = trial !== undefined
  const { stored, result, isPostponed } = await changeEntities(stores, what, decide, isTrial)
  const entity = stored.get(result.toHexString()) ?? null
  // Existing clients expect `details: null` here.
  const isSilent = definition.name === 'subscribers' || definition.name === 'autorenew'
  const warnings = isPostponed ? { warnings: [POSTPONED] } : {}
  return { details: isSilent ? null : true, entity, ...warnings }
}

/**
 * A subscriber cannot begin in a time whose invoice is confirmed: it would never be charged.
 * `untilMs`: end of the confirmed invoices by account. Throws `EntityRuleError`.
 */
export function checkNotInvoiced(
  subscriber: RawDocument,
  untilMs: ReadonlyMap<unknown, number>,
  zone: string,
): void {
  const { aid } = subscriber
  const invoicedMs = untilMs.get(aid) ?? 0
  if (fromOf(subscriber) >= invoicedMs) return
  const date = dateText(invoicedMs, zone)
  const text = `create: from must not be before ${date}, until which account ${aid} is invoiced`
  throw fieldRule('from', text, DISPLAY.date)
}

/** Adds the writes and follow-up operations that belong to the new entity. */
function withRelatedWrites<T>(
  stores: EntityStores,
  { definition: { name }, actor }: WriteRequest,
  decision: ChangeDecision<T>,
  added: RawDocument,
  context: RuleContext,
): ChangeDecision<T> | Promise<ChangeDecision<T>> {
  if (name === 'autorenew') return withFirstCharge(decision, added, context, actor)
  if (name !== 'subscribers') return { ...decision, isNew: true }
  return withEarlierAccountStart(stores, decision, added)
}

/**
 * Stores the renewal in its state after the charge; the charge itself is a follow-up operation on
 * the ledger.
 */
function withFirstCharge<T>(
  decision: ChangeDecision<T>,
  renewal: RawDocument,
  context: RuleContext,
  actor: Actor,
): ChangeDecision<T> {
  if (renewal['immediate'] !== true) return { ...decision, isNew: true }
  const { nowMs } = context
  const followUp = renewalEntry(renewal, nowMs, actor)
  const steps = decision.steps.map((step) => ({
    ...step,
    document: { ...step.document, ...afterCharge(step.document, nowMs, context) },
  }))
  return { ...decision, steps, followUp, isNew: true }
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
    throw fieldRule('to', text, DISPLAY.date)
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
  { definition, trial }: WriteRequest,
  document: RawDocument,
): Promise<RawDocument> {
  const { keyField, name } = definition
  if (name !== 'accounts' && name !== 'subscribers') {
    await orNote(trial, () => checkDuplicate(catalog, definition, document))
    return document
  }
  for (let attempt = 1; ; attempt += 1) {
    const number = await (trial === undefined
      ? takeNumbers(catalog, 1)
      : nextNumber(catalog, attempt))
    const numbered = { ...document, [keyField]: number }
    try {
      await checkDuplicate(catalog, definition, numbered)
      return numbered
    } catch (error) {
      if (!(error instanceof EntityRuleError) || attempt === NUMBERS_TRIED_MAX) throw error
    }
  }
}
