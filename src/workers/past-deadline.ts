/** Requests that nobody waits for any more, and those behind them in their sessions. */
import { plainOutcome } from '../domain/charge-outcome.ts'
import type { Item } from './item.ts'

export function hasPastDeadline(items: readonly Item[], nowMs: number): boolean {
  for (const item of items) if (item.isPastDeadline(nowMs)) return true
  return false
}

/**
 * Answers what is late, and what is behind it in the same session, and gives the others. `broken`
 * takes up the keys of these sessions.
 */
export function withoutPastDeadline(
  items: readonly Item[],
  nowMs: number,
  broken: Set<string>,
): Item[] {
  for (const item of items) {
    if (!broken.has(item.sessionKey) && !item.isPastDeadline(nowMs)) continue
    broken.add(item.sessionKey)
    item.resolve(plainOutcome('timedOut'))
  }
  return items.filter((item) => item.outcome === null)
}

/** Answers what belongs to these sessions, and gives the others. */
export function withoutBroken(items: readonly Item[], broken: ReadonlySet<string>): Item[] {
  return items.filter((item) => {
    if (!broken.has(item.sessionKey)) return true
    item.resolve(plainOutcome('timedOut'))
    return false
  })
}
