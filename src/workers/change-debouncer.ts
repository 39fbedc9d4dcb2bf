/**
 * Changes of the catalogue and of subscribers, delayed until the operator's action is complete. One
 * action (closeandnew, permanentchange, move) writes several documents, which a poll may see one by
 * one; each session is re-authorized once for all of them.
 */
import type { ChangedSubscriber } from '../catalog/feed/subscriber-watch.ts'

/** A changed subscriber, or account if `sid` is 0. */
export interface ChangedOwner {
  aid: number
  sid: number
  /** Whether one of the written documents is in force now. */
  isInForce: boolean
}

export interface CompleteChanges {
  isCatalogue: boolean
  owners: ChangedOwner[]
}

/**
 * Number of polls without a further change after which a change is complete. The threads of all
 * nodes poll at the same interval, so by then each of them has seen it.
 */
const QUIET_POLLS = 2
/** A change is complete after this number of polls, even if others keep following. */
const POLLS_MAX = 20

interface PendingChange {
  quietLeft: number
  pollsLeft: number
}

export class ChangeDebouncer {
  #catalogue: PendingChange | null = null
  readonly #owners = new Map<string, PendingChange & ChangedOwner>()

  addCatalogue(): void {
    this.#catalogue = renewed(this.#catalogue)
  }

  addOwner({ aid, sid, fromMs, toMs }: ChangedSubscriber, nowMs: number): void {
    const key = keyOf(aid, sid)
    const known = this.#owners.get(key)
    const holds = known?.isInForce === true || (fromMs <= nowMs && nowMs < toMs)
    this.#owners.set(key, { aid, sid, isInForce: holds, ...renewed(known ?? null) })
  }

  /** Whether a change of this owner or of its account is pending. */
  isPending(aid: number, sid: number): boolean {
    return this.#owners.has(keyOf(aid, sid)) || this.#owners.has(keyOf(aid, 0))
  }

  /** To be called after each poll. Returns complete changes, each once, and removes them. */
  takeComplete(): CompleteChanges {
    const isCatalogue = this.#catalogue !== null && isOver(this.#catalogue)
    if (isCatalogue) this.#catalogue = null
    const complete = [...this.#owners].filter(([, owner]) => isOver(owner))
    for (const [key] of complete) this.#owners.delete(key)
    const accounts = new Set(complete.flatMap(([, { aid, sid }]) => (sid === 0 ? [aid] : [])))
    const owners = complete.flatMap(([, { aid, sid, isInForce }]) => {
      const isPartOfAccount = sid !== 0 && isInForce && accounts.has(aid)
      return isPartOfAccount ? [] : [{ aid, sid, isInForce }]
    })
    return { isCatalogue, owners }
  }

  clear(): void {
    this.#catalogue = null
    this.#owners.clear()
  }
}

function keyOf(aid: number, sid: number): string {
  return `${aid}:${sid}`
}

/** The poll that reports the change counts as the first one. */
function renewed(known: PendingChange | null): PendingChange {
  return { quietLeft: QUIET_POLLS + 1, pollsLeft: known?.pollsLeft ?? POLLS_MAX }
}

function isOver(waiting: PendingChange): boolean {
  waiting.quietLeft -= 1
  waiting.pollsLeft -= 1
  return waiting.quietLeft <= 0 || waiting.pollsLeft <= 0
}
