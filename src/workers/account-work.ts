/**
 * The requests of one account within one round: settled one after the other in memory, committed
 * once. Holds what the round has decided until the ledger has answered.
 */
import { isUnchanged, type OwnerState } from '../domain/bucket.ts'
import type { ChargeOutcome, Reason } from '../domain/charge-outcome.ts'
import { opens } from '../domain/charge-request.ts'
import type { Line } from '../domain/line.ts'
import type { Session } from '../domain/session.ts'
import type { AccountCommit, ClaimCommit, SessionCommit } from '../ledger/commit-layout.ts'
import { homeText } from '../ledger/ledger.ts'
import type { ChargeCommit, Decision } from '../rating/decision.ts'
import { type CachedOwner, keepSession } from './owner-cache.ts'
import type { HeldProfile } from './profiles.ts'
import type { RoutedRequest } from './routed.ts'

/** One request on its way through the rounds. */
export interface Item {
  identified: RoutedRequest
  /** Where the session is, or will be, at home. */
  aid: number
  sid: number
  /** Home that a claim may replace: the session it points to is known to be gone. */
  expectedHome: string
  /** The profile cannot be had: what was granted is settled without it. */
  isProfileAway: boolean
  /** Null: it needs a profile that is not in memory. */
  resolve: (outcome: ChargeOutcome | null) => void
}

/** What an item is decided on, as the requests before it in this round have left it. */
export interface WorkingState {
  subscriber: OwnerState
  shared: OwnerState
  session: Session | null
}

interface WorkingOwner {
  cached: CachedOwner
  state: OwnerState
  written: boolean
}

/** How long the directory keeps the home of a session that opens, and of one that ends at once. */
export interface DirectoryTtl {
  openMs: number
  closedMs: number
}

const MISFITS: readonly Reason[] = ['numberReused', 'outOfOrder', 'sessionClosed', 'unknownSession']

/** States of one account that a round builds up. One attempt, one instance. */
export class AccountDraft {
  readonly outcomes: (ChargeOutcome | null)[] = []
  /** Grants that become true with the commit. */
  reservations = 0
  private readonly aid: number
  private readonly ttl: DirectoryTtl
  private readonly shared: CachedOwner
  private sharedState: OwnerState
  private readonly owners = new Map<number, WorkingOwner>()
  private readonly sessions = new Map<string, SessionCommit>()
  private readonly lines = new Map<string, Line>()
  private readonly claims = new Map<string, Omit<ClaimCommit, 'ttlMs'>>()
  private readonly fenced = new Map<number, number>()
  private accountFence = -1

  constructor(aid: number, shared: CachedOwner, ttl: DirectoryTtl) {
    this.aid = aid
    this.ttl = ttl
    this.shared = shared
    this.sharedState = shared.state
  }

  /** What the next request of this subscriber and session finds. */
  state(cached: CachedOwner, sessionKey: string): WorkingState {
    const owner = this.ownerOf(cached)
    const session =
      this.sessions.get(sessionKey)?.session ?? cached.sessions.get(sessionKey) ?? null
    return { subscriber: owner.state, shared: this.sharedState, session }
  }

  /** Takes in a decision. `profile`: what it was rated with, if it was. */
  add(item: Item, cached: CachedOwner, decision: Decision, profile: HeldProfile | null): void {
    this.outcomes.push(decision.outcome)
    if (decision.commit === null) return
    if (!item.identified.request.refund) {
      for (const { granted } of decision.outcome.services) if (granted > 0) this.reservations += 1
    }
    const owner = this.ownerOf(cached)
    owner.state = decision.commit.subscriber
    owner.written = true
    if (profile !== null) {
      this.fenced.set(item.sid, profile.fence)
      this.accountFence = profile.accountFence
    }
    if (decision.commit.account !== null) this.sharedState = decision.commit.account
    this.addSession(item, cached, decision.commit)
  }

  /** The item waits for its profile; what comes after it goes on. */
  defer(): void {
    this.outcomes.push(null)
  }

  /** Whether a request does not fit its session. */
  hasMisfit(): boolean {
    return this.outcomes.some((outcome) => outcome !== null && MISFITS.includes(outcome.reason))
  }

  private ownerOf(cached: CachedOwner): WorkingOwner {
    const { sid } = cached.state
    let owner = this.owners.get(sid)
    if (owner === undefined) {
      owner = { cached, state: cached.state, written: false }
      this.owners.set(sid, owner)
    }
    return owner
  }

  private addSession(item: Item, cached: CachedOwner, commit: ChargeCommit): void {
    const { sessionKey, request } = item.identified
    const stored = cached.sessions.get(sessionKey) ?? null
    const before = stored?.state ?? null
    if (!this.sessions.has(sessionKey) && opens(request.kind) && !request.refund) {
      const { expectedHome } = item
      const home = homeText(item)
      const expected = stored === null ? expectedHome : home
      this.claims.set(sessionKey, { sessionKey, home, expected })
    }
    this.sessions.set(sessionKey, { sessionKey, session: commit.session, before })
    for (const line of commit.lines) this.lines.set(line.stamp, line)
  }

  /** What has to be written; null if nothing has. */
  commit(wantsTurn: boolean): AccountCommit | null {
    if (this.sessions.size === 0) return null
    const owners: AccountCommit['owners'] = []
    for (const { cached, state, written } of this.owners.values()) {
      if (!written) continue
      owners.push({
        state: { ...state, version: cached.state.version + 1 },
        fence: this.fenced.get(state.sid) ?? -1,
        sessions: this.sessionsOf(state.sid),
      })
    }
    const expectedVersion = this.shared.state.version
    const sharedState = isUnchanged(this.shared.state, this.sharedState)
      ? null
      : { ...this.sharedState, version: expectedVersion + 1 }
    return {
      aid: this.aid,
      owners,
      shared: { expectedVersion, state: sharedState, fence: this.accountFence },
      claims: [...this.claims.values()].map((claim) => this.timed(claim)),
      operation: null,
      // The recorder reads the lines of open segments off the session itself.
      lines: [...this.lines.values()].filter((line) => line.state !== 'open'),
      wantsTurn,
    }
  }

  /** What is closed by now has nothing to be found for but its repetition. */
  private timed(claim: Omit<ClaimCommit, 'ttlMs'>): ClaimCommit {
    const isOpen = this.sessions.get(claim.sessionKey)?.session.state === 'open'
    return { ...claim, ttlMs: isOpen ? this.ttl.openMs : this.ttl.closedMs }
  }

  private sessionsOf(sid: number): SessionCommit[] {
    return [...this.sessions.values()].filter(({ session }) => session.sid === sid)
  }

  /** The commit became true: the cache follows. */
  accept(commit: AccountCommit): void {
    for (const { state, sessions } of commit.owners) {
      const owner = this.owners.get(state.sid)
      if (owner === undefined) continue
      owner.cached.state = state
      for (const { sessionKey, session } of sessions) keepSession(owner.cached, sessionKey, session)
    }
    if (commit.shared.state !== null) this.shared.state = commit.shared.state
  }
}
