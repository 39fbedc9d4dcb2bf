/** Credit control as JSON, by AVP names or codes, as network elements of the tests write it. */
import { FIRST_SID } from '../../product/population.ts'
import type { Fields } from '../exchange.ts'
import type { DialectAdapter } from './adapter.ts'

const REQUEST_TYPES: Readonly<Record<string, number>> = {
  start_request: 1,
  update_request: 2,
  release_request: 3,
  event_request: 4,
}

/** Return codes of plain JSON; several share one code, and are distinguished by their text. */
const RETURN_CODES: Readonly<Record<number, number>> = {
  2001: 1,
  4012: -1,
  5030: -2,
  5031: -3,
  4010: -11,
  5002: -7,
}

/** Services of several contexts: each names its own unless its units imply it. */
const CONTEXTS: Readonly<Record<string, string>> = { sms: '32274@3gpp.org' }

const UNITS: Readonly<Record<string, string>> = {
  data: 'CC-Total-Octets',
  call: 'CC-Time',
  sms: 'CC-Service-Specific-Units',
}

/** Codes by name, of every AVP written and read here. */
const CODES: Readonly<Record<string, string>> = {
  'Session-Id': '263',
  'Service-Context-Id': '461',
  'CC-Request-Type': '416',
  'CC-Request-Number': '415',
  'Subscription-Id': '443',
  'Subscription-Id-Type': '450',
  'Subscription-Id-Data': '444',
  'Multiple-Services-Credit-Control': '456',
  'Rating-Group': '432',
  'Requested-Action': '436',
  'Requested-Service-Unit': '437',
  'Used-Service-Unit': '446',
  'Granted-Service-Unit': '431',
  'CC-Total-Octets': '421',
  'CC-Time': '420',
  'CC-Service-Specific-Units': '417',
  'Result-Code': '268',
  'Final-Unit-Indication': '430',
  'Error-Message': '281',
  'Validity-Time': '448',
}
const NAMES = Object.fromEntries(Object.entries(CODES).map(([name, code]) => [code, name]))

function renamed(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [names[name] ?? name, renamed(inner, names)]),
  )
}

const DIRECT_DEBITING = 0

interface Service {
  rating_group?: number
  usaget: string
  usagev?: number
  used_usagev?: number
}

function creditControl({ usaget, rating_group, usagev, used_usagev }: Service): Fields {
  const unit = UNITS[usaget] ?? ''
  const context = CONTEXTS[usaget]
  return {
    ...(context !== undefined && { 'Service-Context-Id': context }),
    ...(rating_group !== undefined && { 'Rating-Group': rating_group }),
    ...(usagev !== undefined && { 'Requested-Service-Unit': { [unit]: usagev } }),
    ...(used_usagev !== undefined && { 'Used-Service-Unit': { [unit]: used_usagev } }),
  }
}

function msisdnOf(sid: number): string {
  return `88800${String(sid).padStart(9, '0')}`
}

function requestOf(fields: Fields): Fields {
  const { record_type, session_id, request_num, sid, services = [] } = fields
  return {
    'Session-Id': session_id,
    'CC-Request-Type': REQUEST_TYPES[String(record_type)],
    'CC-Request-Number': request_num,
    ...(record_type === 'event_request' && { 'Requested-Action': DIRECT_DEBITING }),
    'Subscription-Id': [
      { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': msisdnOf(Number(sid ?? FIRST_SID)) },
    ],
    'Multiple-Services-Credit-Control': (services as Service[]).map(creditControl),
  }
}

interface Control {
  'Rating-Group'?: number
  'Result-Code': number
  'Granted-Service-Unit'?: Readonly<Record<string, number>>
  'Final-Unit-Indication'?: object
}

/** Before a boundary of the price, as the end of a cycle, there is a Tariff-Time-Change, too. */
function grantedUnits(granted: Readonly<Record<string, number>>): number {
  return Object.values(UNITS).reduce((units, name) => units + (granted[name] ?? 0), 0)
}

function codeOf(resultCode: number, message: unknown): number {
  if (String(message).includes('out of order')) return -9
  return RETURN_CODES[resultCode] ?? -20
}

/** The code of the message is success even where each service is denied. */
function overall(code: number, services: readonly { returnCode: number }[]): number {
  if (code !== 1 || services.some(({ returnCode }) => returnCode === 1)) return code
  return services[0]?.returnCode ?? code
}

function answerOf(answer: Fields): Fields {
  const controls = (answer['Multiple-Services-Credit-Control'] ?? []) as Control[]
  const services = controls.map((control) => ({
    rating_group: control['Rating-Group'],
    returnCode: codeOf(control['Result-Code'], ''),
    grantedVolume: grantedUnits(control['Granted-Service-Unit'] ?? {}),
    finalUnit: control['Final-Unit-Indication'] !== undefined,
  }))
  const code = codeOf(Number(answer['Result-Code']), answer['Error-Message'])
  return { sessionId: answer['Session-Id'], returnCode: overall(code, services), services }
}

const common = { path: '/realtime/diameter', contentType: 'application/json' }

export const diameterByName: DialectAdapter = {
  ...common,
  name: 'diameter by names',
  write: (fields) => JSON.stringify(requestOf(fields)),
  read: (text) => answerOf(JSON.parse(text) as Fields),
}

export const diameterByCode: DialectAdapter = {
  ...common,
  name: 'diameter by codes',
  write: (fields) => JSON.stringify(renamed(requestOf(fields), CODES)),
  read: (text) => answerOf(renamed(JSON.parse(text), NAMES) as Fields),
}
