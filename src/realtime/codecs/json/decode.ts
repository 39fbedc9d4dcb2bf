/** Decodes requests of the plain JSON format (docs/WIRE.md) into `ChargeRequest`. */
import { fieldAt } from '../../../domain/catalogue.ts'
import {
  type ChargeRequest,
  opensSession,
  type ServiceRequest,
  type SubscriberKey,
} from '../../../domain/charge-request.ts'
import { parseObject } from '../../../file-types/json-message.ts'
import {
  PLAIN_RECORD_TYPES,
  SESSION_ID_CHARS_MAX,
  SUBSCRIBER_CHARS_MAX,
} from '../../../file-types/plain-fields.ts'
import type { DecodeContext, Decoded, DecodeError } from '../codec.ts'
import { isGiven, JsonFieldReader, type JsonObject, UNUSABLE } from './fields.ts'
import { readServices } from './services.ts'
import { isUnusable } from './text.ts'

/** Values that the answer repeats, and options for its content. */
export interface JsonEnvelope {
  /** `record_type` as received: a name, or a code as number or text. */
  recordType: string | number
  sessionId: string
  /** -1 if the request has none. */
  requestNumber: number
  /** Whether the request has `services`; then the answer has, too. */
  isServiceList: boolean
  /** Whether the answer includes the cost of the session. */
  wantsCost: boolean
}

/** Limit for fields that rules read; any value that a rule compares is shorter. */
const FIELD_CHARS_MAX = 256

export function decode(body: Buffer, context: DecodeContext): Decoded<JsonEnvelope, ChargeRequest> {
  const object = parseObject(body)
  if (typeof object === 'string') return { ok: false, error: { field: 'body', why: object } }
  const recordType = object['record_type']
  const kind = PLAIN_RECORD_TYPES.get(recordType)
  if (kind === undefined) return { ok: false, error: recordTypeError(recordType) }

  const reader = new JsonFieldReader()
  const sessionId = reader.text(object['session_id'], 'session_id', SESSION_ID_CHARS_MAX)
  if (sessionId === '') reader.fail('session_id', 'is required')
  const requestNumber = reader.integer(object['request_num'], 'request_num', -1)
  const refund = reader.boolean(object['refund'], 'refund')
  if (refund && kind !== 'event') reader.fail('refund', 'is for an event_request only')
  const subscriberKey = readSubscriberKey(reader, object)
  const subscriberValue = readSubscriberValue(reader, object, subscriberKey)
  const services = readServices(reader, object, { kind, refund }, context.servicesMax)
  const fields = readFields(reader, object, context.keptFields)
  const needsSubscriber = opensSession(kind)
  if (needsSubscriber && subscriberKey === 'none' && !isIdentified(services, fields, context)) {
    reader.fail('sid', 'is required, or msisdn or imsi in its place')
  }
  const eventTimeMs = reader.eventTimeMs(object['urt'], 'urt', context)
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
    wantBalances: reader.boolean(object['balances'], 'balances'),
    pretend: reader.boolean(object['pretend'], 'pretend'),
    refund,
    fields,
  }
  const envelope: JsonEnvelope = {
    recordType: recordType as string | number,
    sessionId,
    requestNumber,
    isServiceList: isGiven(object['services']),
    wantsCost: reader.boolean(object['cost'], 'cost'),
  }
  return reader.error === null
    ? { ok: true, request, envelope }
    : { ok: false, error: reader.error }
}

function recordTypeError(value: unknown): DecodeError {
  const why = isGiven(value)
    ? 'must be start_request, update_request, release_request or event_request'
    : 'is required'
  return { field: 'record_type', why }
}

/**
 * The request fields that the configured rules read; null if absent. Values other than texts and
 * numbers are ignored.
 */
function readFields(
  reader: JsonFieldReader,
  object: JsonObject,
  names: readonly string[],
): ChargeRequest['fields'] {
  if (names.length === 0) return null
  const fields: Record<string, string> = {}
  for (const name of names) {
    const value = fieldAt(object, name)
    if (typeof value === 'number') {
      // Its last digits have been rounded, so it could identify another subscriber.
      const isExact = !Number.isInteger(value) || Number.isSafeInteger(value)
      if (!isExact) reader.fail(name, 'is too large for a number: it must be a text')
      fields[name] = String(value)
    }
    if (typeof value !== 'string') continue
    if (value.length > FIELD_CHARS_MAX) {
      reader.fail(name, `must have at most ${FIELD_CHARS_MAX} characters`)
    } else if (isUnusable(value)) reader.fail(name, UNUSABLE)
    fields[name] = value
  }
  return fields
}

/** Whether identification rules can determine the subscriber of a request that names none. */
function isIdentified(
  services: readonly ServiceRequest[],
  fields: ChargeRequest['fields'],
  { identifies, identifyingFields }: DecodeContext,
): boolean {
  if (fields === null || !services.some(({ usaget }) => identifies(usaget))) return false
  return identifyingFields.some((name) => fields[name] !== undefined)
}

function readSubscriberKey(reader: JsonFieldReader, object: JsonObject): SubscriberKey {
  let found: SubscriberKey = isGiven(object['sid']) ? 'sid' : 'none'
  if (isGiven(object['msisdn'])) found = onlyKey(reader, found, 'msisdn')
  if (isGiven(object['imsi'])) found = onlyKey(reader, found, 'imsi')
  return found
}

function onlyKey(reader: JsonFieldReader, found: SubscriberKey, key: SubscriberKey): SubscriberKey {
  if (found !== 'none') reader.fail(key, `cannot be given together with ${found}`)
  return key
}

function readSubscriberValue(
  reader: JsonFieldReader,
  object: JsonObject,
  key: SubscriberKey,
): string {
  if (key === 'none') return ''
  if (key !== 'sid') return reader.text(object[key], key, SUBSCRIBER_CHARS_MAX)
  const sid = reader.integer(object['sid'], key, 0)
  if (sid === 0) reader.fail(key, 'must be positive')
  return String(sid)
}
