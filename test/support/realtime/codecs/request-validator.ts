/**
 * The validity of a charge request in any message format: derived from
 * src/domain/charge-request.ts, without the code of any decoder.
 */
import { isDeepStrictEqual } from 'node:util'

export interface Bounds {
  nowMs: number
  servicesMax: number
  eventAgeMsMax: number
  eventFutureMsMax: number
}

type Fields = Record<string, unknown>

const KEYS = [
  'eventTimeGiven',
  'eventTimeMs',
  'fields',
  'kind',
  'origin',
  'pretend',
  'refund',
  'requestNumber',
  'rules',
  'services',
  'sessionId',
  'stamp',
  'subscriberKey',
  'subscriberValue',
  'wantBalances',
]
const SERVICE_KEYS = [
  'calledNumber',
  'checksCredit',
  'fields',
  'isTotal',
  'parts',
  'rateKey',
  'ratingGroup',
  'requested',
  'serviceIdentifier',
  'untaxed',
  'usaget',
  'used',
  'usedBefore',
]
const STAMP_CHARS_MAX = 3 * 65_536

/** The problems of a request; empty if it is valid. */
export function problemsOf(request: unknown, bounds: Bounds): string[] {
  const problems: string[] = []
  const check = (holds: boolean, what: string) => {
    if (!holds) problems.push(what)
  }
  const fields = request as Fields
  check(isDeepStrictEqual(Object.keys(fields).sort(), KEYS), `keys ${Object.keys(fields)}`)
  const { kind, sessionId, requestNumber, subscriberKey, subscriberValue, services } = fields
  check(['start', 'update', 'release', 'event'].includes(String(kind)), 'kind')
  check(isText(fields['origin'], 1, 128), 'origin')
  check(isText(sessionId, 1, 256), 'sessionId')
  check(isWhole(requestNumber, -1), 'requestNumber')
  check(isText(fields['stamp'], 0, STAMP_CHARS_MAX), 'stamp')
  check(requestNumber === -1 || fields['stamp'] === '', 'stamp beside a number')
  check(/^(?:[0-9a-f]{64})?$/.test(String(fields['rules'])), 'rules')
  check(isSubscriber(subscriberKey, subscriberValue), 'subscriber')
  check(isWhole(fields['eventTimeMs'], bounds.nowMs - bounds.eventAgeMsMax), 'time')
  check(Number(fields['eventTimeMs']) <= bounds.nowMs + bounds.eventFutureMsMax, 'future')
  for (const key of ['eventTimeGiven', 'wantBalances', 'pretend', 'refund']) {
    check(typeof fields[key] === 'boolean', key)
  }
  check(fields['refund'] !== true || kind === 'event', 'refund of what is no event')
  check(areFields(fields['fields']), 'fields')
  check(Array.isArray(services) && services.length <= bounds.servicesMax, 'services')
  const list = services as Fields[]
  const opens = kind === 'start' || kind === 'event'
  for (const [index, service] of list.entries()) {
    for (const why of serviceProblems(service, opens, fields['refund'] === true)) {
      problems.push(`services.${index} ${why}`)
    }
  }
  const names = list.map(
    (one) => `${one['ratingGroup']} ${one['serviceIdentifier']} ${one['usaget']}`,
  )
  check(new Set(names).size === names.length, 'a service twice')
  check(isDeepStrictEqual(structuredClone(request), request), 'not plain data')
  return problems
}

function serviceProblems(service: Fields, opens: boolean, isRefund: boolean): string[] {
  const { requested, used } = service
  const checks: Record<string, boolean> = {
    keys: isDeepStrictEqual(Object.keys(service).sort(), SERVICE_KEYS),
    ratingGroup: isWhole(service['ratingGroup'], -1) && Number(service['ratingGroup']) < 2 ** 32,
    usaget: /^[A-Za-z0-9_-]{1,64}$/.test(String(service['usaget'])),
    requested: isWhole(requested, -1),
    used: isWhole(used, 0),
    usedBefore: isWhole(service['usedBefore'], -1) && Number(service['usedBefore']) <= Number(used),
    calledNumber: isText(service['calledNumber'], 0, 64),
    flags: ['isTotal', 'untaxed', 'checksCredit'].every(
      (name) => typeof service[name] === 'boolean',
    ),
    serviceIdentifier: isIdentifier(service['serviceIdentifier']),
    parts: service['parts'] === null || (service['parts'] as Fields[]).every(isPart),
    rateKey: service['rateKey'] === '',
    fields: areFields(service['fields']),
    'no volume': !opens || isRefund || Number(requested) >= 0,
    'used before it began': !opens || used === 0,
  }
  return Object.keys(checks).filter((name) => checks[name] === false)
}

/** Different numbers in ascending order. */
function isIdentifier(value: unknown): boolean {
  if (value === '') return true
  const numbers = String(value).split(',').map(Number)
  const isInOrder = numbers.every(
    (number, index) => index === 0 || number > Number(numbers[index - 1]),
  )
  return isInOrder && numbers.length <= 16 && numbers.every((number) => isWhole(number, 0))
}

function isPart(part: Fields): boolean {
  const { role, usaget, requested, used, usedBefore } = part
  return (
    Object.keys(part).length === 5 &&
    ['beside', 'preferred', 'held'].includes(String(role)) &&
    /^[A-Za-z0-9_-]{1,64}$/.test(String(usaget)) &&
    isWhole(requested, -1) &&
    isWhole(used, 0) &&
    isWhole(usedBefore, -1) &&
    Number(usedBefore) <= Number(used)
  )
}

function isSubscriber(key: unknown, value: unknown): boolean {
  if (key === 'none') return value === ''
  if (key === 'sid') return /^[1-9]\d{0,15}$/.test(String(value)) && isWhole(Number(value), 1)
  return (key === 'msisdn' || key === 'imsi') && isText(value, 1, 64)
}

function areFields(value: unknown): boolean {
  if (value === null) return true
  return Object.values(value as object).every((text) => isText(text, 0, 256))
}

function isWhole(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min && !Object.is(value, -0)
}

const UNCLEAN = /[\p{Cc}\p{Cs}]/u

/** A text of up to this many characters, without control characters and half characters. */
export function isText(value: unknown, min: number, max: number): boolean {
  if (typeof value !== 'string' || value.length < min || value.length > max) return false
  return !UNCLEAN.test(value)
}
