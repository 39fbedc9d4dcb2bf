/** Schema of events, as they are stored. */
import {
  choice,
  customFields,
  date,
  either,
  flag,
  integer,
  listOf,
  mapOf,
  number,
  object,
  open,
  text,
} from '../../entities/json-schema.ts'
import { DELIVERY_STATES, EVENT_TYPES } from './event-document.ts'

const SCALAR = {
  description: 'A value.',
  type: ['number', 'string', 'boolean', 'null'],
} as const
const RELATED = listOf(mapOf(text('A text.'), 'Type and key.'), 'Entities of the path.')
const SCALARS = listOf(SCALAR, 'Values.')

const CONDITION = open(
  object('A condition.', {
    type: text('Kind of condition.'),
    value: either('Value to compare with.', SCALAR, SCALARS),
    unit: text('Unit of the value.'),
    usaget: text('Usage type.'),
    property_type: text('Kind of amount.'),
    which: choice(['before', 'after'], 'The value that is compared.'),
    all_groups: flag('Whether all groups have to meet it.'),
    path: text('The path.'),
    paths: listOf(
      open(
        object('A path.', {
          path: text('The path.'),
          total_path: text('Path of the total.'),
          entity_type: text('Kind of entity.'),
          which: choice(['before', 'after'], 'The value that is compared.'),
          related_entities: RELATED,
        }),
      ),
      'Alternative paths.',
    ),
  }),
)

const THRESHOLD = open(
  object('A threshold.', {
    field: text('The field that is summed up.'),
    op: text('Comparison operator.'),
    value: either('Value to compare with.', SCALAR, SCALARS),
    unit: text('Unit of the value.'),
    usaget: either('Usage types.', text('One.'), listOf(text('A usage type.'), 'Several.')),
  }),
)

export const EVENT = {
  stamp: text('Unique id of the event; the same in each of its notifications.'),
  event_code: text('Name of the rule.'),
  event_type: choice(EVENT_TYPES, 'Kind of event.'),
  event_description: text('Description of the rule.'),
  matched_path: text('The path that met the rule.'),
  related_entities: RELATED,
  before: { ...SCALAR, description: 'The value before the request.' },
  after: { ...SCALAR, description: 'The value after it.' },
  based_on: choice(['monetary', 'usage'], 'What the value is.'),
  group_total: number('Total of the group.'),
  reached_constant: number('The constant that was reached.'),
  reached_constant_percentage: number('The same as a percentage.'),
  creation_time: date('Time of the event.'),
  start_notify_time: date('Begin of the last attempt to send it.'),
  notify_time: date('When the receiver accepted it.'),
  returned_value: text('The answer of the receiver.'),
  extra_params: object('Whose event it is.', {
    aid: integer('Number of the account.'),
    sid: integer('Number of the subscriber; 0 for the account.'),
    row: customFields('The usage, or the document of money.'),
  }),
  conditions: listOf(CONDITION, 'Conditions of the rule.'),
  action: object('The action of the rule on further usage.', {
    type: choice(['bar', 'redirect', 'throttle'], 'Its type.'),
    policy: text('Policy of a throttling.'),
    address: text('Address of a redirection.'),
    usaget: listOf(text('A usage type.'), 'Usage types; all if absent.'),
  }),
  thresholds: listOf(listOf(THRESHOLD, 'Thresholds of which all apply.'), 'Of a usage pattern.'),
  from: date('Begin of its window.'),
  to: date('End of its window.'),
  max_urt: date('The latest line that counts.'),
  rule_ref: text('Digest of the rule of a usage pattern.'),
  balance_ref: mapOf(integer('A number.'), 'The balance: `sid` and `bucket_id`.'),
  receiver: object('Where the rule sends it; absent keys: the settings.', {
    url: text('Address.'),
    method: choice(['get', 'post'], 'Method of HTTP.'),
    decoder: choice(['json', 'xml'], 'Format of its answer.'),
    notify_by_email: customFields('E-mail in addition.'),
  }),
  delivery: object('Its delivery.', {
    state: choice(DELIVERY_STATES, 'State.'),
    due: date('When it is sent next, while it is pending.'),
    attempts: integer('How often it was sent.'),
    claim: text('While a process sends it: its claim.'),
    error: text('Why the last attempt failed.'),
  }),
} as const
