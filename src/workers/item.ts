/** One request on its way through a worker, and where its outcome goes. */
import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import { type ChargeRequest, opensSession } from '../domain/charge-request.ts'
import type { SessionLocation } from '../ledger/ledger.ts'
import type { IdentifiedRequest } from '../rating/decision.ts'
import type { Identification } from '../rating/identify.ts'
import type { CachedOwner } from './owner-cache.ts'
import type { ProfileQuery } from './profiles.ts'
import type { RuleSet } from './rule-book.ts'

/** Counts the items that are still to be answered. */
export interface PendingBatch {
  left: number
  /** When nobody waits for their outcomes any more, `processMs`. */
  readonly deadlineMs: number
  done: () => void
}

export class Item implements IdentifiedRequest {
  readonly request: ChargeRequest
  readonly sessionKey: string
  readonly digest: number
  readonly rules: RuleSet
  /** Where the session is, or will be, at home; 0: that is not known. */
  aid = 0
  sid = 0
  /** Home that the directory has of its session id, and that a claim may replace; empty: none. */
  expectedLocation = ''
  /** Its profile cannot be had, or its rules: what was granted is settled without them. */
  isProfileUnavailable: boolean
  /** What the attempt is decided on: the cache may forget it meanwhile. */
  owner: CachedOwner | null = null
  /** What its round has decided; null: it needs a profile that is not in memory. */
  tentativeOutcome: ChargeOutcome | null = null
  /** Null, when all is done: it needs what only MongoDB has. */
  outcome: ChargeOutcome | null = null
  #batch: PendingBatch | null = null

  constructor(
    request: ChargeRequest,
    { sessionKey, digest }: Pick<IdentifiedRequest, 'sessionKey' | 'digest'>,
    rules: RuleSet,
    isProfileAway: boolean,
  ) {
    this.request = request
    this.sessionKey = sessionKey
    this.digest = digest
    this.rules = rules
    this.isProfileUnavailable = isProfileAway
  }

  get isLocated(): boolean {
    return this.aid !== 0
  }

  setLocation({ aid, sid }: SessionLocation): void {
    this.aid = aid
    this.sid = sid
  }

  /** Its home turned out to be none. */
  clearLocation(): void {
    this.aid = 0
    this.sid = 0
  }

  /** It is to be answered, if need be again. Each attempt sets anew what it is decided on. */
  join(batch: PendingBatch): void {
    this.#batch = batch
    this.expectedLocation = ''
    this.outcome = null
  }

  isPastDeadline(nowMs: number): boolean {
    return this.#batch !== null && this.#batch.deadlineMs <= nowMs
  }

  /** The first outcome counts. */
  resolve(outcome: ChargeOutcome | null): void {
    const batch = this.#batch
    if (batch === null) return
    this.#batch = null
    this.outcome = outcome
    batch.left -= 1
    if (batch.left === 0) batch.done()
  }
}

/** What a start without services is looked up by. */
const NO_SERVICE = [{ usaget: null, calledNumber: '', fields: null }]

/**
 * The look-ups by which the subscriber of a start or event is found, in order: by the rules for its
 * usage types, then by the identifier that it names itself. The first that finds somebody counts.
 */
function subscriberQueries(
  request: ChargeRequest,
  identification: Identification,
): readonly ProfileQuery[] {
  const { subscriberKey, subscriberValue, eventTimeMs: atMs, fields } = request
  const queries: ProfileQuery[] = []
  const services = request.services.length === 0 ? NO_SERVICE : request.services
  for (const { usaget, calledNumber, fields: own } of services) {
    const field = (name: string) =>
      own?.[name] ??
      fields?.[name] ??
      (name === 'called_number' && calledNumber !== '' ? calledNumber : undefined)
    for (const { key, value } of identification.candidates(usaget, field)) {
      queries.push({ key, value, atMs })
    }
  }
  if (subscriberKey !== 'none') queries.push({ key: subscriberKey, value: subscriberValue, atMs })
  return queries
}

/** An open session goes by its own subscriber, whatever the request says. */
export function queriesOf({ request, rules, sid }: Item): readonly ProfileQuery[] {
  if (opensSession(request.kind)) return subscriberQueries(request, rules.identification)
  return [{ key: 'sid', value: String(sid), atMs: request.eventTimeMs }]
}
