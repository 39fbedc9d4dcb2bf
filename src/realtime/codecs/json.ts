import { fieldAt } from '../../domain/catalogue.ts'
import {
  type ChargeOutcome,
  type Reason,
  reasons,
  type ServiceOutcome,
} from '../../domain/charge-outcome.ts'
import {
  type ChargeRequest,
  opens,
  type RequestKind,
  type ServiceRequest,
  type SubscriberKey,
} from '../../domain/charge-request.ts'
import type { Codec, DecodeContext, Decoded, DecodeError } from './codec.ts'
import { encodeBalances } from './json-balances.ts'
import { FieldReader, type JsonObject, SUBSCRIBER_CHARS_MAX } from './json-fields.ts'
import { isObject, parseObject } from './json-parse.ts'
import { encodeQuote } from './json-quote.ts'
import { quote } from './json-text.ts'

/** What the answer repeats from the request. */
export interface JsonEnvelope {
  /** `record_type` as it was sent. */
  recordType: string
  sessionId: string
  /** -1 if the request carried none. */
  requestNumber: number
  /** Whether the request used `services`; then the answer does, too. */
  isServiceList: boolean
}

/** The JSON dialect of docs/WIRE.md. */
export const jsonCodec = {
  contentType: 'application/json',
  decode,
  encode,
  encodeError,
} satisfies Codec<JsonEnvelope>

const SESSION_ID_CHARS_MAX = 256
const RATING_GROUP_MAX = 2 ** 32 - 1
const USAGET = /^[a-zA-Z0-9_]{1,64}$/
/** A field that rules read: anything that a rule compares is shorter. */
const FIELD_CHARS_MAX = 256
const SERVICE_FIELDS = ['usaget', 'usagev', 'used_usagev', 'called_number', 'rating_group'] as const

const kinds = new Map<unknown, RequestKind>([
  ['start_request', 'start'],
  ['update_request', 'update'],
  ['release_request', 'release'],
  ['event_request', 'event'],
  ['initial_request', 'start'],
  ['final_request', 'release'],
])

function decode(body: Buffer, context: DecodeContext): Decoded<JsonEnvelope, ChargeRequest> {
  const object = parseObject(body)
  if (typeof object === 'string') return { ok: false, error: { field: 'body', why: object } }
  const kind = kinds.get(object['record_type'])
  if (kind === undefined) return { ok: false, error: recordTypeError(object['record_type']) }

  const reader = new FieldReader()
  const sessionId = reader.text(object, 'session_id', SESSION_ID_CHARS_MAX)
  if (sessionId === '') reader.fail('session_id', 'is required')
  const requestNumber = reader.integer(object, 'request_num', -1)
  const refund = readRefund(reader, object, kind)
  const subscriberKey = readSubscriberKey(reader, object)
  const subscriberValue = readSubscriberValue(reader, object, subscriberKey)
  const services = readServices(reader, object, { kind, refund }, context.servicesMax)
  const fields = readFields(reader, object, context.keptFields)
  const needsSubscriber = opens(kind)
  if (needsSubscriber && subscriberKey === 'none' && !isIdentified(services, fields, context)) {
    reader.fail('sid', 'is required, or msisdn or imsi in its place')
  }
  const eventTimeMs = reader.eventTimeMs(object, 'urt', context)
  const eventTimeGiven = eventTimeMs >= 0
  const request: ChargeRequest = {
    kind,
    origin: context.origin,
    sessionId,
    requestNumber,
    stamp: '',
    rules: '',
    subscriberKey,
    subscriberValue,
    eventTimeMs: eventTimeGiven ? eventTimeMs : context.nowMs,
    eventTimeGiven,
    services,
    wantBalances: reader.boolean(object, 'balances'),
    pretend: reader.boolean(object, 'pretend'),
    refund,
    fields,
  }
  if (reader.error !== null) return { ok: false, error: reader.error }
  const recordType = object['record_type'] as string
  const isServiceList = isGiven(object['services'])
  return { ok: true, request, envelope: { recordType, sessionId, requestNumber, isServiceList } }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function recordTypeError(value: unknown): DecodeError {
  const why = isGiven(value)
    ? 'must be start_request, update_request, release_request or event_request'
    : 'is required'
  return { field: 'record_type', why }
}

function readRefund(reader: FieldReader, object: JsonObject, kind: RequestKind): boolean {
  const refund = reader.boolean(object, 'refund')
  if (refund && kind !== 'event') reader.fail('refund', 'is for an event_request only')
  return refund
}

/**
 * The request's fields that the configured rules read; null where there are none of them. What is
 * neither text nor number is no field to them.
 */
function readFields(
  reader: FieldReader,
  object: JsonObject,
  names: readonly string[],
): ChargeRequest['fields'] {
  if (names.length === 0) return null
  const fields: Record<string, string> = {}
  for (const name of names) {
    const value = fieldAt(object, name)
    if (typeof value === 'number') fields[name] = String(value)
    if (typeof value !== 'string') continue
    if (value.length > FIELD_CHARS_MAX) {
      reader.fail(name, `must have at most ${FIELD_CHARS_MAX} characters`)
    }
    fields[name] = value
  }
  return fields
}

/** Whether the rules of identification can tell the subscriber of a request that names none. */
function isIdentified(
  services: readonly ServiceRequest[],
  fields: ChargeRequest['fields'],
  { identifies, identifyingFields }: DecodeContext,
): boolean {
  if (fields === null || !services.some(({ usaget }) => identifies(usaget))) return false
  return identifyingFields.some((name) => fields[name] !== undefined)
}

function readSubscriberKey(reader: FieldReader, object: JsonObject): SubscriberKey {
  let found: SubscriberKey = 'none'
  for (const key of ['sid', 'msisdn', 'imsi'] as const) {
    if (!isGiven(object[key])) continue
    if (found !== 'none') reader.fail(key, `cannot be given together with ${found}`)
    found = key
  }
  return found
}

function readSubscriberValue(reader: FieldReader, object: JsonObject, key: SubscriberKey): string {
  if (key === 'none') return ''
  if (key !== 'sid') return reader.text(object, key, SUBSCRIBER_CHARS_MAX)
  const sid = reader.integer(object, key, 0)
  if (sid === 0) reader.fail(key, 'must be positive')
  return String(sid)
}

/** What of a request decides which fields its services need. */
type RequestForm = Pick<ChargeRequest, 'kind' | 'refund'>

function readServices(
  reader: FieldReader,
  object: JsonObject,
  form: RequestForm,
  servicesMax: number,
): ServiceRequest[] {
  const list = object['services']
  const single = SERVICE_FIELDS.find((field) => isGiven(object[field]))
  if (isGiven(list)) {
    if (single === undefined) return readServiceList(reader, list, form, servicesMax)
    reader.fail('services', `cannot be given together with ${single}`)
    return []
  }
  const isOptional = form.kind === 'update' || form.kind === 'release' || form.refund
  if (single === undefined && isOptional) return []
  return [readService(reader, object, form)]
}

function readServiceList(
  reader: FieldReader,
  list: unknown,
  form: RequestForm,
  servicesMax: number,
): ServiceRequest[] {
  if (!Array.isArray(list) || list.length === 0 || list.length > servicesMax) {
    reader.fail('services', `must be a list of 1 to ${servicesMax} services`)
    return []
  }
  const services: ServiceRequest[] = []
  for (let index = 0; index < list.length; index += 1) {
    reader.service = index
    const item: unknown = list[index]
    if (isObject(item)) {
      const service = readService(reader, item, form)
      if (services.some((other) => isSameService(other, service))) {
        reader.fail('usaget', 'repeats a service: rating_group and usaget are equal')
      }
      services.push(service)
    }
    reader.service = -1
    if (!isObject(item)) reader.fail(`services.${index}`, 'must be an object')
  }
  return services
}

/** What names a service within its session; a called number may change while it goes on. */
function isSameService(one: ServiceRequest, other: ServiceRequest): boolean {
  return one.ratingGroup === other.ratingGroup && one.usaget === other.usaget
}

function readService(
  reader: FieldReader,
  object: JsonObject,
  { kind, refund }: RequestForm,
): ServiceRequest {
  const usaget = object['usaget']
  if (!isGiven(usaget)) {
    reader.fail('usaget', 'is required')
  } else if (typeof usaget !== 'string' || !USAGET.test(usaget)) {
    reader.fail('usaget', 'must have 1 to 64 letters, digits or underscores')
  }
  const isFirst = opens(kind)
  const requested = reader.integer(object, 'usagev', -1)
  if (isFirst && requested < 0 && !refund) reader.fail('usagev', 'is required')
  const used = reader.integer(object, 'used_usagev', 0)
  if (isFirst && used > 0) reader.fail('used_usagev', `must be 0 or absent in a ${kind}_request`)
  return {
    ratingGroup: reader.integer(object, 'rating_group', -1, RATING_GROUP_MAX),
    usaget: typeof usaget === 'string' ? usaget : '',
    // A release asks for nothing more, whatever some network elements put there.
    requested: kind === 'release' ? -1 : requested,
    used,
    calledNumber: reader.text(object, 'called_number', SUBSCRIBER_CHARS_MAX),
    isTotal: false,
    rateKey: '',
    untaxed: false,
    fields: null,
  }
}

function encode(envelope: JsonEnvelope, outcome: ChargeOutcome): string {
  const { recordType, requestNumber, sessionId } = envelope
  const { sid, transactionId, balances } = outcome
  let text = `${head(outcome.reason, outcome.detail)},"requestType":"${recordType}"`
  if (requestNumber >= 0) text += `,"requestNum":${requestNumber}`
  text += `,"sessionId":${quote(sessionId)}`
  if (sid !== 0) text += `,"sid":${sid}`
  if (transactionId !== '') text += `,"transactionId":${quote(transactionId)}`
  text += encodeGrants(envelope, outcome)
  if (balances !== null) text += encodeBalances(balances)
  return `${text}}`
}

function encodeError(error: DecodeError): string {
  return `${head('malformed', `${error.field} ${error.why}`)}}`
}

/** `status`, `returnCode` and `desc`, with the object left open. */
function head(reason: Reason, detail: string): string {
  const { status, code, text } = reasons[reason]
  const desc = detail === '' ? text : `${text}: ${detail}`
  return `{"status":${status === 'granted' ? 1 : 0},"returnCode":${code},"desc":${quote(desc)}`
}

/** A failure says nothing about grants: what was granted, if anything, is not known. */
function encodeGrants(envelope: JsonEnvelope, outcome: ChargeOutcome): string {
  if (reasons[outcome.reason].status === 'failed') return ''
  if (!envelope.isServiceList) return `,${encodeGrant(outcome.services[0])}`
  return `,"services":[${outcome.services.map(encodeService).join(',')}]`
}

function encodeGrant(service: ServiceOutcome | undefined): string {
  if (service === undefined) return '"grantedVolume":0,"validityTime":0,"finalUnit":false'
  const { granted, finalUnit } = service
  const validityTime = Math.ceil(service.validityMs / 1000)
  const grant = `"grantedVolume":${granted},"validityTime":${validityTime},"finalUnit":${finalUnit}`
  return service.quote === null ? grant : `${grant},${encodeQuote(service.quote)}`
}

function encodeService(service: ServiceOutcome): string {
  const group = service.ratingGroup < 0 ? '' : `"rating_group":${service.ratingGroup},`
  const { code } = reasons[service.reason]
  return `{${group}"usaget":${quote(service.usaget)},"returnCode":${code},${encodeGrant(service)}}`
}
