/**
 * Queries by any field of a collection, in the query language of the entity API: its operators and
 * limits, and declared fields with their types. Hidden and sealed fields cannot be queried or
 * sorted by.
 */
import type { Config } from '../../config/schema.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import type { CollectionDefinition } from '../../entities/definitions/definition.ts'
import { isSecretPath } from '../../entities/definitions/secret-paths.ts'
import { castQuery, type Filter } from '../../entities/requests/query-language.ts'
import { fieldRule } from '../../requests/errors.ts'
import { fullTimestamp } from '../../requests/instant.ts'
import { badFieldName } from '../../requests/names.ts'
import type { Param } from '../../requests/param.ts'
import type { ActionCall } from './action.ts'

/** Texts that are complete timestamps are dates. Throws `ApiError`. */
export function openFilter(
  raw: Fields,
  definition: CollectionDefinition,
  { config, nowMs }: Pick<ActionCall, 'nowMs'> & { readonly config: Pick<Config, 'rating'> },
): Filter {
  const named: Record<string, Param> = {}
  addNames(raw, '', named)
  for (const name of Object.keys(named)) {
    const reason = badFieldName(name)
    if (reason !== null) throw fieldRule('query:', `${name.slice(0, 64)} ${reason}`)
  }
  refuseHidden(Object.keys(named), definition, 'query')
  const declared = definition.actions.get?.query ?? {}
  const time = { timeZone: config.rating.timeZone, nowMs }
  return withDates(castQuery({ ...named, ...declared }, raw, time)) as Filter
}

/** Values of hidden and sealed fields must not be found out by conditions or by the order. */
export function refuseHidden(
  names: readonly string[],
  definition: CollectionDefinition,
  what: 'query' | 'sort',
): void {
  const found = names.find((name) => isSecretPath(definition, name))
  if (found !== undefined) throw fieldRule(`${what}:`, `${found} cannot be used`)
}

/** Types of fields that all collections have; definitions declare further ones. */
const TYPES: ReadonlyMap<string, 'dbid' | 'datetime'> = new Map([
  ['_id', 'dbid'],
  ['from', 'datetime'],
  ['to', 'datetime'],
  ['creation_time', 'datetime'],
])

/** Names of fields in conditions, also in those on members of lists. */
function addNames(raw: Fields, prefix: string, into: Record<string, Param>): void {
  for (const [name, value] of Object.entries(raw)) {
    if (name === '$and' || name === '$or') {
      const members = Array.isArray(value) ? value.filter(isObject) : []
      for (const member of members) addNames(member, prefix, into)
    } else if (!name.startsWith('$')) {
      const path = `${prefix}${name}`
      into[path] = { type: TYPES.get(path) ?? 'json' }
      addMemberNames(value, path, into)
    }
  }
}

function addMemberNames(condition: unknown, path: string, into: Record<string, Param>): void {
  if (!isObject(condition)) return
  const { $elemMatch, $not } = condition
  if (isObject($elemMatch)) addNames($elemMatch, `${path}.`, into)
  addMemberNames($not, path, into)
}

function withDates(value: unknown): unknown {
  if (typeof value === 'string') return fullTimestamp(value) ?? value
  if (Array.isArray(value)) return value.map(withDates)
  if (!isObject(value) || value instanceof Date || '_bsontype' in value) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, name === '$regex' ? each : withDates(each)]),
  )
}
