/**
 * Executes the events of a case with the decisions of the charging path, on in-memory state that
 * carries over from event to event.
 */
import type { CompileOptions } from '../../catalog/compile/document.ts'
import { emptyOwner, type OwnerState } from '../../domain/bucket.ts'
import type { Catalogue, SubscriberProfile } from '../../domain/catalogue.ts'
import type { ChargeOutcome } from '../../domain/charge-outcome.ts'
import {
  type ChargeRequest,
  type ServiceRequest,
  serviceRequest,
} from '../../domain/charge-request.ts'
import { digestOf } from '../../domain/digest.ts'
import { FieldError } from '../../domain/fields.ts'
import type { Line } from '../../domain/line.ts'
import { toScale } from '../../domain/money.ts'
import { usedAt } from '../../domain/segment.ts'
import type { Session } from '../../domain/session.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { bareCatalogue, bareProfile, negated } from '../../rating/bare-prices.ts'
import { chargeSession } from '../../rating/charge-session.ts'
import type { ChargeContext } from '../../rating/decision.ts'
import { instantFrom } from '../../rating/match/date-part.ts'
import { RateFinder } from '../../rating/match/finder.ts'
import { rateService } from '../../rating/program.ts'
import { createTaxMapping } from '../../rating/tax-mapping.ts'
import { openBuckets } from './buckets.ts'
import type { CaseEvent, QuoteCase } from './case.ts'
import { compileCatalogue, compileProfiles } from './documents.ts'
import { deniedResult, type EventResult, emptyResult, resultOf } from './event-result.ts'
import { unitDigitsOf } from './unit-digits.ts'

const DAY_MS = 24 * 3600 * 1000
/** Time of events without `urt`. */
const DEFAULT_URT = '2026-01-01T00:00:00Z'
/** Cases have no retransmissions and no usage reported after expiry. */
const SETTINGS = {
  validityMs: 3_600_000,
  graceMs: 0,
  replayMs: FOREVER_MS,
  refundMicrosMax: 0,
  refundUnitsMax: 0,
  // The times of a case are exact.
  clockDifferenceMs: 0,
}

/** Owners and session before a request; updated by its commit. */
interface TrialState {
  subscriber: OwnerState
  account: OwnerState
  session: Session | null
}

export class Trial {
  readonly #unitDigits: number
  readonly #catalogue: Catalogue
  readonly #profiles: readonly SubscriberProfile[]
  readonly #base: Omit<ChargeContext, 'profile' | 'nowMs'>
  /** By account and subscriber; sid 0 for the account. */
  readonly #owners: Map<string, OwnerState>
  /** Sessions with an id; a refund refers to it. */
  readonly #sessions = new Map<string, Session>()
  /** Latest event time so far; serves as the clock. */
  #nowMs = Number.NEGATIVE_INFINITY
  readonly #spanMsMax: number
  /** Number of requests; makes each request unique, so that none is a repetition. */
  #requests = 0

  /**
   * `spanMsMax`: limit on the time that an event lasts. Throws `FieldError` with the path in the
   * case.
   */
  constructor(quote: QuoteCase, spanMsMax = Number.POSITIVE_INFINITY) {
    this.#spanMsMax = spanMsMax
    this.#unitDigits = unitDigitsOf(quote)
    const options: CompileOptions = { isStrict: false, unitDigits: this.#unitDigits }
    const { settings } = quote
    this.#catalogue = compileCatalogue(quote, options)
    this.#profiles = compileProfiles(quote, this.#catalogue, options)
    this.#owners = openBuckets(quote, this.#catalogue, this.#profiles, this.#unitDigits)
    const finder = new RateFinder(settings.calculators, settings.rateKeys)
    const { rates } = this.#catalogue
    finder.update([...rates].map(([key, revisions]) => ({ key, revisions })))
    this.#base = {
      catalogue: this.#catalogue,
      finder,
      settings: SETTINGS,
      calendar: { zone: settings.timeZone, cycleDay: settings.cycleDay },
      cycleAt: settings.cycleAt,
      defaultTax: settings.defaultTax ?? conventionalDefaultTax(this.#catalogue),
      mapTax: createTaxMapping(settings.taxPriorities, this.#catalogue.taxes),
      isFreeNumber: settings.isFreeNumber,
      actionRules: null,
    }
  }

  /** Throws `FieldError` with the path in the case. */
  play(event: CaseEvent): EventResult {
    const beginMs = this.#instantAt(event.urt ?? DEFAULT_URT, `${event.path}.urt`)
    const endMs =
      event.eurt === undefined ? beginMs : this.#instantAt(event.eurt, `${event.path}.eurt`)
    if (endMs < beginMs) throw new FieldError(`${event.path}.eurt`, 'must not be before urt')
    if (endMs - beginMs > this.#spanMsMax) {
      const days = Math.floor(this.#spanMsMax / DAY_MS)
      throw new FieldError(`${event.path}.eurt`, `must be at most ${days} days after urt`)
    }
    this.#nowMs = Math.max(this.#nowMs, beginMs)
    const units = toScale(event.usagev, this.#unitDigits)
    if (units === null) throw new FieldError(`${event.path}.usagev`, 'is too large: 2^53 or more')
    const profile = this.#profileAt(event.sid, beginMs)
    if (units < 0) return this.#reverse(event, -units, beginMs, profile)
    if (units === 0 && !event.isRefund) return this.#quoteZeroUnits(event, beginMs, profile)
    this.#checkSession(event)
    const state = this.#stateOf(event, profile)
    return this.#use(event, { units, beginMs, endMs }, state, profile)
  }

  #instantAt(value: unknown, path: string): number {
    const isPlain = typeof value === 'string' || typeof value === 'number'
    const atMs = isPlain ? instantFrom(String(value), this.#base.calendar.zone) : null
    if (atMs !== null) return atMs
    const suffix = typeof value === 'string' ? `, is '${value}'` : ''
    throw new FieldError(path, `must be a date or unix seconds${suffix}`)
  }

  /** Null if there is no such subscriber at that time. */
  #profileAt(sid: number | null, atMs: number): SubscriberProfile | null {
    const requestedSid = sid ?? this.#profiles[0]?.sid
    const found = this.#profiles.find(
      (profile) => profile.sid === requestedSid && atMs >= profile.fromMs && atMs < profile.toMs,
    )
    if (found === undefined) return null
    const members = this.#profiles.filter(
      ({ aid, fromMs, toMs }) => aid === found.aid && atMs >= fromMs && atMs < toMs,
    )
    return { ...found, pool: members }
  }

  #checkSession({ sessionId, isRefund, path }: CaseEvent): void {
    if (isRefund || sessionId === '' || !this.#sessions.has(sessionId)) return
    throw new FieldError(`${path}.session_id`, 'is used by an earlier event')
  }

  #stateOf({ sessionId }: CaseEvent, profile: SubscriberProfile | null): TrialState {
    const { aid, sid } = profile ?? { aid: 0, sid: 0 }
    const ownerOf = (id: number) => this.#owners.get(`${aid}:${id}`) ?? emptyOwner(aid, id)
    return {
      subscriber: ownerOf(sid),
      account: ownerOf(0),
      session: this.#sessions.get(sessionId) ?? null,
    }
  }

  #store(sessionId: string, { subscriber, account, session }: TrialState): void {
    const { aid, sid } = subscriber
    this.#owners.set(`${aid}:${sid}`, subscriber)
    this.#owners.set(`${aid}:0`, account)
    if (sessionId !== '' && session !== null) this.#sessions.set(sessionId, session)
  }

  /** Requests the whole volume, uses what is granted and releases; an event in one step. */
  #use(
    event: CaseEvent,
    { units, beginMs, endMs }: { units: number; beginMs: number; endMs: number },
    state: TrialState,
    profile: SubscriberProfile | null,
  ): EventResult {
    const lines: Line[] = []
    const kind = event.isOneShot ? 'event' : 'start'
    const context = this.#contextOf(profile)
    const startRequest = { ...requestOf(event, kind, units), eventTimeMs: beginMs }
    const outcome = this.#send(startRequest, state, context, lines)
    const granted = outcome.services[0]?.granted ?? 0
    if (kind === 'start' && granted > 0) {
      this.#nowMs = Math.max(this.#nowMs, endMs)
      const released = { ...requestOf(event, 'release', 0), eventTimeMs: endMs }
      const [service] = released.services as [ServiceRequest]
      service.used = granted
      const then = this.#profileAt(event.sid, usedAt(endMs, beginMs)) ?? profile
      this.#send(released, state, this.#contextOf(then), lines)
    }
    this.#store(event.sessionId, state)
    return resultOf(outcome, lines, this.#unitDigits)
  }

  #contextOf(profile: SubscriberProfile | null): ChargeContext {
    return { ...this.#base, profile, nowMs: this.#nowMs }
  }

  /** Decides a request and applies its commit to the state. */
  #send(
    request: ChargeRequest,
    state: TrialState,
    context: ChargeContext,
    lines: Line[],
  ): ChargeOutcome {
    this.#requests += 1
    const numbered = { ...request, requestNumber: this.#requests }
    const sessionKey = request.sessionId
    const identified = { request: numbered, sessionKey, digest: digestOf(numbered) }
    const { outcome, commit } = chargeSession(state, identified, context)
    if (commit === null) return outcome
    state.subscriber = commit.subscriber
    state.account = commit.account ?? state.account
    state.session = commit.session
    lines.push(...commit.lines)
    return outcome
  }

  /** Zero units are free, even for denied subscribers; the result has the rate. */
  #quoteZeroUnits(event: CaseEvent, atMs: number, profile: SubscriberProfile | null): EventResult {
    if (profile === null) return deniedResult('unknownSubscriber')
    const [service] = requestOf(event, 'start', 0).services as [ServiceRequest]
    const usage = { service, fields: event.fields, atMs, nowMs: this.#nowMs }
    const rated = rateService(this.#contextOf(profile), profile, usage)
    return typeof rated === 'string' ? deniedResult(rated) : emptyResult(rated.start)
  }

  /** Reverses the price of the volume without included units; does not change any state. */
  #reverse(
    event: CaseEvent,
    units: number,
    atMs: number,
    profile: SubscriberProfile | null,
  ): EventResult {
    const { aid, sid } = profile ?? { aid: 0, sid: 0 }
    const state = { subscriber: emptyOwner(aid, sid), account: emptyOwner(aid, 0), session: null }
    const lines: Line[] = []
    const request = { ...requestOf(event, 'event', units), eventTimeMs: atMs }
    const context = {
      ...this.#contextOf(profile && bareProfile(profile)),
      catalogue: bareCatalogue(this.#catalogue),
    }
    const outcome = this.#send(request, state, context, lines)
    for (const service of outcome.services) service.granted = 0 - service.granted
    return resultOf(outcome, lines.map(negated), this.#unitDigits)
  }
}

/** Conventional default tax of existing installations, used if a case names none. */
const CONVENTIONAL_DEFAULT_TAX = 'DEFAULT_VAT'

function conventionalDefaultTax({ taxes }: Catalogue): string | null {
  return taxes.has(CONVENTIONAL_DEFAULT_TAX) ? CONVENTIONAL_DEFAULT_TAX : null
}

function requestOf(
  event: CaseEvent,
  kind: ChargeRequest['kind'],
  requested: number,
): ChargeRequest {
  const { usaget, calledNumber, rateKey, ratingGroup, fields, isRefund } = event
  return {
    kind,
    origin: 'quote',
    sessionId: event.sessionId === '' ? event.path : event.sessionId,
    requestNumber: -1,
    stamp: '',
    rules: '',
    subscriberKey: 'sid',
    subscriberValue: String(event.sid ?? ''),
    eventTimeMs: 0,
    eventTimeGiven: true,
    services: isRefund
      ? []
      : [serviceRequest({ ratingGroup, usaget, requested, calledNumber, rateKey })],
    wantBalances: false,
    pretend: false,
    refund: isRefund,
    fields,
  }
}
