/** `statistics`: documents that clients store and list. */
import { Type } from '@sinclair/typebox'
import { appendAudit } from '../../../catalog/audit/audit.ts'
import { ObjectId } from '../../../catalog/collections.ts'
import {
  constant,
  customFields,
  either,
  listOf,
  object,
  open,
  text,
} from '../../../catalog/entities/json-schema.ts'
import type { StatisticsDocument } from '../../../catalog/records/statistics-document.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { instantOf } from '../../../domain/time.ts'
import { dateText } from '../../../entities/views.ts'
import { ActionError, fieldRule, parameterError } from '../../../requests/errors.ts'
import { parseJson } from '../../../requests/json-text.ts'
import { FieldProblems } from '../../../requests/problems.ts'
import { storedValue } from '../../../requests/stored-value.ts'
import { type ActionCall, type AnswerOf, action } from '../action.ts'
import { param } from '../parameters.ts'
import { methodOf } from './entity-calls.ts'

const METHODS = ['create', 'query'] as const
const ROWS_MAX = 10_000
const NOTHING = 'No statistics specified for save!'

const STATISTICS = open(
  object('Statistics of a client.', { creation_date: text('When they were stored.') }, [
    'creation_date',
  ]),
)
const LISTED = listOf(STATISTICS, 'The oldest first.')

const ANSWER = {
  desc: either('`create`, or as `details`.', constant('create', 'They are stored.'), LISTED),
  details: param.optional(LISTED),
  input: param.optional(customFields('The parameters of the call; of `create` what is stored.')),
} as const

type StatisticsAnswer = AnswerOf<typeof ANSWER>

export const statistics = action({
  name: 'statistics',
  level: 'write',
  about: 'Store and list statistics of clients',
  parameters: Type.Object({
    method: param.optional(param.text(`Operation: ${METHODS.join(', ')}.`)),
    statistics: param.optional(param.json('Create: an object.')),
    from: param.optional(param.text('Query: first day, such as 2026-01-31.')),
    to: param.optional(param.text('Query: last day.')),
  }),
  answer: ANSWER,
  example: {
    parameters: { method: 'query', from: '2026-11-01' },
    answer: { desc: [], details: [] },
  },
  async run(parameters, call) {
    const method = methodOf(parameters.method, METHODS)
    return method === 'create' ? create(parameters.statistics, call) : query(parameters, call)
  },
})

async function create(value: unknown, call: ActionCall): Promise<StatisticsAnswer> {
  const { catalog, nowMs, actor } = call
  const document: StatisticsDocument = {
    _id: new ObjectId(),
    creation_date: new Date(nowMs),
    statistics: statisticsIn(value),
  }
  await catalog.transaction('store statistics', async (session) => {
    await catalog.statistics.insertOne(document, { session })
    const key = document._id.toHexString()
    appendAudit(session, actor, nowMs, { collection: 'statistics', type: 'create', key })
  })
  return { desc: 'create', input: viewOf(document, call) }
}

/** Drops names that a store cannot keep. Throws `ApiError`. */
function statisticsIn(sent: unknown): Fields {
  if (sent === undefined || sent === '')
    throw new ActionError(NOTHING, { path: 'statistics', code: 'missing' })
  const value = typeof sent === 'string' ? parseJson(sent, 'statistics') : sent
  const problems = new FieldProblems()
  storedValue(value, 'statistics', problems)
  problems.throwIfAny()
  if (!isObject(value)) throw parameterError('statistics', 'should be of type Object')
  if (Object.keys(value).length === 0)
    throw new ActionError(NOTHING, { path: 'statistics', code: 'missing' })
  return value
}

async function query(
  { from, to }: { readonly from?: string; readonly to?: string },
  call: ActionCall,
): Promise<StatisticsAnswer> {
  const { catalog } = call
  const zone = call.config.rating.timeZone
  const conditions = {
    ...(from !== undefined && from !== '' && { $gte: dayStart(from, 'from', zone, 0) }),
    ...(to !== undefined && to !== '' && { $lt: dayStart(to, 'to', zone, 1) }),
  }
  const filter = Object.keys(conditions).length === 0 ? {} : { creation_date: conditions }
  const found = await catalog.reads.statistics
    .find(filter)
    .sort({ creation_date: 1 })
    .limit(ROWS_MAX + 1)
    .toArray()
  if (found.length > ROWS_MAX)
    throw new ActionError(`Maximum of statistics is ${ROWS_MAX}`, 'refused')
  const rows = found.map((document) => viewOf(document, call))
  // Existing clients read the list from `desc`.
  return { desc: rows, details: rows }
}

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/

/** Midnight of a day, in local time, `days` later. */
function dayStart(text: string, name: string, zone: string, days: number): Date {
  const [, year, month, day] = (DAY.exec(text.trim()) ?? []).map(Number)
  const date = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day ?? 0))
  const isDay = year !== undefined && date.toISOString().slice(0, 10) === text.trim()
  if (!isDay) throw fieldRule(name, 'must be a day such as 2026-01-31')
  date.setUTCDate(date.getUTCDate() + days)
  const [y, m, d] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]
  return new Date(instantOf(zone, { year: y, month: m, day: d, hour: 0, minute: 0, second: 0 }))
}

function viewOf({ creation_date: at, statistics: saved }: StatisticsDocument, call: ActionCall) {
  return { ...saved, creation_date: dateText(at.getTime(), call.config.rating.timeZone) }
}
