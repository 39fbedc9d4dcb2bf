/** Queues and batches of the batch executor. */
import type { AccountCommit } from '../ledger/commit-layout.ts'
import type { AccountAttempt } from './account-attempt.ts'
import type { CachedOwner } from './owner-cache.ts'
import type { PendingCharge } from './pending-charge.ts'

export interface AccountQueue {
  aid: number
  waiting: PendingCharge[]
  /** Whether a batch of the account is running or about to start. */
  isBusy: boolean
}

/** The items of one account in a run. */
export interface AccountBatch {
  account: AccountQueue
  items: PendingCharge[]
  attempt: number
  isEnded: boolean
  /** Whether its states were read from the ledger in this run, all at once. */
  isFresh: boolean
  /** The shared buckets of the account on which the attempt is decided. */
  shared: CachedOwner | null
}

export interface DecidedBatch {
  batch: AccountBatch
  attempt: AccountAttempt
  commit: AccountCommit | null
}
