/** Common parts of the actions `rates` and `plans`: parameters, revisions, columns. */
import { Type } from '@sinclair/typebox'
import { mapOf, ref } from '../../../catalog/entities/json-schema.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { get } from '../../../entities/actions/get.ts'
import { DEFINITIONS } from '../../../entities/definitions/collections.ts'
import { ActionError, fieldRule } from '../../../requests/errors.ts'
import { badFieldName } from '../../../requests/names.ts'
import type { ActionCall } from '../action.ts'
import { openFilter } from '../open-query.ts'
import { param } from '../parameters.ts'
import { idTextOf } from './entity-calls.ts'

export const CATALOGUE_PARAMETERS = Type.Object({
  query: param.optional(
    param.object('Conditions. Without `from` and `to`, the revisions that are in force now.'),
  ),
  strip: param.optional(
    param.json('Names of fields: their values only, as one list for each field.'),
  ),
})

/** In the answer with `strip`. */
export const STRIPPED = mapOf(
  ref<readonly unknown[]>('jsonList', 'Its values.'),
  'With `strip`: lists of values, by field.',
)

const STRIPPED_MAX = 50

/** Matching revisions, without those that are hidden from the API. Rejects with `ApiError`. */
export async function readRevisions(
  call: ActionCall,
  collection: 'plans' | 'rates',
  query: Fields = {},
): Promise<readonly Fields[]> {
  const { catalog, config } = call
  const definition = DEFINITIONS.get(collection)
  if (definition === undefined) throw new RangeError(`there is no collection ${collection}`)
  const { _id: ids, from, to, ...others } = query
  const validity = ids === undefined ? validityOf(from, to, call) : { _id: { $in: idsOf(ids) } }
  const conditions = openFilter({ ...others, ...validity }, definition, call)
  const size = config.entities.pageSizeMax
  const { rows, hasMore } = await get(catalog, {
    definition,
    filter: { $and: [conditions, { hidden_from_api: { $nin: [true, 1, '1'] } }] },
    page: 0,
    size,
    sort: { [definition.keyField]: 1 },
    project: null,
    states: [],
  })
  if (hasMore)
    throw new ActionError(`Maximum of ${collection} is ${size}: use ${SUCCESSOR}`, 'refused')
  return rows
}

const SUCCESSOR = '/billapi, which has pages'

function idsOf(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((each) => {
    const id = idTextOf(each)
    if (id === null) throw fieldRule('query._id', 'must have ids of 24 hexadecimal digits')
    return id
  })
}

/** Without dates, what is in force now. */
function validityOf(from: unknown, to: unknown, { nowMs }: ActionCall): Fields {
  if (from === undefined && to === undefined) {
    const now = new Date(nowMs).toISOString()
    return { from: { $lte: now }, to: { $gt: now } }
  }
  return { ...periodOf('from', from), ...periodOf('to', to) }
}

/** A date, or operators with dates. */
function periodOf(name: 'from' | 'to', value: unknown): Fields {
  if (value === undefined) return {}
  const isOperators = isObject(value) && Object.keys(value).some((key) => key.startsWith('$'))
  return { [name]: isOperators ? value : { $eq: value } }
}

/** The names in `strip`; null to show whole documents. */
export function stripOf(value: unknown): readonly string[] | null {
  if (value === undefined || value === '') return null
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (list.length === 0) return null
  if (list.length > STRIPPED_MAX)
    throw new ActionError(`Maximum of strip is ${STRIPPED_MAX}`, { path: 'strip' })
  return list.map((name) => {
    if (typeof name === 'string' && badFieldName(name) === null) return name
    throw fieldRule('strip', 'must be a list of names of fields')
  })
}

/** One list of values for each field; values that are lists are joined. */
export function columnsOf(
  rows: readonly Fields[],
  names: readonly string[],
): Record<string, readonly unknown[]> {
  const valuesOf = (name: string) =>
    rows.flatMap((row) => {
      const value = Object.hasOwn(row, name) ? row[name] : undefined
      if (value === undefined) return []
      return name === '_id' ? [idTextOf(value) ?? value] : value
    })
  return Object.fromEntries(names.map((name) => [name, valuesOf(name)]))
}
