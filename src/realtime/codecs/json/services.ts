/** Reads the services of a JSON request: a single one in fields of the request, or a list. */
import {
  type ChargeRequest,
  opensSession,
  type ServiceRequest,
  serviceIdentifierOf,
} from '../../../domain/charge-request.ts'
import { isSameService } from '../../../domain/identity.ts'
import { codeAt, lengthOf } from '../../../domain/text-codes.ts'
import {
  RATING_GROUP_MAX,
  SERVICE_IDENTIFIER_MAX,
  SERVICE_IDENTIFIERS_MAX,
  SUBSCRIBER_CHARS_MAX,
  USAGET_CHARS_MAX,
} from '../../../file-types/plain-fields.ts'
import { isGiven, isObject, type JsonFieldReader, type JsonObject } from './fields.ts'

/** Properties of a request that determine the required fields of its services. */
type RequestForm = Pick<ChargeRequest, 'kind' | 'refund'>

/** The services of the request; an empty list if it has none and none is required. */
export function readServices(
  reader: JsonFieldReader,
  object: JsonObject,
  form: RequestForm,
  servicesMax: number,
): ServiceRequest[] {
  const list = object['services']
  const single = singleField(object)
  if (isGiven(list)) {
    if (single === null) return readServiceList(reader, list, form, servicesMax)
    reader.fail('services', `cannot be given together with ${single}`)
    return []
  }
  const isOptional = form.kind === 'update' || form.kind === 'release' || form.refund
  if (single === null && isOptional) return []
  return [readService(reader, object, form)]
}

/** The first service field in the request itself. */
function singleField(object: JsonObject): string | null {
  if (isGiven(object['usaget'])) return 'usaget'
  if (isGiven(object['usagev'])) return 'usagev'
  if (isGiven(object['used_usagev'])) return 'used_usagev'
  if (isGiven(object['called_number'])) return 'called_number'
  if (isGiven(object['service_identifier'])) return 'service_identifier'
  return isGiven(object['rating_group']) ? 'rating_group' : null
}

function readServiceList(
  reader: JsonFieldReader,
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
    const item: unknown = list[index]
    if (!isObject(item)) {
      reader.fail(`services.${index}`, 'must be an object')
      continue
    }
    reader.service = index
    const service = readService(reader, item, form)
    if (services.some((other) => isSameService(other, service))) {
      const why = 'rating_group, service_identifier and usaget are equal'
      reader.fail('usaget', `repeats a service: ${why}`)
    }
    services.push(service)
    reader.service = -1
  }
  return services
}

function readService(
  reader: JsonFieldReader,
  object: JsonObject,
  { kind, refund }: RequestForm,
): ServiceRequest {
  const usaget = object['usaget']
  if (!isGiven(usaget)) {
    reader.fail('usaget', 'is required')
  } else if (typeof usaget !== 'string' || !isUsaget(usaget)) {
    reader.fail('usaget', 'must have 1 to 64 letters, digits or underscores')
  }
  const isFirst = opensSession(kind)
  const requested = reader.integer(object['usagev'], 'usagev', -1)
  if (isFirst && requested < 0 && !refund) reader.fail('usagev', 'is required')
  const used = reader.integer(object['used_usagev'], 'used_usagev', 0)
  if (isFirst && used > 0) reader.fail('used_usagev', `must be 0 or absent in a ${kind}_request`)
  return {
    ratingGroup: reader.integer(object['rating_group'], 'rating_group', -1, RATING_GROUP_MAX),
    serviceIdentifier: readServiceIdentifier(reader, object['service_identifier']),
    usaget: typeof usaget === 'string' ? usaget : '',
    // A release requests no units, although some network elements send some.
    requested: kind === 'release' ? -1 : requested,
    used,
    calledNumber: reader.text(object['called_number'], 'called_number', SUBSCRIBER_CHARS_MAX),
    usedBefore: -1,
    isTotal: false,
    rateKey: '',
    untaxed: false,
    checksCredit: false,
    parts: null,
    fields: null,
  }
}

/** Reads a number or a list of numbers. */
function readServiceIdentifier(reader: JsonFieldReader, value: unknown): string {
  const name = 'service_identifier'
  if (!isGiven(value)) return ''
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length > SERVICE_IDENTIFIERS_MAX) {
    reader.fail(name, `must have at most ${SERVICE_IDENTIFIERS_MAX} numbers`)
    return ''
  }
  const numbers = list.map((each) => reader.integer(each, name, 0, SERVICE_IDENTIFIER_MAX))
  return serviceIdentifierOf(numbers)
}

/** 1 to 64 ASCII letters, digits or underscores. */
function isUsaget(text: string): boolean {
  const length = lengthOf(text)
  if (length === 0 || length > USAGET_CHARS_MAX) return false
  for (let at = 0; at < length; at += 1) {
    const code = codeAt(text, at)
    const isLetter = (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)
    const isDigit = code >= 0x30 && code <= 0x39
    if (!isLetter && !isDigit && code !== UNDERSCORE) return false
  }
  return true
}

const UNDERSCORE = 0x5f
