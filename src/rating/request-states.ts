/** The states of one request while its services are settled one after the other. */
import { present } from '../domain/assert.ts'
import type { OwnerState } from '../domain/bucket.ts'
import type { ChargeProgram, SegmentChange, Settlement } from '../domain/charge-program.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { CounterOwners } from '../domain/counters.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf } from '../domain/lines.ts'
import { appended, beginOfUse, EMPTY_RESERVATION, usedAt } from '../domain/segment.ts'
import {
  type SegmentStart,
  type ServiceSession,
  type Session,
  withServices,
} from '../domain/session.ts'
import { findService } from '../domain/session-services.ts'
import { settle } from '../domain/settle.ts'
import { begunBy, type ChargeContext, type ChargeView, type IdentifiedRequest } from './decision.ts'
import { openFundingSources } from './funding-sources.ts'
import { buildProgram } from './program.ts'
import type { RatedService } from './rated-service-cache.ts'
import type { Refund } from './refund.ts'
import type { WorkState } from './service-units.ts'

/** Optional parts of a charge program. */
type ProgramOptions = Partial<
  Pick<ChargeProgram, 'atMs' | 'carriedReservation' | 'carriesReservation' | 'after' | 'isUnused'>
>

export class RequestStates {
  #subscriber: OwnerState
  #account: OwnerState | null
  /** A copy, whose list of services is replaced and never changed in place. */
  readonly session: Session
  #lines: Line[] = []
  /** The session before the request. */
  readonly #before: Session
  readonly #request: ChargeRequest
  readonly #sessionKey: string
  readonly #context: ChargeContext

  constructor(
    view: ChargeView,
    session: Session,
    { request, sessionKey }: IdentifiedRequest,
    context: ChargeContext,
  ) {
    this.#subscriber = view.subscriber
    this.#account = view.account
    this.session = withServices(session, session.services)
    this.#before = session
    this.#request = request
    this.#sessionKey = sessionKey
    this.#context = context
  }

  /** Event time of the last known report before the request; the start by our clock without one. */
  lastReportMs(): number {
    const { openedMs, services } = this.#before
    let lastMs = 0
    for (const { reportedMs, segment } of services) {
      lastMs = Math.max(lastMs, reportedMs, segment?.counts.lastMs ?? 0)
    }
    return lastMs === 0 ? openedMs : lastMs
  }

  get lines(): Line[] {
    return this.#lines
  }

  get owners(): CounterOwners {
    const subscriber = this.#subscriber
    const account = this.#account
    return { subscriber, account }
  }

  set owners({ subscriber, account }: CounterOwners) {
    this.#subscriber = subscriber
    this.#account = account
  }

  snapshot(): WorkState {
    const { session } = this
    const subscriber = this.#subscriber
    const account = this.#account
    const lines = this.#lines
    return { subscriber, account, services: session.services, lines }
  }

  restore({ subscriber, account, services, lines }: WorkState): void {
    this.#subscriber = subscriber
    this.#account = account
    this.session.services = services
    this.#lines = lines
  }

  refunded({ subscriber, account, lines }: Refund): void {
    this.#subscriber = subscriber
    this.#account = account
    this.#lines = lines
  }

  /** Opens the counters of a rated service. Returns the segment start with its funding sources. */
  open(rated: RatedService): SegmentStart {
    const profile = present(this.#context.profile, 'profile of a rated service')
    const { owners, start } = openFundingSources(this.owners, rated, profile)
    this.owners = owners
    return start
  }

  settle(
    service: ServiceSession,
    used: number,
    requested: number,
    next: SegmentStart | null,
    end: ChargeProgram['end'],
    options: ProgramOptions = {},
  ): Settlement {
    const subscriber = this.#subscriber
    const account = this.#account
    const state = { subscriber, account, service }
    const { identity, segment, reservation } = service
    const { usaget } = identity
    const {
      atMs = this.#request.eventTimeMs,
      carriedReservation,
      carriesReservation,
      after,
      isUnused,
    } = options
    const exact = this.#request.kind === 'event'
    const usedMs = exact ? atMs : usedAt(atMs, beginOfUse(service, this.session))
    const begunMs = begunBy(atMs, this.#context)
    const reservedUnits = reservation.units
    const input = { usaget, used, requested, atMs, usedMs, begunMs, end, exact, reservedUnits }
    const program = buildProgram(this.#context.catalogue, state, segment, next, input)
    if (carriedReservation !== undefined && carriedReservation !== EMPTY_RESERVATION)
      program.carriedReservation = carriedReservation
    if (carriesReservation === true) program.carriesReservation = true
    if (after) program.after = after
    if (isUnused) program.isUnused = true
    const settled = settle(state, program)
    this.#subscriber = settled.subscriber
    this.#account = settled.account
    this.store(settled.service)
    for (const change of settled.changes) {
      if (change.state !== 'open') this.#addLine(settled.service, change)
    }
    return settled
  }

  /** Adds the service to the session, or replaces its previous state. */
  store(service: ServiceSession): void {
    const { session } = this
    const { services } = session
    const previous = findService(session, service.identity)
    if (previous === undefined) {
      session.services = appended(services, service)
      return
    }
    session.services = services.slice()
    session.services[services.indexOf(previous)] = service
  }

  #addLine(service: ServiceSession, change: SegmentChange): void {
    const { session } = this
    const index = session.services.indexOf(service)
    const tag = serviceTagOf(this.#sessionKey, session, index)
    this.#lines = appended(this.#lines, lineOf(session, service, change, tag))
  }
}
