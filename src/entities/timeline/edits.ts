/**
 * The edits of the actions on the revisions of an entity. Each edits a draft and returns the
 * revision for the response, or throws `EntityRuleError`. Pure.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { DISPLAY, EntityRuleError } from '../../requests/errors.ts'
import { dateText } from './dates.ts'
import { type Draft, fromOf, toOf } from './draft.ts'
import { type FieldChanges, withChanges } from './set-fields.ts'

export interface EditContext {
  nowMs: number
  /** End of the last confirmed invoices, epoch ms; changes before it are refused. */
  minimumMs: number
  /** IANA zone of dates in error texts. */
  zone: string
}

/** An entity that ends later than this from now counts as open-ended. */
export const OPEN_ENDED_MS = 10 * 366 * 86_400_000

/** Refuses changes of confirmed cycles. `what`: the action and the date to check, of `path`. */
export function checkMinimum(
  what: string,
  path: string | null,
  atMs: number,
  { minimumMs, zone }: EditContext,
): void {
  if (atMs >= minimumMs) return
  throw new EntityRuleError(
    `${what} must not be before ${dateText(minimumMs, zone)}, the end of the last confirmed cycle`,
    path === null ? 'refused' : { path },
    DISPLAY.date,
  )
}

export function update(
  draft: Draft,
  target: RawDocument,
  changes: FieldChanges,
  context: EditContext,
): RawDocument {
  checkMinimum('update: the end of the revision', null, toOf(target), context)
  return draft.put(target, withChanges(target, changes))
}

export function close(
  draft: Draft,
  target: RawDocument,
  toMs: number,
  context: EditContext,
): RawDocument {
  checkMinimum('close: to', 'to', toMs, context)
  if (toMs <= fromOf(target)) {
    const begin = dateText(fromOf(target), context.zone)
    throw new EntityRuleError(
      `close: to must be after ${begin}, where the revision begins`,
      { path: 'to' },
      DISPLAY.date,
    )
  }
  return draft.change(target, { to: new Date(toMs) })
}

export function closeAndNew(
  draft: Draft,
  target: RawDocument,
  { fromMs, changes }: { fromMs: number; changes: FieldChanges },
  context: EditContext,
): RawDocument {
  checkMinimum('closeandnew: from', 'from', fromMs, context)
  if (fromMs <= fromOf(target)) {
    const begin = dateText(fromOf(target), context.zone)
    throw new EntityRuleError(
      `closeandnew: from must be later than ${begin}`,
      { path: 'from' },
      DISPLAY.date,
    )
  }
  if (fromMs >= toOf(target)) {
    const end = dateText(toOf(target), context.zone)
    throw new EntityRuleError(
      `closeandnew: from must be before ${end}, where the revision ends`,
      { path: 'from' },
      DISPLAY.date,
    )
  }
  const from = new Date(fromMs)
  const changed = withChanges(target, changes)
  draft.change(target, { to: from })
  return draft.add({ ...changed, from })
}

export function reopen(
  draft: Draft,
  target: RawDocument,
  { fromMs, changes }: { fromMs: number; changes: FieldChanges },
  context: EditContext,
): RawDocument {
  const { zone, nowMs, minimumMs } = context
  const last = draft.revisions().at(-1) ?? target
  const end = dateText(toOf(last), zone)
  if (toOf(last) > nowMs + OPEN_ENDED_MS) {
    throw new EntityRuleError('reopen: the entity is not closed', 'refused', DISPLAY.reopen)
  }
  if (toOf(last) > fromMs) {
    const text = `reopen: from must not be before ${end}, where the last revision ends`
    throw new EntityRuleError(text, { path: 'from' }, DISPLAY.reopen)
  }
  if (fromMs < minimumMs) {
    const least = dateText(minimumMs, zone)
    const text = `reopen: from must not be before ${least}, the end of the last confirmed cycle`
    throw new EntityRuleError(text, { path: 'from' }, DISPLAY.reopen)
  }
  const fields = { from: new Date(fromMs), to: new Date(FOREVER_MS) }
  return draft.add({ ...withChanges(target, changes), ...fields })
}

/** Returns the previous revision if it was extended over the deleted one, otherwise null. */
export function remove(
  draft: Draft,
  target: RawDocument,
  context: EditContext,
): RawDocument | null {
  checkMinimum('delete: the begin of the revision', null, fromOf(target), context)
  const before = draft.revisions().find((other) => toOf(other) === fromOf(target))
  draft.remove(target, context.nowMs)
  return before === undefined ? null : draft.change(before, { to: target['to'] })
}

export interface PermanentChange {
  entity: RawDocument
  totalUpdated: number
  totalCreated: number
}

export function permanentChange(
  draft: Draft,
  target: RawDocument,
  { fromMs, changes }: { fromMs: number; changes: FieldChanges },
  context: EditContext,
): PermanentChange {
  const { zone } = context
  if (fromMs < fromOf(target) || fromMs > toOf(target)) {
    const limits = `${dateText(fromOf(target), zone)} and ${dateText(toOf(target), zone)}`
    const text = `permanentchange: from must be between ${limits}, in the validity of the revision`
    throw new EntityRuleError(text, { path: 'from' }, DISPLAY.date)
  }
  checkMinimum('permanentchange: from', 'from', fromMs, context)
  const isInside = fromMs > fromOf(target) && fromMs < toOf(target)
  if (isInside) {
    const from = new Date(fromMs)
    draft.change(target, { to: from })
    draft.add({ ...target, from })
  }
  const later = draft.revisions().filter((revision) => fromOf(revision) >= fromMs)
  const changed = later.map((revision) => draft.put(revision, withChanges(revision, changes)))
  const [entity] = changed
  if (entity === undefined) {
    const text = `permanentchange: no revision is valid from ${dateText(fromMs, zone)} on`
    throw new EntityRuleError(text, { path: 'from' }, DISPLAY.date)
  }
  return { entity, totalUpdated: changed.length, totalCreated: isInside ? 1 : 0 }
}
