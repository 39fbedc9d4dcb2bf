/** The answers of `/api/clock`. */
import {
  closed,
  date,
  flag,
  integer,
  listOf,
  mapOf,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import { component, nullable, success } from '../http/answer-schema.ts'

const CLOCK_VIEW = closed('The clock.', {
  now: date('The time.'),
  time_zone: text('Time zone of the node (IANA): `rating.timeZone`.'),
  ahead_ms: integer('Milliseconds ahead of the real time; negative if it is behind.'),
  test: flag('Whether it may be moved: `clock.test`.'),
  start: nullable(text('`clock.start`; null if it is not set.')),
})
export type ClockView = ValueOf<typeof CLOCK_VIEW>

const RAN_WORK = component(
  'ranWork',
  'A run that had an effect, or failed.',
  {
    job: text('`sessions`, or the kind of the job, such as `retention`.'),
    subject: text('What the job works on, such as `lines`; may be empty.'),
    at: date('Time of the installation.'),
    counts: mapOf(integer('A number.'), 'What was done.'),
    error: text('Why it has failed.'),
  },
  ['error'],
)
export type RanWork = ValueOf<typeof RAN_WORK>

const MOVED_CLOCK = closed('What was done.', {
  from: date('The time before the move.'),
  now: date('The time after it.'),
  ran: listOf(RAN_WORK, 'In the order in which it ran.'),
  runs: mapOf(integer('Number of runs.'), 'All runs by job.'),
})
export type MovedClock = ValueOf<typeof MOVED_CLOCK>

export const CLOCK_ANSWER = success('clockAnswer', 'The clock of the installation.', CLOCK_VIEW)
export const MOVED_ANSWER = success(
  'movedAnswer',
  'The clock was moved, and everything due between has run.',
  MOVED_CLOCK,
  {
    input: closed('The parameters.', { to: text('As it was sent.') }),
  },
)
