/**
 * From a message to a charge request: the whole way, top to bottom. What is read and by which rule
 * was compiled from the document (compile.ts); nothing of it is interpreted here.
 */
import { type ChargeRequest, opensSession } from '../domain/charge-request.ts'
import type { EventTime } from './dates.ts'
import { DecodeErrors, TEXT_CHARS_MAX } from './decode-errors.ts'
import type { FieldProblem, MapContext, MappedRequest, Message } from './file-type.ts'
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
  readonly recordType: (message: Message, findings: DecodeErrors) => RecordType
  readonly session: SessionFields
  /** Each message is an event of its own, also where several name one session. */
  readonly isEventPerMessage: boolean
  readonly hide: (message: Message) => Message
  readonly requestNumber: Path
  readonly eventTime: EventTime
  readonly pretend: Flag
  readonly refund: Flag | null
  /** Null: every answer has balances if the document maps them. */
  readonly balances: Flag | null
  readonly wantsBalances: boolean
  readonly subscriberFields: readonly SubscriberField[]
  readonly rules: FileTypeRules
  readonly services: ServicesPlan
}

/** See `FileType.map`. */
export function mapMessage(
  plan: MapPlan,
  original: Message,
  context: MapContext,
): MappedRequest | FieldProblem {
  const findings = new DecodeErrors()
  const record = plan.recordType(original, findings)
  const givenId = plan.session.read(original, findings)
  const message = plan.hide(original)
  const requestNumber = findings.whole(plan.requestNumber.in(message), plan.requestNumber.name)
  const pretend = plan.pretend.read(message, findings)
  const refund = readRefund(plan, record, message, findings)
  const eventTimeMs = plan.eventTime(message, context, findings)
  const { services, skipped, entries, stamps } = readServices(
    plan.services,
    message,
    { record, refund, servicesMax: context.servicesMax, members: 1 },
    findings,
  )
  // One service that nothing stamps, and only the whole content tells requests apart.
  const isAlone = stamps.length === 1 && plan.services.list === null
  const stamp = isAlone ? (stamps[0] as string) : stamps.includes('') ? '' : joinParts(stamps)
  const ownId = givenId || sessionIdOfEvent(plan, record, stamp, context, findings)
  // Without a number, fields that nothing reads tell two messages apart as well as others.
  const ownStamp = requestNumber < 0 ? stamp || context.bodyDigest() : ''
  const isEventOfMany = plan.isEventPerMessage && givenId !== ''
  const sessionId = isEventOfMany ? eventSession(givenId, ownStamp || String(requestNumber)) : ownId
  if (findings.problem !== null) return findings.problem

  const echo = {
    message,
    entries,
    requestType: record.sent,
    recordType: record.name,
    sessionId: ownId,
    requestNumber,
    pretend,
  }
  const naming = subscriberFieldIn(plan.subscriberFields, message)
  const isSkipped = skipped.length > 0 && services.length === 0
  if (isSkipped && isFullySkipped(plan, record, naming)) return { request: null, skipped, echo }

  const fields = retainedFieldsOf(plan.rules.retained, message, findings)
  if (naming === null && opensSession(record.kind) && !isIdentified(plan.rules, services, fields)) {
    return missingSubscriber(plan.subscriberFields, plan.rules.retained)
  }
  const request: ChargeRequest = {
    kind: record.kind,
    origin: `${context.origin}/${plan.name}`,
    sessionId,
    requestNumber,
    stamp: ownStamp,
    rules: plan.rules.key,
    subscriberKey: naming === null ? 'none' : naming.key,
    subscriberValue: naming === null ? '' : subscriberValueOf(naming, message, findings),
    eventTimeMs: eventTimeMs < 0 ? context.nowMs : eventTimeMs,
    eventTimeGiven: eventTimeMs >= 0,
    services,
    wantBalances: readBalances(plan, message, findings),
    pretend,
    refund,
    fields,
  }
  return findings.problem ?? { request, skipped, echo }
}

/**
 * Whether a message is done with once all its services are skipped. A session lives on and ends
 * with its messages all the same, and it begins with them where later ones may have services that
 * are charged.
 */
function isFullySkipped(
  { services }: MapPlan,
  { kind }: RecordType,
  naming: SubscriberField | null,
): boolean {
  if (kind === 'start') return services.list === null || naming === null
  return kind === 'event'
}

function readRefund(
  { refund }: MapPlan,
  record: RecordType,
  message: Message,
  findings: DecodeErrors,
): boolean {
  if (refund === null || !refund.read(message, findings)) return false
  if (record.kind !== 'event') findings.fail(refund.name, 'is for an event_request only')
  return true
}

function readBalances(plan: MapPlan, message: Message, findings: DecodeErrors): boolean {
  const { balances, wantsBalances } = plan
  if (balances === null) return wantsBalances
  return balances.read(message, findings)
}

/**
 * The session id of an event that names none: what stamps it, or else all of it, so that the same
 * message again is the same event.
 */
function sessionIdOfEvent(
  plan: MapPlan,
  record: RecordType,
  stamp: string,
  context: MapContext,
  findings: DecodeErrors,
): string {
  if (record.kind !== 'event') {
    findings.fail(plan.session.name, 'is required')
    return ''
  }
  if (stamp === '') return context.bodyDigest()
  const id = `event;${stamp}`
  if (id.length > TEXT_CHARS_MAX) {
    findings.fail(plan.session.name, 'is required: stamp_fields are too long to stand for it')
  }
  return id
}

/**
 * The session of an event where all are events: with what tells it from others of the id that they
 * share, since an event closes its session.
 */
function eventSession(id: string, mark: string): string {
  const joined = joinParts([id, mark])
  return joined.length <= TEXT_CHARS_MAX ? joined : contentDigest(joined)
}

/** The name that a field has unless the document says otherwise. */
export function builtInPath(name: string): Path {
  return compilePath(name) as Path
}
