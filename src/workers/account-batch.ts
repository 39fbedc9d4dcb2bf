/** What a round has in hand. */
import type { AccountCommit } from '../ledger/commit-layout.ts'
import type { AccountAttempt } from './account-attempt.ts'
import type { Item } from './item.ts'
import type { CachedOwner } from './owner-cache.ts'

export interface AccountQueue {
  aid: number
  waiting: Item[]
  /** In a round, or about to be. */
  isBusy: boolean
}

/** One account in a round. */
export interface AccountBatch {
  account: AccountQueue
  items: Item[]
  attempt: number
  isEnded: boolean
  /** Its states were read from the ledger in this round, all at once. */
  isFresh: boolean
  /** What its subscribers share, as this attempt is decided on it. */
  shared: CachedOwner | null
}

export interface DecidedBatch {
  batch: AccountBatch
  attempt: AccountAttempt
  commit: AccountCommit | null
}
