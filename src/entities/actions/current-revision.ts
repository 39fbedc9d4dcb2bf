/**
 * The current revision of an entity: the active one, otherwise the future or the expired one that
 * ends last.
 */
import type { Fields } from '../../domain/fields.ts'
import { fromOf, toOf } from '../timeline/draft.ts'

export const STATE = { active: 0, future: 1, expired: 2 } as const

export type RevisionState = (typeof STATE)[keyof typeof STATE]

export function stateAt(revision: Fields, nowMs: number): RevisionState {
  if (toOf(revision) <= nowMs) return STATE.expired
  return fromOf(revision) > nowMs ? STATE.future : STATE.active
}

/** Selects from revisions of one entity, of which there is at least one. */
export function currentRevision<Revision extends Fields>(
  revisions: readonly Revision[],
  nowMs: number,
): Revision {
  return revisions.reduce((best, one) => (isBefore(one, best, nowMs) ? one : best))
}

/** Selects from revisions of several entities, by key. */
export function currentRevisionsByKey<Revision extends Fields>(
  revisions: readonly Revision[],
  keyField: string,
  nowMs: number,
): ReadonlyMap<unknown, Revision> {
  const best = new Map<unknown, Revision>()
  for (const one of revisions) {
    const other = best.get(one[keyField])
    if (other === undefined || isBefore(one, other, nowMs)) best.set(one[keyField], one)
  }
  return best
}

function isBefore(one: Fields, other: Fields, nowMs: number): boolean {
  const difference = stateAt(one, nowMs) - stateAt(other, nowMs)
  return difference === 0 ? toOf(one) > toOf(other) : difference < 0
}

/** Filter for all revisions that can decide whether an entity is in one of the states. */
export function decidingRevisionsFilter(states: readonly number[], nowMs: number): Fields[] {
  const now = new Date(nowMs)
  if (states.includes(STATE.expired)) return []
  const open = [{ to: { $gt: now } }]
  return states.includes(STATE.future) ? open : [...open, { from: { $lte: now } }]
}

/** Filter for revisions that are in one of the states themselves. */
export function revisionStatesFilter(states: readonly number[], nowMs: number): Fields[] {
  const now = new Date(nowMs)
  const [active, future, expired] = [0, 1, 2].map((state) => states.includes(state))
  if (active && future && expired) return []
  if (active && future) return [{ to: { $gt: now } }]
  if (active && expired) return [{ from: { $lte: now } }]
  if (active) return [{ to: { $gt: now } }, { from: { $lte: now } }]
  const after = { from: { $gt: now } }
  const before = { to: { $lte: now } }
  if (future && expired) return [{ $or: [after, before] }]
  return future ? [after] : [before]
}
