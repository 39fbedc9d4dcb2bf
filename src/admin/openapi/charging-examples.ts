/** Examples of charge requests and their answers: those of docs/WIRE.md, as tests require. */
import { type Reason, reasons } from '../../domain/charge-outcome.ts'
import type { ReturnCodes } from '../../file-types/return-codes.ts'
import { NEEDS_LENGTH } from '../../runtime/http-framing.ts'

const DATA = { usaget: 'data', rating_group: 10 } as const

/** Bodies of requests by name. */
export const CHARGE_REQUESTS: Readonly<Record<string, object>> = {
  start: {
    record_type: 'start_request',
    session_id: 'pgw1;1789000000;7',
    request_num: 0,
    msisdn: '972501234567',
    usagev: 10_485_760,
    ...DATA,
    urt: '2026-11-21T10:00:00Z',
    balances: true,
  },
  update: {
    record_type: 'update_request',
    session_id: 'pgw1;1789000000;7',
    request_num: 1,
    used_usagev: 9_000_000,
    usagev: 10_485_760,
    ...DATA,
    urt: 1_795_255_500,
  },
  release: {
    record_type: 'release_request',
    session_id: 'pgw1;1789000000;7',
    request_num: 2,
    used_usagev: 4_096_000,
    ...DATA,
    urt: '2026-11-21T12:10:00+02:00',
  },
  services: {
    record_type: 'update_request',
    session_id: 'pgw1;1789000000;8',
    request_num: 4,
    urt: '2026-11-21T10:00:00Z',
    services: [
      { ...DATA, used_usagev: 1_048_576, usagev: 5_242_880 },
      { ...DATA, rating_group: 20, used_usagev: '2097152', usagev: '5242880' },
      { usaget: 'call', called_number: '+44201234567', used_usagev: 60 },
    ],
  },
  event: {
    record_type: 'event_request',
    session_id: 'smsc-88f1',
    request_num: 0,
    sid: 2001,
    usaget: 'sms',
    usagev: 1,
    called_number: '972541112222',
  },
}

const BALANCES = [
  {
    pp_includes_external_id: 2,
    charging_by: 'usagev',
    usaget: 'data',
    balance: 1_063_256_064,
    reserved: 10_485_760,
    to: '2026-12-01T00:00:00.000Z',
  },
  {
    pp_includes_external_id: 1,
    charging_by: 'cost',
    usaget: '',
    balance: 24.5,
    reserved: 0,
    to: '2170-01-01T00:00:00.000Z',
  },
  {
    group: 'FAMILY_DATA',
    charging_by: 'usagev',
    usaget: '',
    balance: 2_000_000,
    reserved: 0,
    to: '2026-12-01T00:00:00.000Z',
  },
]

/** The first members of an answer. */
function head(codes: ReturnCodes, reason: Reason, detail = '') {
  const { status, text } = reasons[reason]
  const desc = detail === '' ? text : `${text}: ${detail}`
  return { status: status === 'granted' ? 1 : 0, returnCode: codes[reason], desc }
}

/** Answers with HTTP status 200 by name: to the requests above, and a denial. */
export function chargeAnswers(codes: ReturnCodes) {
  const granted = head(codes, 'granted')
  return {
    start: {
      ...granted,
      requestType: 'start_request',
      requestNum: 0,
      sessionId: 'pgw1;1789000000;7',
      sid: 2001,
      transactionId: '3f2a9c0d51e7b846',
      grantedVolume: 10_485_760,
      validityTime: 3600,
      finalUnit: false,
      balances: BALANCES,
    },
    services: {
      ...granted,
      requestType: 'update_request',
      requestNum: 4,
      sessionId: 'pgw1;1789000000;8',
      sid: 2001,
      transactionId: '0c1d2e3f40516273',
      services: [
        {
          ...{ rating_group: 10, usaget: 'data', returnCode: codes.granted },
          ...{ grantedVolume: 5_242_880, validityTime: 3600, finalUnit: false },
        },
        {
          ...{ rating_group: 20, usaget: 'data', returnCode: codes.noCredit },
          ...{ grantedVolume: 0, validityTime: 0, finalUnit: true, finalUnitAction: 'terminate' },
        },
        {
          ...{ usaget: 'call', returnCode: codes.granted },
          ...{ grantedVolume: 0, validityTime: 0, finalUnit: false },
        },
      ],
    },
    denied: {
      ...head(codes, 'unknownSubscriber'),
      requestType: 'start_request',
      requestNum: 0,
      sessionId: 's-1',
      grantedVolume: 0,
      validityTime: 0,
      finalUnit: false,
    },
  }
}

/** A start in the format of a built-in file type, and its answer. */
export interface ChargeExample {
  readonly request: string | object
  readonly answer: string | object
}

/** By file type: the start above and its answer. */
export function chargeExamples(codes: ReturnCodes): Readonly<Record<string, ChargeExample>> {
  const start = CHARGE_REQUESTS['start']
  const { grantedVolume, validityTime, finalUnit, balances, ...head } = chargeAnswers(codes).start
  const granted = { returnCode: codes.granted, grantedVolume, validityTime, finalUnit }
  const services = [{ rating_group: 10, usaget: 'data', ...granted }]
  const answer = { ...head, services, balances }
  return {
    diameter: DIAMETER,
    keyvalue: { request: pairsOf(start), answer: pairsOf(answer) },
    xml: {
      request: `${XML}${elementOf('request', start)}`,
      answer: `${XML}${elementOf('response', answer)}`,
    },
  }
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>'

/** No text of the examples needs escapes. */
function elementOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((each) => elementOf(name, each)).join('')
  if (value === '') return `<${name}/>`
  if (typeof value !== 'object' || value === null) return `<${name}>${value}</${name}>`
  const members = Object.entries(value).map(([member, each]) => elementOf(member, each))
  return `<${name}>${members.join('')}</${name}>`
}

const pairsOf = (message: unknown) => String(new URLSearchParams(flat('', message)))

function flat(path: string, value: unknown): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[path, String(value)]]
  return Object.entries(value).flatMap(([name, member]) =>
    flat(path === '' ? name : `${path}.${name}`, member),
  )
}

const DIAMETER: ChargeExample = {
  request: {
    'Session-Id': 'pgw1;1789000000;7',
    'Service-Context-Id': '32251@3gpp.org',
    'CC-Request-Type': 'INITIAL_REQUEST',
    'CC-Request-Number': 0,
    'Subscription-Id': [
      { 'Subscription-Id-Type': 'END_USER_E164', 'Subscription-Id-Data': '972501234567' },
    ],
    'Multiple-Services-Credit-Control': [
      { 'Rating-Group': 10, 'Requested-Service-Unit': { 'CC-Total-Octets': 10_485_760 } },
    ],
  },
  answer: {
    'Session-Id': 'pgw1;1789000000;7',
    'Result-Code': 'DIAMETER_SUCCESS',
    'Auth-Application-Id': 'Diameter Credit Control',
    'CC-Request-Type': 'INITIAL_REQUEST',
    'CC-Request-Number': 0,
    'CC-Session-Failover': 'FAILOVER_SUPPORTED',
    'Credit-Control-Failure-Handling': 'RETRY_AND_TERMINATE',
    'Multiple-Services-Credit-Control': [
      {
        'Granted-Service-Unit': { 'CC-Total-Octets': 10_485_760 },
        'Rating-Group': 10,
        'Validity-Time': 3600,
        'Result-Code': 'DIAMETER_SUCCESS',
      },
    ],
  },
}

/** Answers by HTTP status; `failed` has 503. */
export function chargeRefusals(codes: ReturnCodes, bodyBytesMax: number) {
  const malformed = (detail: string) => head(codes, 'malformed', detail)
  return {
    failed: {
      ...head(codes, 'timedOut'),
      requestType: 'update_request',
      requestNum: 3,
      sessionId: 's-1',
    },
    400: malformed('session_id is required'),
    401: malformed('authorization is required: Bearer KEY, or the key in x-api-key'),
    403: malformed('file_type xml may not be used with this key'),
    404: malformed('file_type nobody is unknown'),
    405: malformed('method must be POST'),
    411: malformed(`${NEEDS_LENGTH.field} ${NEEDS_LENGTH.why}`),
    413: malformed(`body must have at most ${bodyBytesMax} bytes`),
    415: malformed('content-type must be application/json'),
    429: head(codes, 'overloaded', 'rate is over 1 requests a second, the limit of this key'),
  } as const
}
