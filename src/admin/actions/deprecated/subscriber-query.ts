/** Method `query` of `subscribers`. */

import {
  closed,
  customFields,
  either,
  listOf,
  orNull,
  ref,
  text,
} from '../../../catalog/entities/json-schema.ts'
import { about } from '../../../domain/field-errors.ts'
import { type Fields, isEmpty } from '../../../domain/fields.ts'
import { normalNumber } from '../../../domain/numbering.ts'
import { FOREVER_MS } from '../../../domain/time.ts'
import { DEFINITIONS } from '../../../entities/definitions/collections.ts'
import { recordRead } from '../../../entities/read-records.ts'
import { NOT_DELETED } from '../../../entities/revisions.ts'
import { integerOf } from '../../../requests/cast-value.ts'
import { ActionError, fieldRule, parameterError } from '../../../requests/errors.ts'
import { DATES, dateOf } from '../../../requests/instant.ts'
import type { ActionCall, AnswerOf } from '../action.ts'
import { param } from '../parameters.ts'
import { documentView } from './entity-calls.ts'

const REVISIONS_MAX = 10_000
/** Codes of the existing system. */
export const CODES = { noQuery: 1021, notFound: 1023 } as const

const SUBSCRIBER = customFields('A subscriber, with its dates as texts.')

export const SUBSCRIBERS_ANSWER = {
  details: param.optional(
    either(
      'By `method`; absent for `delete`.',
      ref<readonly object[]>('documents.list', '`query`: subscribers.'),
      closed('`update`.', {
        before: SUBSCRIBER,
        after: orNull(SUBSCRIBER, 'Null if it cannot be read.'),
      }),
    ),
  ),
  warnings: param.optional(
    listOf(text('A warning.'), 'Of a change: ignored fields, and problems to check.'),
  ),
} as const

export type SubscribersAnswer = AnswerOf<typeof SUBSCRIBERS_ANSWER>

export async function querySubscribers(
  query: Fields | undefined,
  call: ActionCall,
): Promise<SubscribersAnswer> {
  const { catalog, entityApi, actor } = call
  const named = identityIn(query)
  if (named === null) {
    throw new ActionError(...about('query', 'must have sid, imsi, msisdn or aid'), CODES.noQuery)
  }
  const filter = { ...named, ...periodIn(query ?? {}, call), ...NOT_DELETED }
  const rows = (await catalog.reads.subscribers
    .find(filter as object)
    .sort({ sid: 1, from: 1 })
    .limit(REVISIONS_MAX)
    .toArray()) as unknown as Fields[]
  const definition = DEFINITIONS.get('subscribers')
  if (definition !== undefined) {
    await recordRead(entityApi.stores, actor, { definition, action: 'get', filter, rows })
  }
  if (rows.length === 0) throw new ActionError('Subscriber not found', 'target', CODES.notFound)
  return {
    desc: 'Success querying subscriber',
    details: rows.map((row) => subscriberView(row, call)),
  }
}

/** Conditions of `query` that identify a subscriber; null without any. Throws `ActionError`. */
export function identityIn(query: Fields = {}): Fields | null {
  const found: Record<string, unknown> = {}
  for (const name of ['sid', 'aid'] as const) {
    if (isEmpty(query[name])) continue
    const number = integerOf(query[name])
    if (number === null) throw parameterError(`query.${name}`, 'should be of type Integer')
    found[name] = number
  }
  for (const name of ['imsi', 'msisdn'] as const) {
    const value = query[name]
    if (isEmpty(value)) continue
    const texts = (Array.isArray(value) ? value : [value]).map(textOf)
    if (texts.includes(null)) throw parameterError(`query.${name}`, 'should be of type String')
    // Older numbers may be stored as they were sent.
    found[name] = { $in: texts.flatMap((text) => [text, normalNumber(name, text)]) }
  }
  return Object.keys(found).length === 0 ? null : { type: 'subscriber', ...found }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null
}

/** Without dates, the record in force; otherwise those that overlap the period. */
function periodIn({ from, to }: Fields, { config, nowMs }: ActionCall): Fields {
  const at = (value: unknown, name: string): Date | null => {
    if (isEmpty(value)) return null
    const date = dateOf(value, { timeZone: config.rating.timeZone, nowMs })
    if (date === null) throw fieldRule(`query.${name}`, `must be ${DATES}`)
    return date
  }
  const [begin, end] = [at(from, 'from'), at(to, 'to')]
  const now = new Date(nowMs)
  if (begin === null && end === null) return { from: { $lte: now }, to: { $gt: now } }
  return {
    ...(begin !== null && { to: { $gt: begin } }),
    ...(end !== null && { from: { $lte: end } }),
  }
}

/** The record with the members that clients rely on; `to` is empty while it has no end. */
export function subscriberView(row: Fields, call: ActionCall): Record<string, unknown> {
  const { _id, from, to, imsi, msisdn, aid, sid, plan, language, service_provider, ...others } =
    documentView(row, call)
  const hasEnd = row['to'] instanceof Date && row['to'].getTime() < FOREVER_MS
  return {
    _id,
    from,
    to: hasEnd ? to : '',
    imsi: Array.isArray(imsi) ? imsi : imsi === undefined ? [] : [imsi],
    msisdn: msisdn ?? '',
    aid,
    sid,
    plan,
    language: language ?? '',
    service_provider: service_provider ?? '',
    ...others,
  }
}
