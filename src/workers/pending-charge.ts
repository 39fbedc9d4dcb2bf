/** A request while it is processed by a worker, and its outcome. */
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, opensSession } from '../domain/charge-request.ts'
import { digestOf } from '../domain/digest.ts'
import type { SessionLocation } from '../ledger/ledger.ts'
import type { IdentifiedRequest } from '../rating/decision.ts'
import { subscriberLookups } from '../rating/identify.ts'
import type { CachedOwner } from './owner-cache.ts'
import type { ProfileQuery } from './profiles.ts'
import type { RuleSet } from './rule-book.ts'

/** A batch of items of which some are not answered yet. */
export interface PendingBatch {
  left: number
  /** When the client no longer waits for the outcomes, `processMs`. */
  readonly deadlineMs: number
  done: () => void
}

/**
 * A request on its way: located, its profile looked up, charged; possibly several times. What each
 * stage finds is a field of the item.
 */
export class PendingCharge implements IdentifiedRequest {
  readonly request: ChargeRequest
  readonly digest: number
  /** Key of the session in the ledger; empty before the item is located for the first time. */
  sessionKey = ''
  /** As of the last time it was located. */
  rules: RuleSet
  /** Account and subscriber of the session; 0 if they are not known yet. */
  aid = 0
  sid = 0
  /** Location in the directory that its registration may replace; empty if there is no entry. */
  expectedLocation = ''
  /** Its profile or its rules are unavailable; only granted units are settled. */
  isProfileUnavailable = false
  /** The owner on which the attempt is decided, since the cache may drop it meanwhile. */
  owner: CachedOwner | null = null
  /** The decision of the current attempt; null if it needs a profile that is not cached. */
  tentativeOutcome: ChargeOutcome | null = null
  /** Null after processing if it needs data from MongoDB. */
  outcome: ChargeOutcome | null = null
  #batch: PendingBatch | null = null

  /** `rules`: those of the installation, until it is located. */
  constructor(request: ChargeRequest, rules: RuleSet) {
    this.request = request
    this.digest = digestOf(request)
    this.rules = rules
  }

  /** Whether the request opens a session and identifies its subscriber. */
  get isOpening(): boolean {
    return opensSession(this.request.kind)
  }

  get isLocated(): boolean {
    return this.aid !== 0
  }

  setLocation({ aid, sid }: SessionLocation): void {
    this.aid = aid
    this.sid = sid
  }

  /** The location turned out to be wrong. */
  clearLocation(): void {
    this.aid = 0
    this.sid = 0
  }

  /** Adds the item to a batch, possibly once more. Each attempt sets its owner and outcome. */
  join(batch: PendingBatch): void {
    this.#batch = batch
    this.expectedLocation = ''
    this.outcome = null
  }

  isPastDeadline(nowMs: number): boolean {
    return this.#batch !== null && this.#batch.deadlineMs <= nowMs
  }

  /** Only the first outcome counts. */
  resolve(outcome: ChargeOutcome | null): void {
    const batch = this.#batch
    if (batch === null) return
    this.#batch = null
    this.outcome = outcome
    batch.left -= 1
    if (batch.left === 0) batch.done()
  }
}

/**
 * An open session belongs to its own subscriber, whatever identifier the request has. If nothing is
 * found at the instant of the profile, the subscriber may have ended before it in the same second.
 */
export function queriesOf(item: PendingCharge, nowMs: number): readonly ProfileQuery[] {
  const { request, rules, sid, isOpening } = item
  const { eventTimeMs } = request
  const atMs = profileInstantOf(request, nowMs)
  const lookups = isOpening
    ? subscriberLookups(request, rules.identification)
    : [{ key: 'sid', value: String(sid), atMs: eventTimeMs }]
  if (atMs === eventTimeMs) return lookups
  return [...lookups.map((lookup) => ({ ...lookup, atMs })), ...lookups]
}

/**
 * The instant whose profile applies to a request: before its time if it only reports usage. A time
 * of whole seconds stands for its second, in which a revision of the subscriber may have begun.
 */
export function profileInstantOf(request: ChargeRequest, nowMs: number): number {
  const { eventTimeMs } = request
  if (isReport(request)) return eventTimeMs - 1
  if (eventTimeMs % 1000 !== 0) return eventTimeMs
  return Math.max(eventTimeMs, Math.min(nowMs, eventTimeMs + 999))
}

/** Whether all of the request is about the time before it. */
function isReport({ kind, services }: ChargeRequest): boolean {
  if (kind !== 'release' && kind !== 'update') return false
  return services.every((service) => {
    if (kind === 'update' && service.checksCredit) return false
    return [service, ...(service.parts ?? [])].every(({ requested, used, usedBefore }) => {
      const asks = kind === 'update' && requested > 0
      return !asks && (usedBefore < 0 || usedBefore >= used)
    })
  })
}

/** A request whose profile began within the second of its time is rated at that begin. */
export function withinProfile(
  item: PendingCharge,
  profile: SubscriberProfile | null,
): IdentifiedRequest {
  const { request, sessionKey, digest } = item
  if (profile === null || profile.fromMs <= request.eventTimeMs) return item
  return { request: { ...request, eventTimeMs: profile.fromMs }, sessionKey, digest }
}
