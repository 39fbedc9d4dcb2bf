/**
 * The actions of event rules on the services of a request (docs/EVENTS.md, "Actions"). Only further
 * grants are affected: used units are settled in any case.
 */
import type { ServiceOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import type { CounterOwners } from '../domain/counters.ts'
import { type ActionInForce, actionsInForce } from '../domain/events/actions-in-force.ts'
import type { SubscriberRules } from '../domain/events/rules.ts'
import { usesOf } from '../domain/events/uses.ts'
import type { Session } from '../domain/session.ts'
import { serviceOf } from '../domain/session-services.ts'
import {
  begunBy,
  type ChargeCommit,
  type ChargeContext,
  type ChargeView,
  type IdentifiedRequest,
} from './decision.ts'
import { activeServices, withUsageTotals } from './event-usage.ts'
import { validityOf } from './finish.ts'

interface ActionScope {
  identified: IdentifiedRequest
  context: ChargeContext
}

/**
 * The action in force for each service, in their order; null for none. `after`: the states
 * after the request, by which an event is not judged, since it is used at once.
 */
export function actionsOn(
  view: ChargeView,
  after: ChargeCommit,
  outcomes: readonly ServiceOutcome[],
  { identified, context }: ActionScope,
): (ActionInForce | null)[] | null {
  const { actionRules, profile } = context
  const { request } = identified
  if (actionRules === null || profile === null || request.kind === 'release') return null
  const { plan } = profile
  const { aid, sid } = view.subscriber
  const services = () => activeServices(context, identified, profile)
  const rules = actionRules.of({ aid, plan, services })
  if (rules === null) return null
  const owners = request.kind === 'event' ? view : counted(view, after, rules, identified, context)
  const { eventTimeMs } = request
  const using = { aid, sid, plan }
  const begunMs = begunBy(eventTimeMs, context)
  const inForce = actionsInForce(rules.rules, owners, using, eventTimeMs, begunMs)
  if (inForce.length === 0) return null
  const actions = request.services.map((service, index) => {
    const outcome = outcomes[index] as ServiceOutcome
    return mayBeStopped(service, outcome, after.session, context)
      ? firstFor(inForce, service, outcome)
      : null
  })
  return actions.some((action) => action !== null) ? actions : null
}

/** The states after the request, with the totals of usage that the rules need. */
function counted(
  view: ChargeView,
  after: ChargeCommit,
  { totals }: SubscriberRules,
  identified: IdentifiedRequest,
  context: ChargeContext,
): CounterOwners {
  const { subscriber, account } = after
  if (totals.length === 0) return { subscriber, account }
  const uses = usesOf(view.session, after, identified)
  return { subscriber: withUsageTotals(context, subscriber, totals, uses, identified), account }
}

/** Whether the request asks for units of the service that it would be granted by its rate. */
function mayBeStopped(
  service: ServiceRequest,
  { reason }: ServiceOutcome,
  session: Session,
  { isFreeNumber }: ChargeContext,
): boolean {
  const asks = service.requested > 0 || (service.requested === 0 && service.checksCredit)
  if (!asks || (reason !== 'granted' && reason !== 'noCredit')) return false
  // Free numbers are those of emergency services.
  return !isFreeNumber(service.calledNumber || serviceOf(session, service).identity.calledNumber)
}

function firstFor(
  inForce: readonly ActionInForce[],
  { usaget }: ServiceRequest,
  { reason, parts }: ServiceOutcome,
): ActionInForce | null {
  const found = inForce.find(({ action: { usagets } }) => {
    if (usagets === null || usagets.has(usaget)) return true
    return parts?.some((part) => usagets.has(part.usaget)) ?? false
  })
  if (found === undefined) return null
  return found.action.type === 'throttle' && reason !== 'granted' ? null : found
}

/** Whether the service is granted nothing. */
export function grantsNothing(inForce: ActionInForce | null): boolean {
  return inForce !== null && inForce.action.type !== 'throttle'
}

/** Services without credit that their start opens anyway are redirected or restricted at once. */
export function openWithoutCredit(
  outcomes: readonly ServiceOutcome[],
  request: ChargeRequest,
  context: ChargeContext,
): void {
  for (const [index, { opensWithoutCredit }] of request.services.entries()) {
    const outcome = outcomes[index]
    if (opensWithoutCredit !== true || outcome?.reason !== 'noCredit') continue
    outcome.reason = 'granted'
    outcome.finalUnit = true
    // The network element asks again when there may be credit.
    outcome.validityMs = validityOf(Number.POSITIVE_INFINITY, request, context)
  }
}

/** Changes the outcome of a service, which has no grant if `grantsNothing`. */
export function applyAction(
  outcome: ServiceOutcome,
  { action: { serviceAction }, untilMs }: ActionInForce,
  request: ChargeRequest,
  context: ChargeContext,
): void {
  // Its usage could not be settled.
  if (outcome.reason !== 'granted') return
  if (serviceAction?.type === 'throttle') {
    outcome.action = serviceAction
    return
  }
  outcome.finalUnit = true
  if (serviceAction === null || request.kind === 'event') {
    outcome.reason = 'capReached'
    return
  }
  outcome.action = serviceAction
  // The network element asks again when the state of the balance may be another one.
  outcome.validityMs = validityOf(untilMs, request, context)
}
