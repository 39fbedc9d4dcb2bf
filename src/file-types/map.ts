/**
 * Maps a message to a charge request. Fields and rules were compiled from the document
 * (compile.ts); nothing of it is interpreted here.
 */
import { type ChargeRequest, opensSession, type ServiceRequest } from '../domain/charge-request.ts'
import type { EventTime } from './dates.ts'
import { DecodeErrors, TEXT_CHARS_MAX } from './decode-errors.ts'
import type {
  AnswerSettings,
  FieldProblem,
  MapContext,
  MappedRequest,
  Message,
} from './file-type.ts'
import type { Flag } from './flags.ts'
import { compilePath, type Path } from './paths.ts'
import type { RecordType } from './record-types.ts'
import { contentDigest, type FileTypeRules } from './rules.ts'
import { readServices, type ServicesPlan } from './services.ts'
import { joinParts, type SessionFields } from './session.ts'
import {
  isIdentified,
  missingSubscriber,
  retainedFieldsOf,
  type SubscriberField,
  subscriberFieldIn,
  subscriberValueOf,
} from './subscriber.ts'

export interface MapPlan {
  readonly name: string
  readonly recordType: (message: Message, errors: DecodeErrors) => RecordType
  readonly session: SessionFields
  /** Whether each message is a separate event, even if several have the same session id. */
  readonly isEventPerMessage: boolean
  readonly hide: (message: Message) => Message
  /** Null if messages have none, as records. */
  readonly requestNumber: Path | null
  readonly eventTime: EventTime
  readonly pretend: Flag | null
  readonly refund: Flag | null
  /** Null if every answer has balances when the document maps them. */
  readonly balances: Flag | null
  readonly wantsBalances: boolean
  readonly subscriberFields: readonly SubscriberField[]
  readonly rules: FileTypeRules
  readonly services: ServicesPlan
  /** By usage type. */
  readonly settings: (usaget: string) => AnswerSettings
}

/** See `FileType.map`. */
export function mapMessage(
  plan: MapPlan,
  original: Message,
  context: MapContext,
): MappedRequest | FieldProblem {
  const errors = new DecodeErrors()
  const record = plan.recordType(original, errors)
  const givenId = plan.session.read(original, errors)
  const message = plan.hide(original)
  const requestNumber = readRequestNumber(plan, message, errors)
  const pretend = plan.pretend?.read(message, errors) ?? false
  const refund = readRefund(plan, record, message, errors)
  const eventTimeMs = plan.eventTime(message, context, errors)
  const { services, skipped, entries, stamps } = readServices(
    plan.services,
    message,
    { record, refund, servicesMax: context.servicesMax, members: 1 },
    errors,
  )
  const stamp = stampOf(plan.services, stamps)
  const ownId = givenId || sessionIdOfEvent(plan, record, stamp, context, errors)
  // Without a request number, the stamp or the digest of the content distinguishes messages.
  const ownStamp = requestNumber < 0 ? stamp || context.bodyDigest() : ''
  const isEventOfMany = plan.isEventPerMessage && givenId !== ''
  const sessionId = isEventOfMany ? eventSession(givenId, ownStamp || String(requestNumber)) : ownId
  if (errors.problem !== null) return errors.problem

  const echo = {
    message,
    entries,
    requestType: record.value,
    recordType: record.name,
    sessionId: ownId,
    requestNumber,
    pretend,
  }
  const subscriber = subscriberFieldIn(plan.subscriberFields, message)
  const isSkipped = skipped.length > 0 && services.length === 0
  if (isSkipped && isFullySkipped(plan, record, subscriber)) return { request: null, skipped, echo }

  const fields = retainedFieldsOf(plan.rules.retained, message, errors)
  if (
    subscriber === null &&
    opensSession(record.kind) &&
    !isIdentified(plan.rules, services, fields)
  ) {
    return missingSubscriber(plan.subscriberFields, plan.rules.retained)
  }
  if (record.kind === 'start') markOpening(services, plan.settings)
  const request: ChargeRequest = {
    kind: record.kind,
    origin: `${context.origin}/${plan.name}`,
    sessionId,
    requestNumber,
    stamp: ownStamp,
    rules: plan.rules.key,
    subscriberKey: subscriber === null ? 'none' : subscriber.key,
    subscriberValue: subscriber === null ? '' : subscriberValueOf(subscriber, message, errors),
    eventTimeMs: eventTimeMs < 0 ? context.nowMs : eventTimeMs,
    eventTimeGiven: eventTimeMs >= 0,
    services,
    wantBalances: readBalances(plan, message, errors),
    pretend,
    refund,
    fields,
  }
  return errors.problem ?? { request, skipped, echo }
}

/**
 * If any service has no stamp, only the whole content distinguishes requests. All services of a
 * record have the same one.
 */
function stampOf({ isUsage, list }: ServicesPlan, stamps: readonly string[]): string {
  const isAlone = isUsage || (stamps.length === 1 && list === null)
  if (isAlone) return stamps[0] ?? ''
  return stamps.includes('') ? '' : joinParts(stamps)
}

/** Marks the services of a start that open the session without credit. */
export function markOpening(
  services: readonly ServiceRequest[],
  settings: MapPlan['settings'],
): void {
  for (const service of services) {
    const { action } = settings(service.usaget).finalUnit
    if (action === 'redirect' || action === 'restrict') service.opensWithoutCredit = true
  }
}

/**
 * Whether a message needs no charge request because all its services are skipped. Updates and
 * releases still maintain their session, and a start opens it if later messages may have charged
 * services.
 */
function isFullySkipped(
  { services }: MapPlan,
  { kind }: RecordType,
  subscriber: SubscriberField | null,
): boolean {
  if (kind === 'start') return services.list === null || subscriber === null
  return kind === 'event'
}

function readRequestNumber(
  { requestNumber }: MapPlan,
  message: Message,
  errors: DecodeErrors,
): number {
  return requestNumber === null ? -1 : errors.whole(requestNumber.in(message), requestNumber.name)
}

function readRefund(
  { refund }: MapPlan,
  record: RecordType,
  message: Message,
  errors: DecodeErrors,
): boolean {
  if (refund === null || !refund.read(message, errors)) return false
  if (record.kind !== 'event') errors.fail(refund.name, 'is for an event_request only')
  return true
}

function readBalances(plan: MapPlan, message: Message, errors: DecodeErrors): boolean {
  const { balances, wantsBalances } = plan
  if (balances === null) return wantsBalances
  return balances.read(message, errors)
}

/**
 * Session id of an event without one: its stamp, otherwise the digest of its content, so that the
 * same message is the same event.
 */
function sessionIdOfEvent(
  plan: MapPlan,
  record: RecordType,
  stamp: string,
  context: MapContext,
  errors: DecodeErrors,
): string {
  if (record.kind !== 'event') {
    errors.fail(plan.session.name, 'is required')
    return ''
  }
  if (stamp === '') return context.bodyDigest()
  if (plan.services.isUsage) return contentDigest(stamp)
  const id = `event;${stamp}`
  if (id.length > TEXT_CHARS_MAX) {
    errors.fail(plan.session.name, 'is required: stamp_fields are too long to stand for it')
  }
  return id
}

/**
 * Session id where every message is a separate event: combines the shared id with the stamp, since
 * an event closes its session.
 */
function eventSession(id: string, mark: string): string {
  const joined = joinParts([id, mark])
  return joined.length <= TEXT_CHARS_MAX ? joined : contentDigest(joined)
}

/** Default path of a field. */
export function builtInPath(name: string): Path {
  return compilePath(name) as Path
}
