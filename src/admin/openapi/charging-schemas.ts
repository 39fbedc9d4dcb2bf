/** Schemas of charge requests and answers in the plain JSON format (docs/WIRE.md). */
import {
  choice,
  closed,
  either,
  flag,
  integer,
  listOf,
  number,
  object,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { RECORD_COMPOUNDS } from '../../catalog/records/record-schemas.ts'
import { type Reason, reasons } from '../../domain/charge-outcome.ts'
import { ADDRESS_TYPES, FINAL_UNIT_ACTIONS } from '../../file-types/answer-settings.ts'
import {
  defaultFields,
  defaultServiceFields,
  defaultServicesName,
} from '../../file-types/default-response.ts'
import { httpStatus } from '../../file-types/http-status.ts'
import {
  PLAIN_RECORD_TYPES,
  RATING_GROUP_MAX,
  SERVICE_IDENTIFIER_MAX,
  SERVICE_IDENTIFIERS_MAX,
  SESSION_ID_CHARS_MAX,
  SUBSCRIBER_CHARS_MAX,
  USAGET_CHARS_MAX,
} from '../../file-types/plain-fields.ts'
import type { ReturnCodes } from '../../file-types/return-codes.ts'

const WHOLE_MAX = Number.MAX_SAFE_INTEGER

/** A number, or its digits as text. */
const whole = (description: string, minimum = 0, maximum = WHOLE_MAX): Schema =>
  either(
    description,
    integer('The number.', { minimum, maximum }),
    text('Its digits.', { pattern: '^\\d{1,16}$' }),
  )

const textOrNumber = (description: string, maxLength: number): Schema =>
  either(
    description,
    text('Without control characters.', { minLength: 1, maxLength }),
    integer('The same as text.'),
  )

const recordTypes = [...PLAIN_RECORD_TYPES.keys()]

const RECORD_TYPE = either(
  'Kind of the request.',
  choice(
    recordTypes.filter((value) => typeof value === 'string'),
    'Its name, or its code as text.',
  ),
  integer('Its code.', { enum: recordTypes.filter((value) => typeof value === 'number') }),
)

const identifier = (description: string) => whole(description, 0, SERVICE_IDENTIFIER_MAX)

const SERVICE_IDENTIFIER = either(
  'Distinguishes services of one rating group and usage type.',
  identifier('A number.'),
  { ...listOf(identifier('A number.'), 'Several.'), maxItems: SERVICE_IDENTIFIERS_MAX },
)

/** Fields of a service: of the request itself, or of each entry of `services`. */
const SERVICE_FIELDS: Readonly<Record<string, Schema>> = {
  usaget: text('Usage type.', { pattern: `^[A-Za-z0-9_]{1,${USAGET_CHARS_MAX}}$` }),
  usagev: whole(
    'Requested units (bytes, seconds, events); required for start and event. Absent in an ' +
      'update: only settle.',
  ),
  used_usagev: whole('Units used since the last report; 0 or absent for start and event.'),
  rating_group: whole('Rating group.', 0, RATING_GROUP_MAX),
  service_identifier: SERVICE_IDENTIFIER,
  called_number: textOrNumber('Called number or other destination.', SUBSCRIBER_CHARS_MAX),
}

function requestSchemas(servicesMax: number): Readonly<Record<string, Schema>> {
  const services = listOf(ref('chargedService'), 'In place of the service fields of the request.')
  return {
    chargedService: object('A service of a request.', SERVICE_FIELDS, ['usaget']),
    chargeRequest: object(
      'A charge request in the plain JSON format. Start and event name the subscriber by `sid`, ' +
        '`msisdn` or `imsi`, unless rules of identification do. Other fields are ignored, except ' +
        'those that rules read; null is the same as absent.',
      {
        record_type: RECORD_TYPE,
        session_id: textOrNumber('Identifies the session.', SESSION_ID_CHARS_MAX),
        request_num: whole(
          'Grows within the session. A repetition with the same number gets the same answer.',
        ),
        sid: whole('The subscriber.', 1),
        msisdn: textOrNumber('The subscriber by its number.', SUBSCRIBER_CHARS_MAX),
        imsi: textOrNumber('The subscriber by its SIM.', SUBSCRIBER_CHARS_MAX),
        urt: either(
          'Time of the event; absent: now.',
          text('ISO 8601, UTC without an offset, or unix seconds.'),
          number('Unix seconds.'),
        ),
        balances: flag('Return the balances.'),
        cost: flag('Return the cost of the session so far.'),
        pretend: flag('Price and answer, but move nothing.'),
        refund: flag('For an event: refund the earlier event, or the units of the services.'),
        services: { ...services, minItems: 1, maxItems: servicesMax },
        ...SERVICE_FIELDS,
      },
      ['record_type', 'session_id'],
    ),
  }
}

/** Codes of the outcomes that have this HTTP status, with their meaning. */
function returnCode(codes: ReturnCodes, status: number): Schema {
  const all = Object.keys(reasons) as Reason[]
  const found = all.filter((reason) => httpStatus[reason] === status)
  const meanings = new Map<number, string[]>()
  for (const reason of found) {
    const code = codes[reason]
    meanings.set(code, [...(meanings.get(code) ?? []), reasons[reason].text])
  }
  const lines = [...meanings].map(
    ([code, texts]) => `${code}: ${[...new Set(texts)].join(', or ')}`,
  )
  return integer(`${lines.join('. ')}.`, { enum: [...meanings.keys()] })
}

const BALANCE = closed(
  'A balance: prepaid credit, a group, the rest of a credit limit, or debt.',
  {
    pp_includes_external_id: integer('Number of the prepaid include.'),
    group: text('Name of the group, `credit`, `debt` or `account_debt`.'),
    charging_by: choice(['usagev', 'cost'], 'Units, or money.'),
    usaget: text('Usage type; empty for any.'),
    balance: number('Available credit, positive.'),
    reserved: number('Reserved for sessions.'),
    to: text('End of validity, ISO 8601.'),
    debt: number('Debt of the owner of the balance.'),
  },
  ['pp_includes_external_id', 'group', 'debt'],
)

/** By name in the answer; `returnCode` depends on the HTTP status. */
const ANSWER_FIELDS: Readonly<Record<string, Schema>> = {
  status: integer('1: granted.', { enum: [0, 1] }),
  desc: text('For people; may change.'),
  requestType: either('As sent.', text('A name.'), integer('A code.')),
  requestNum: integer('As sent.'),
  sessionId: text('As sent.'),
  sid: integer('The subscriber, if known.'),
  transactionId: text('Identifies the first processing of the request.'),
  cost: number('With `cost`: cost so far, before tax.'),
  grantedVolume: integer('Units that may be used now; replaces earlier grants.'),
  validityTime: integer('Validity of the grant in seconds.'),
  quotaHoldingTime: integer('Seconds without traffic after which the grant is to be returned.'),
  threshold: integer('Rest of the grant at which to request more.'),
  finalUnit: flag('No units are available after these.'),
  finalUnitAction: choice(
    FINAL_UNIT_ACTIONS.filter((action) => action !== 'none'),
    'What to do at the end of the units.',
  ),
  redirectAddress: text('Where the subscriber is redirected.'),
  redirectAddressType: choice(ADDRESS_TYPES, 'Kind of the address.'),
  restrictionFilters: listOf(text('A filter.'), 'Permitted traffic.'),
  policy: text('Policy under which the units are used.'),
  aprice: number('With `pretend`: price before tax.'),
  finalCharge: number('With `pretend`: price after tax.'),
  taxData: ref('taxData', 'With `pretend`: the taxes.'),
  inGroup: number('With `pretend`: units in groups.'),
  overGroup: number('With `pretend`: units beyond the groups.'),
  outGroup: number('With `pretend`: units without a matching group.'),
  rateKey: text('With `pretend`: the rate.'),
  rating: listOf(ref('ratingStep'), 'With `pretend`: steps of the price.'),
  balances: listOf(ref('chargeBalance'), 'With `balances`: the balances.'),
  [defaultServicesName]: listOf(ref('serviceAnswer'), 'For a request with `services`.'),
  rating_group: integer('As sent.'),
  service_identifier: either('As sent.', integer('A number.'), listOf(integer('One.'), 'Several.')),
  usaget: text('Usage type.'),
}

/** The named members of an answer, in the order of the answer. */
function answerSchema(
  description: string,
  code: Schema,
  fields: readonly { readonly response_field_name: string }[],
  required: readonly string[],
): Schema {
  const names = fields.map(({ response_field_name: name }) => name)
  const known = { ...ANSWER_FIELDS, returnCode: code }
  const members = names.map((name) => [name, known[name as keyof typeof known] ?? {}])
  const optional = names.filter((name) => !required.includes(name))
  return closed(description, Object.fromEntries(members), optional)
}

const RESULT = ['status', 'returnCode', 'desc'] as const
const ECHO = [...RESULT, 'requestType', 'sessionId'] as const
const REFUSED = defaultFields.head.slice(0, RESULT.length)

/** OpenAPI components. */
export function chargingSchemas(codes: ReturnCodes, servicesMax: number) {
  const { head, grant, tail } = defaultFields
  const services = { response_field_name: defaultServicesName }
  const members = [...head, ...grant, services, ...tail]
  const ofService = ['usaget', 'returnCode', 'grantedVolume', 'validityTime', 'finalUnit']
  const answered = returnCode(codes, 200)
  return {
    ...requestSchemas(servicesMax),
    chargeAnswer: answerSchema('Granted or denied.', answered, members, ECHO),
    serviceAnswer: answerSchema('One service.', answered, defaultServiceFields, ofService),
    chargeBalance: BALANCE,
    chargeRefusal: answerSchema('Refused.', returnCode(codes, 400), REFUSED, RESULT),
    chargeOverRate: answerSchema(
      'Refused: over the rate.',
      integer('Overloaded.', { const: codes.overloaded }),
      REFUSED,
      RESULT,
    ),
    chargeFailure: answerSchema(
      'Failed: repeat it. The outcome of a request that timed out is unknown.',
      returnCode(codes, 503),
      [...head, ...tail],
      RESULT,
    ),
    taxData: RECORD_COMPOUNDS['taxData'] ?? {},
    lineTax: RECORD_COMPOUNDS['lineTax'] ?? {},
    ratingStep: RECORD_COMPOUNDS['ratingStep'] ?? {},
  } satisfies Readonly<Record<string, Schema>>
}
