/** `activity`: calls and messages of a subscriber. */
import { Type } from '@sinclair/typebox'
import {
  closed,
  either,
  integer,
  listOf,
  nothing,
  number,
  text,
  type ValueOf,
} from '../../../catalog/entities/json-schema.ts'
import { type Fields, isUnset } from '../../../domain/fields.ts'
import { dateText } from '../../../entities/views.ts'
import { integerOf } from '../../../requests/cast-value.ts'
import { ActionError, parameterError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'

const ROWS_MAX = 100_000
/** Window without `from_date`. */
const WINDOW_MS = 30 * 24 * 3_600_000
const NOT_EXISTS = 'Subscriber not exists'
/** Shown if the line has them. */
const OPTIONAL_FIELDS = [
  'called_number',
  'calling_number',
  'usagev',
  'usaget',
  'calling_subs_first_ci',
  'called_subs_first_ci',
  'calling_subs_first_lac',
  'called_subs_first_lac',
] as const
const SHOWN = Object.fromEntries(['urt', ...OPTIONAL_FIELDS].map((name) => [name, 1]))

const NUMBER = either(
  'A phone number.',
  text('It.'),
  integer('Its digits.'),
  listOf(text('A number.'), 'Those of a subscriber with several.'),
  nothing('The record has none.'),
)
const CELL = either(
  'A cell or its area, as in the record.',
  text('It.'),
  number('It.'),
  nothing('None.'),
)

const ROW = closed(
  'A call or a message.',
  {
    date: text('Time, `YYYY-MM-DD hh:mm:ss` in local time.'),
    called_number: NUMBER,
    calling_number: NUMBER,
    usagev: number('Units.'),
    usaget: text('`call`, `incoming_call` or `sms`.'),
    calling_subs_first_ci: CELL,
    called_subs_first_ci: CELL,
    calling_subs_first_lac: CELL,
    called_subs_first_lac: CELL,
  },
  OPTIONAL_FIELDS,
)

export const activity = action({
  name: 'activity',
  level: 'read',
  about: 'Calls and messages of a subscriber, the oldest first',
  entityActions: () => [{ collection: 'lines', action: 'get' }],
  isReadByGet: true,
  parameters: Type.Object({
    sid: param.optional(param.json('Number of the subscriber.')),
    include_incoming: param.optional(param.flag('Received calls.')),
    include_outgoing: param.optional(param.flag('Calls.')),
    include_sms: param.optional(param.flag('Messages.')),
    from_date: param.optional(param.date('Start; 30 days ago by default.')),
    to_date: param.optional(param.date('End; now by default.')),
  }),
  answer: {
    details: listOf(ROW, `At most ${ROWS_MAX}.`),
  },
  example: {
    parameters: { sid: 7, include_outgoing: true, from_date: '2026-11-01' },
    answer: { details: [] },
  },
  async run(parameters, call) {
    const { sid, numberAt } = await subscriberOf(parameters.sid, call)
    const usagets = [
      ...(parameters.include_incoming === true ? ['incoming_call'] : []),
      ...(parameters.include_outgoing === true ? ['call'] : []),
      ...(parameters.include_sms === true ? ['sms'] : []),
    ]
    if (usagets.length === 0) {
      throw new ActionError(
        'At least one of include_incoming, include_outgoing, include_sms is needed',
        'refused',
      )
    }
    const {
      from_date: from = new Date(call.nowMs - WINDOW_MS),
      to_date: to = new Date(call.nowMs),
    } = parameters
    if (from.getTime() > to.getTime())
      throw new ActionError('from_date is after to_date', { path: 'from_date' })
    const filter = { sid, usaget: { $in: usagets }, urt: { $gte: from, $lte: to } }
    const rows = await call.catalog.reads.lines
      .find(filter as object, { projection: { ...SHOWN, _id: 0 } })
      .sort({ urt: 1 })
      .limit(ROWS_MAX)
      .toArray()
    return { details: rows.map((row) => rowOf(row as unknown as Fields, numberAt, call)) }
  },
})

interface Subscriber {
  readonly sid: number
  /** Its phone number at a time; undefined if it had none. */
  numberAt(atMs: number): unknown
}

/** A subscriber that exists or has existed. */
async function subscriberOf(value: unknown, call: ActionCall): Promise<Subscriber> {
  if (value === undefined || value === '')
    throw new ActionError(NOT_EXISTS, { path: 'sid', code: 'missing' })
  const sid = integerOf(value)
  if (sid === null) throw parameterError('sid', 'should be of type Integer')
  const revisions = await revisionsOf(sid, call)
  if (revisions.length === 0) throw new ActionError(NOT_EXISTS, 'target')
  const numberAt = (atMs: number) => revisions.findLast(({ fromMs }) => fromMs <= atMs)?.msisdn
  return { sid, numberAt }
}

interface NumberRevision {
  readonly fromMs: number
  readonly msisdn: unknown
}

/** The oldest first; of a customer system the current one only. */
async function revisionsOf(
  sid: number,
  { catalog, lookup, nowMs }: ActionCall,
): Promise<readonly NumberRevision[]> {
  const customers = await lookup.subscribers([sid], nowMs)
  if (customers !== null) {
    const current = customers.get(sid)
    return current === undefined ? [] : [{ fromMs: 0, msisdn: current['msisdn'] }]
  }
  const filter = { type: 'subscriber', sid, deleted: { $ne: true } } as const
  const stored = await catalog.reads.subscribers
    .find(filter)
    .project<{ from: Date; msisdn?: unknown }>({ from: 1, msisdn: 1 })
    .sort({ from: 1 })
    .toArray()
  return stored.map(({ from, msisdn }) => ({ fromMs: from.getTime(), msisdn }))
}

/** The party of a call or message that is the subscriber; records often have the other one only. */
const OWN_NUMBER: Readonly<Record<string, string>> = {
  call: 'calling_number',
  sms: 'calling_number',
  incoming_call: 'called_number',
}

function rowOf(
  line: Fields,
  numberAt: Subscriber['numberAt'],
  { config }: Pick<ActionCall, 'config'>,
): ValueOf<typeof ROW> {
  const { urt, usaget } = line
  const atMs = urt instanceof Date ? urt.getTime() : 0
  const own = OWN_NUMBER[String(usaget)]
  const isMissing = own !== undefined && (isUnset(line[own]) || line[own] === '')
  const number = isMissing ? numberAt(atMs) : undefined
  const known = isMissing && !isUnset(number) && number !== '' ? { ...line, [own]: number } : line
  const present = OPTIONAL_FIELDS.filter((name) => known[name] !== undefined)
  const date = urt instanceof Date ? localText(urt, config.rating.timeZone) : ''
  return { date, ...Object.fromEntries(present.map((name) => [name, known[name]])) }
}

/** `2026-01-31 10:00:00`, in local time. */
export function localText(date: Date, timeZone: string): string {
  return dateText(date.getTime(), timeZone).slice(0, 19).replace('T', ' ')
}
