/**
 * The requests of one account in one attempt of a batch: settled one after the other in memory,
 * committed once. Holds the decisions until the ledger has replied.
 */
import { present } from '../domain/assert.ts'
import { isUnchanged, type OwnerState } from '../domain/bucket.ts'
import type { Reason } from '../domain/charge-outcome.ts'
import type { BalanceEvent } from '../domain/events/event.ts'
import type { Line } from '../domain/line.ts'
import { RECORD_OPENED_MS, RECORD_REPLAY_MS } from '../domain/replay.ts'
import type { Payment } from '../domain/segment-parts.ts'
import type { Session } from '../domain/session.ts'
import {
  type AccountCommit,
  PackedStates,
  type RegistrationCommit,
  type SessionCommit,
} from '../ledger/commit-layout.ts'
import { formatLocation } from '../ledger/ledger.ts'
import type { ChargeCommit, ChargeDecision, ChargeView } from '../rating/decision.ts'
import type { CreditEvent } from '../store/session-events.ts'
import type { CommitEvents } from './commit-events.ts'
import type { CachedOwner } from './owner-cache.ts'
import type { PendingCharge } from './pending-charge.ts'
import type { CachedProfile } from './profiles.ts'
import { registersSession } from './session-registrations.ts'
import { SmallMap } from './small-map.ts'

interface WorkingOwner {
  cached: CachedOwner
  state: OwnerState
  /** Profile fence on which its rating relied; -1 if there was none. */
  fence: number
  /** Null if nothing of the owner is written. */
  sessions: SessionCommit[] | null
}

/** A registration with its session in the latest state. */
type OpenedRegistration = Omit<RegistrationCommit, 'ttlMs'> & { session: SessionCommit }

/**
 * How long the directory stores the location of a session that opens, and of one that is closed.
 */
export interface DirectoryTtl {
  openMs: number
  closedMs: number
}

/** The states of one account during one attempt. */
export class AccountAttempt {
  /** Number of grants in the commit. */
  reservations = 0
  /** Whether a request had a sequence error. */
  hasSequenceError = false
  /** Whether a refund or a falling price credited buckets, as otherwise only operations do. */
  #isCredited = false
  readonly #aid: number
  readonly #ttl: DirectoryTtl
  readonly #shared: CachedOwner
  /** Null if there are no rules for events. */
  readonly #events: CommitEvents | null
  readonly #sharedBefore: OwnerState
  #sharedState: OwnerState
  #accountFence = -1
  readonly #owners = new SmallMap<CachedOwner, WorkingOwner>()
  /** Sessions of all owners in their latest state. */
  #sessions: SmallMap<string, SessionCommit> | null = null
  #lines: SmallMap<string, Line> | null = null
  #registrations: SmallMap<string, OpenedRegistration> | null = null

  constructor(aid: number, shared: CachedOwner, ttl: DirectoryTtl, events: CommitEvents | null) {
    this.#aid = aid
    this.#ttl = ttl
    this.#shared = shared
    this.#sharedBefore = shared.state()
    this.#sharedState = this.#sharedBefore
    this.#events = events
  }

  /** The states on which the next request of this subscriber and session is decided. */
  view(cached: CachedOwner, { sessionKey, request }: PendingCharge): ChargeView {
    const { state } = this.#ownerOf(cached)
    const latest = this.#sessions?.get(sessionKey)?.session
    // Another subscriber's session of this id matters only to a request that opens one.
    const isVisible =
      latest !== undefined && (latest.identity.sid === state.sid || registersSession(request))
    const session = isVisible ? latest : cached.session(sessionKey)
    return { subscriber: state, account: this.#sharedState, session }
  }

  /**
   * Adds a decision on the states of `view`. `profile`: the one it was rated with; null if it was
   * not rated. `known`: that of the subscriber, if rules for events need it.
   */
  add(
    item: PendingCharge,
    view: ChargeView,
    { outcome, commit }: ChargeDecision,
    profile: CachedProfile | null,
    known: CachedProfile | null,
  ): void {
    item.tentativeOutcome = outcome
    this.hasSequenceError ||= isSequenceError(outcome.reason)
    if (commit === null) return
    this.#isCredited ||= item.request.refund || creditsMoney(commit)
    if (!item.request.refund) {
      for (const { granted } of outcome.services) if (granted > 0) this.reservations += 1
    }
    const owner = this.#ownerOf(present(item.owner, 'owner of an item'))
    owner.state =
      this.#events === null
        ? commit.subscriber
        : this.#events.observe(item, view, commit, known?.profile ?? null)
    if (profile !== null) {
      owner.fence = profile.fence
      this.#accountFence = profile.accountFence
    }
    if (commit.account !== null) this.#sharedState = commit.account
    this.#addSession(item, owner, view.session, commit)
  }

  /** The item waits for its profile. Items after it are still decided. */
  defer(item: PendingCharge): void {
    item.tentativeOutcome = null
  }

  #ownerOf(cached: CachedOwner): WorkingOwner {
    let owner = this.#owners.get(cached)
    if (owner === undefined) {
      owner = { cached, state: cached.state(), fence: -1, sessions: null }
      this.#owners.set(cached, owner)
    }
    return owner
  }

  #addSession(
    item: PendingCharge,
    owner: WorkingOwner,
    viewed: Session | null,
    { session, lines }: ChargeCommit,
  ): void {
    const { sessionKey, request } = item
    const known = this.#sessions?.get(sessionKey)
    const isKnown = known !== undefined && known.session.identity.sid === session.identity.sid
    const isTakenOver = known !== undefined && !isKnown
    const before = isTakenOver ? owner.cached.session(sessionKey) : viewed
    const written = isKnown ? known : this.#begin(item, owner, session, before, isTakenOver)
    written.session = session
    if (!isKnown && registersSession(request)) this.#register(item, written)
    for (const line of lines) {
      this.#lines ??= new SmallMap()
      this.#lines.set(line.stamp, line)
    }
  }

  /**
   * Creates the write of a session: the first one, or the first since another subscriber had its
   * id.
   */
  #begin(
    { sessionKey }: PendingCharge,
    owner: WorkingOwner,
    session: Session,
    before: Session | null,
    isTakenOver: boolean,
  ): SessionCommit {
    let written = isTakenOver
      ? owner.sessions?.find((earlier) => earlier.sessionKey === sessionKey)
      : undefined
    if (written === undefined) {
      written = { sessionKey, session, before: before?.state ?? null }
      if (owner.sessions === null) owner.sessions = [written]
      else owner.sessions.push(written)
    }
    this.#sessions ??= new SmallMap()
    this.#sessions.set(sessionKey, written)
    return written
  }

  /** One registration for each session, of the subscriber that has it in the end. */
  #register(item: PendingCharge, session: SessionCommit): void {
    const { sessionKey, expectedLocation } = item
    const location = formatLocation(item)
    this.#registrations ??= new SmallMap()
    const earlier = this.#registrations.get(sessionKey)
    const expected = earlier?.expected ?? (session.before === null ? expectedLocation : location)
    this.#registrations.set(sessionKey, { sessionKey, location, expected, session })
  }

  /** The commit; null if there is nothing to write. */
  commit(backoffHintMs: number): AccountCommit | null {
    let owners: AccountCommit['owners'] | null = null
    for (const { cached, state, fence, sessions } of this.#owners.values) {
      if (sessions === null) continue
      const next = withVersion(state, cached.version + 1)
      const owner = { state: next, fence, sessions }
      if (owners === null) owners = [owner]
      else owners.push(owner)
    }
    if (owners === null) return null
    const expectedVersion = this.#sharedBefore.version
    const state = isUnchanged(this.#sharedBefore, this.#sharedState)
      ? null
      : withVersion(this.#sharedState, expectedVersion + 1)
    return {
      aid: this.#aid,
      owners,
      shared: { expectedVersion, state, fence: this.#accountFence },
      registrations:
        this.#registrations === null
          ? NO_REGISTRATIONS
          : this.#registrations.values.map((registration) => this.#timed(registration)),
      operation: null,
      mayChangeCredit: this.#isCredited,
      // Lines of ended segments. The recorder reads those of open ones from the session.
      lines: this.#lines === null ? NO_LINES : this.#lines.values,
      events: this.#events === null ? NO_EVENTS : this.#stamped(this.#events),
      packed: new PackedStates(),
      backoffHintMs,
    }
  }

  #stamped(events: CommitEvents): BalanceEvent[] {
    const owners = this.#owners.values
    return events.stamped(
      (sid) => 1 + (owners.find(({ state }) => state.sid === sid)?.cached.version ?? 0),
    )
  }

  /**
   * A closed session is looked up only by retransmissions, so its entry is short-lived, and that of
   * a usage record as short as its outcome.
   */
  #timed({
    sessionKey,
    location,
    expected,
    session: { session },
  }: OpenedRegistration): RegistrationCommit {
    const { openMs, closedMs } = this.#ttl
    const isRecord = session.openedMs === RECORD_OPENED_MS
    const endedMs = isRecord ? Math.min(closedMs, RECORD_REPLAY_MS * 2) : closedMs
    const ttlMs = session.state === 'open' ? openMs : endedMs
    return { sessionKey, location, expected, ttlMs }
  }

  /** See `CommitEvents`. */
  get changedActions(): Iterable<CreditEvent> {
    return this.#events === null ? NO_CHANGES : this.#events.changed
  }

  /** Updates the cache after the commit succeeded. */
  accept({ owners, shared, packed }: AccountCommit): void {
    const states = present(packed, 'packed states')
    let at = 0
    for (const { cached, sessions: written } of this.#owners.values) {
      if (written === null) continue
      const { state, sessions } = present(owners[at], 'owner of a commit')
      at += 1
      cached.acceptState(state.version, states)
      for (const { sessionKey, session } of sessions) {
        cached.acceptSession(sessionKey, session, states)
      }
    }
    if (shared.state !== null) this.#shared.acceptState(shared.state.version, states)
  }
}

const NO_REGISTRATIONS: RegistrationCommit[] = []
const NO_LINES: Line[] = []
const NO_EVENTS: BalanceEvent[] = []
const NO_CHANGES: CreditEvent[] = []

/** A price that has fallen since credits what was debt (domain/overcharge.ts). */
function creditsMoney({ session, lines }: ChargeCommit): boolean {
  for (const { segment } of session.services) {
    if (segment?.counts.payments.some(isCredit)) return true
  }
  return lines.some(({ counts }) => counts.payments.some(isCredit))
}

function isCredit({ kind }: Payment): boolean {
  return kind === 'creditedMoney'
}

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
