/** Requests past their deadline, and later requests of their sessions. */
import { plainOutcome } from '../domain/charge-outcome.ts'
import type { AccountBatch } from './account-batch.ts'
import type { PendingCharge } from './pending-charge.ts'

/**
 * Drops requests past their deadline, of which nothing was sent to the ledger, and all later
 * requests of the same sessions, from the batch and the queue of its account. The network element
 * repeats them in order; if a later request number were settled, the earlier one would be rejected.
 * Returns how many were dropped.
 */
export function dropPastDeadline(batch: AccountBatch, nowMs: number): number {
  const { account, items } = batch
  if (!items.some((item) => item.isPastDeadline(nowMs))) return 0
  const { waiting } = account
  const broken = new Set<string>()
  batch.items = withoutPastDeadline(items, nowMs, broken)
  account.waiting = withoutBroken(waiting, broken)
  return items.length + waiting.length - batch.items.length - account.waiting.length
}

/**
 * Answers the dropped items and returns the others. Adds the keys of their sessions to `broken`.
 */
function withoutPastDeadline(
  items: readonly PendingCharge[],
  nowMs: number,
  broken: Set<string>,
): PendingCharge[] {
  for (const item of items) {
    if (!broken.has(item.sessionKey) && !item.isPastDeadline(nowMs)) continue
    broken.add(item.sessionKey)
    item.resolve(plainOutcome('timedOut'))
  }
  return items.filter((item) => item.outcome === null)
}

/** Answers the items of these sessions and returns the others. */
function withoutBroken(
  items: readonly PendingCharge[],
  broken: ReadonlySet<string>,
): PendingCharge[] {
  return items.filter((item) => {
    if (!broken.has(item.sessionKey)) return true
    item.resolve(plainOutcome('timedOut'))
    return false
  })
}
