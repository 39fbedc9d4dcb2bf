/**
 * The requests of one account within one round: settled one after the other in memory, committed
 * once. Holds what the round has decided until the ledger has answered.
 */
import { present } from '../domain/assert.ts'
import { isUnchanged, type OwnerState } from '../domain/bucket.ts'
import type { Reason } from '../domain/charge-outcome.ts'
import type { Line } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { AccountCommit, RegistrationCommit, SessionCommit } from '../ledger/commit-layout.ts'
import { formatLocation } from '../ledger/ledger.ts'
import type { ChargeCommit, ChargeDecision, ChargeView } from '../rating/decision.ts'
import type { Item } from './item.ts'
import { type CachedOwner, keepSession } from './owner-cache.ts'
import type { CachedProfile } from './profiles.ts'
import { registersSession } from './session-registrations.ts'
import { SmallMap } from './small-map.ts'

interface WorkingOwner {
  cached: CachedOwner
  state: OwnerState
  /** Profile fence that its rating relied on; -1 if on none. */
  fence: number
  /** Null: nothing of it is written. */
  sessions: SessionCommit[] | null
}

/** A claim with the session that it is for, as the round has left it. */
type OpenedRegistration = Omit<RegistrationCommit, 'ttlMs'> & { session: SessionCommit }

/** How long the directory keeps the home of a session that opens, and of one that ends at once. */
export interface DirectoryTtl {
  openMs: number
  closedMs: number
}

/** States of one account that a round builds up. One attempt, one instance. */
export class AccountAttempt {
  /** Grants that become true with the commit. */
  reservations = 0
  /** Whether a request does not fit its session. */
  hasSequenceError = false
  /** Whether a refund has credited buckets, which else only operations do. */
  #isCredited = false
  readonly #aid: number
  readonly #ttl: DirectoryTtl
  readonly #shared: CachedOwner
  #sharedState: OwnerState
  #accountFence = -1
  readonly #owners = new SmallMap<CachedOwner, WorkingOwner>()
  /** Of all owners, as the last request that moved each has left it. */
  #sessions: SmallMap<string, SessionCommit> | null = null
  #lines: SmallMap<string, Line> | null = null
  #registrations: SmallMap<string, OpenedRegistration> | null = null

  constructor(aid: number, shared: CachedOwner, ttl: DirectoryTtl) {
    this.#aid = aid
    this.#ttl = ttl
    this.#shared = shared
    this.#sharedState = shared.state
  }

  /** What the next request of this subscriber and session finds. */
  view(cached: CachedOwner, { sessionKey, request }: Item): ChargeView {
    const { state } = this.#ownerOf(cached)
    const drafted = this.#sessions?.get(sessionKey)?.session
    // Another subscriber's stands in the way of one that opens, and is nothing to go on with.
    const isMet = drafted !== undefined && (drafted.sid === state.sid || registersSession(request))
    const session = isMet ? drafted : (cached.sessions.get(sessionKey) ?? null)
    return { subscriber: state, account: this.#sharedState, session }
  }

  /** Takes in a decision. `profile`: what it was rated with, if it was. */
  add(item: Item, decision: ChargeDecision, profile: CachedProfile | null): void {
    const { outcome, commit } = decision
    item.tentativeOutcome = outcome
    this.hasSequenceError ||= isSequenceError(outcome.reason)
    if (commit === null) return
    this.#isCredited ||= item.request.refund
    if (!item.request.refund) {
      for (const { granted } of outcome.services) if (granted > 0) this.reservations += 1
    }
    const owner = this.#ownerOf(present(item.owner, 'owner of an item'))
    owner.state = commit.subscriber
    if (profile !== null) {
      owner.fence = profile.fence
      this.#accountFence = profile.accountFence
    }
    if (commit.account !== null) this.#sharedState = commit.account
    this.#addSession(item, owner, commit)
  }

  /** The item waits for its profile; what comes after it goes on. */
  defer(item: Item): void {
    item.tentativeOutcome = null
  }

  #ownerOf(cached: CachedOwner): WorkingOwner {
    let owner = this.#owners.get(cached)
    if (owner === undefined) {
      const { state } = cached
      owner = { cached, state, fence: -1, sessions: null }
      this.#owners.set(cached, owner)
    }
    return owner
  }

  #addSession(item: Item, owner: WorkingOwner, { session, lines }: ChargeCommit): void {
    const { sessionKey, request } = item
    const known = this.#sessions?.get(sessionKey)
    const isKnown = known !== undefined && known.session.sid === session.sid
    const written = isKnown ? known : this.#begin(item, owner, session, known !== undefined)
    written.session = session
    if (!isKnown && registersSession(request)) this.#register(item, written)
    for (const line of lines) {
      this.#lines ??= new SmallMap()
      this.#lines.set(line.stamp, line)
    }
  }

  /** The first that is written of a session, or the first since another subscriber had it. */
  #begin(
    { sessionKey }: Item,
    owner: WorkingOwner,
    session: Session,
    isTakenOver: boolean,
  ): SessionCommit {
    let written = isTakenOver
      ? owner.sessions?.find((earlier) => earlier.sessionKey === sessionKey)
      : undefined
    if (written === undefined) {
      const before = owner.cached.sessions.get(sessionKey)?.state ?? null
      written = { sessionKey, session, before }
      if (owner.sessions === null) owner.sessions = [written]
      else owner.sessions.push(written)
    }
    this.#sessions ??= new SmallMap()
    this.#sessions.set(sessionKey, written)
    return written
  }

  /** One claim for each session, whoever has it in the end. */
  #register(item: Item, session: SessionCommit): void {
    const { sessionKey, expectedLocation } = item
    const home = formatLocation(item)
    this.#registrations ??= new SmallMap()
    const earlier = this.#registrations.get(sessionKey)
    const expected = earlier?.expected ?? (session.before === null ? expectedLocation : home)
    this.#registrations.set(sessionKey, { sessionKey, location: home, expected, session })
  }

  /** What has to be written; null if nothing has. */
  commit(setsBackoffHint: boolean): AccountCommit | null {
    const owners: AccountCommit['owners'] = []
    for (const { cached, state, fence, sessions } of this.#owners.values) {
      if (sessions === null) continue
      const next = withVersion(state, cached.state.version + 1)
      owners.push({ state: next, fence, sessions })
    }
    if (owners.length === 0) return null
    const expectedVersion = this.#shared.state.version
    const state = isUnchanged(this.#shared.state, this.#sharedState)
      ? null
      : withVersion(this.#sharedState, expectedVersion + 1)
    return {
      aid: this.#aid,
      owners,
      shared: { expectedVersion, state, fence: this.#accountFence },
      registrations:
        this.#registrations === null
          ? NO_REGISTRATIONS
          : this.#registrations.values.map((claim) => this.#timed(claim)),
      operation: null,
      mayChangeCredit: this.#isCredited,
      // Of segments that ended: the recorder reads those of open ones off the session itself.
      lines: this.#lines === null ? NO_LINES : this.#lines.values,
      setsBackoffHint: setsBackoffHint,
    }
  }

  /** What is closed by now has nothing to be found for but its repetition. */
  #timed({
    sessionKey,
    location,
    expected,
    session: { session },
  }: OpenedRegistration): RegistrationCommit {
    const ttlMs = session.state === 'open' ? this.#ttl.openMs : this.#ttl.closedMs
    return { sessionKey, location, expected, ttlMs }
  }

  /** The commit became true: the cache follows. */
  accept(commit: AccountCommit): void {
    let at = 0
    for (const { cached, sessions: written } of this.#owners.values) {
      if (written === null) continue
      const { state, sessions } = present(commit.owners[at], 'owner of a commit')
      at += 1
      cached.state = state
      for (const { sessionKey, session } of sessions) keepSession(cached, sessionKey, session)
    }
    if (commit.shared.state !== null) this.#shared.state = commit.shared.state
  }
}

const NO_REGISTRATIONS: RegistrationCommit[] = []
const NO_LINES: Line[] = []

function isSequenceError(reason: Reason): boolean {
  switch (reason) {
    case 'numberReused':
    case 'outOfOrder':
    case 'sessionClosed':
    case 'unknownSession':
      return true
    default:
      return false
  }
}

function withVersion(state: OwnerState, version: number): OwnerState {
  return {
    aid: state.aid,
    sid: state.sid,
    version,
    nextBucketId: state.nextBucketId,
    owed: state.owed,
    repaid: state.repaid,
    buckets: state.buckets,
  }
}
