/** Schemas of sessions in answers. */
import {
  choice,
  closed,
  integer,
  listOf,
  number,
  type Schema,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'

const SERVICES = listOf(
  closed('A service of the session.', {
    rating_group: integer('Rating group; -1 without one.'),
    service_identifier: {
      type: ['integer', 'array', 'null'],
      items: integer('An identifier.'),
      description: 'Service identifier, or several; null without one.',
    },
    usaget: text('Usage type.'),
    reserved: integer('Units that are granted and not reported yet.'),
    reserved_money: number('Money that is reserved.'),
    used: integer('Units reported so far.'),
  }),
  'Its services.',
)

const time = (description: string, type: unknown = 'string'): Schema => ({ type, description })

export const OPEN_SESSION = closed('An open session.', {
  origin: text('The network element and its format.'),
  session_id: text('Id of the session.'),
  aid: integer('Number of the account.'),
  sid: integer('Number of the subscriber.'),
  opened: time('When it was opened.'),
  expires: time('When it expires.'),
  last_report: time('Time of the last report of usage; null without one.', ['string', 'null']),
  request_num: {
    type: ['integer', 'null'],
    description: 'Number of the last request; null if the format has none.',
  },
  services: SERVICES,
})

export const RELEASED_SESSION = closed(
  'A session of the call.',
  {
    session_id: text('Id of the session.'),
    origin: text('The network element and its format.'),
    outcome: choice(
      ['asked', 'ended', 'refused'],
      '`asked`: its network element is asked to end it; `ended`: it is; `refused`: see `why`.',
    ),
    why: text('Why it was not ended.'),
    nodes_notified: {
      type: ['boolean', 'null'],
      description: 'Whether the nodes were told to end it; null if it did not come over Diameter.',
    },
    released: { ...SERVICES, description: 'Its services before, whose reservations are released.' },
  },
  ['why', 'nodes_notified', 'released'],
)

export type ReleasedSession = ValueOf<typeof RELEASED_SESSION>
