/** Paging, sort order, projection, states and `options` of a request. */
import { nearest } from '../../config/nearest.ts'
import type { Fields } from '../../domain/fields.ts'
import { booleanOf, integerOf } from '../../requests/cast-value.ts'
import { DISPLAY, fieldRule } from '../../requests/errors.ts'
import type { CompoundParameters } from '../../requests/json-text.ts'
import { badFieldName, overlapping } from '../../requests/names.ts'
import { FieldProblems, truncatedName } from '../../requests/problems.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { storedValue } from '../../requests/stored-value.ts'
import type { Filter } from './query-language.ts'

export interface PageLimits {
  /** Page size if `size` is not given. */
  readonly pageSize: number
  readonly pageSizeMax: number
}

/** 0 active, 1 future, 2 expired. */
export type RevisionStateCode = 0 | 1 | 2

export interface FieldChange {
  readonly field: string
  readonly values: readonly unknown[]
  /** Removes members whose sub-field of this name equals a value; null to compare whole members. */
  readonly byKey: string | null
}

export interface RequestOptions {
  /** Fields of the query of which one match is sufficient (`withAlternatives`). */
  readonly orFields: readonly string[]
  readonly push: readonly FieldChange[]
  readonly pull: readonly FieldChange[]
  /** For exports: true if the first row has the column names. */
  readonly headers: boolean
  /** For exports; null if not given. */
  readonly delimiter: string | null
  /** For writes: true if other entities may lose what they need. */
  readonly force: boolean
}

export interface ReadOptions {
  /** Zero-based. */
  readonly page: number
  readonly size: number
  readonly skip: number
  /** Null for the order of the store. */
  readonly sort: Readonly<Record<string, 1 | -1>> | null
  /** Null for all fields. */
  readonly projection: Readonly<Record<string, 0 | 1>> | null
  readonly states: readonly RevisionStateCode[]
  readonly options: RequestOptions
}

const PAGE_MAX = 1_000_000_000
const SORT_FIELDS_MAX = 32
const CHANGES_MAX = 100

/**
 * Parses all options. Without `size`, a page has the default size; 0, negative and too large sizes
 * mean the largest. Throws `EntityRuleError` with the code of sort errors, or `InvalidFieldsError`
 * with all other errors.
 */
export function readOptions(
  raw: RawParameters,
  compound: CompoundParameters,
  limits: PageLimits,
): ReadOptions {
  const problems = new FieldProblems()
  const page = Math.max(0, wholeAt(raw, 'page', problems) ?? 0)
  if (page > PAGE_MAX) problems.invalid('page', `must be at most ${PAGE_MAX}`)
  const size = sizeOf(wholeAt(raw, 'size', problems), limits)
  const projection = projectionOf(compound.project, problems)
  const states = statesOf(compound.states, problems)
  const options = requestOptions(compound.options, problems)
  const sort = sortOf(compound.sort)
  problems.throwIfAny()
  return { page, size, skip: page * size, sort, projection, states, options }
}

function wholeAt(raw: RawParameters, name: string, problems: FieldProblems): number | null {
  const value = raw.get(name)
  if (value === undefined || value === null || value === '') return null
  const whole = integerOf(value)
  if (whole === null || (name === 'page' && whole < 0)) {
    problems.invalid(name, name === 'page' ? 'must be an integer from 0' : 'must be an integer')
  }
  return whole
}

function sizeOf(size: number | null, { pageSize, pageSizeMax }: PageLimits): number {
  const requested = size ?? pageSize
  return requested <= 0 ? pageSizeMax : Math.min(requested, pageSizeMax)
}

function sortOf(sort: Fields | undefined): ReadOptions['sort'] {
  const entries = Object.entries(sort ?? {})
  if (entries.length === 0) return null
  if (entries.length > SORT_FIELDS_MAX) {
    throw fieldRule('sort', `must have at most ${SORT_FIELDS_MAX} fields`, 'invalid', DISPLAY.sort)
  }
  const result: Record<string, 1 | -1> = {}
  for (const [name, value] of entries) {
    const reason = badFieldName(name)
    const direction = integerOf(value)
    if (reason !== null)
      throw fieldRule('sort:', `${truncatedName(name)} ${reason}`, 'invalid', DISPLAY.sort)
    if (direction !== 1 && direction !== -1) {
      throw fieldRule('sort:', `${truncatedName(name)} must be 1 or -1`, 'invalid', DISPLAY.sort)
    }
    result[name] = direction
  }
  return result
}

function projectionOf(
  project: Fields | undefined,
  problems: FieldProblems,
): ReadOptions['projection'] {
  const entries = Object.entries(project ?? {})
  if (entries.length === 0) return null
  const result: Record<string, 0 | 1> = {}
  for (const [name, value] of entries) {
    const isIncluded = booleanOf(value)
    const reason = badFieldName(name) ?? (isIncluded === null ? 'must be 1 or 0' : null)
    if (reason !== null) problems.invalid(`project.${name}`, reason)
    else result[name] = isIncluded === true ? 1 : 0
  }
  const kinds = new Set(Object.keys(result).flatMap((name) => (name === '_id' ? [] : result[name])))
  if (kinds.size > 1) problems.invalid('project', 'must not mix fields to show and to leave out')
  const overlap = overlapping(Object.keys(result))
  if (overlap !== null) problems.invalid(`project.${overlap[1]}`, `is inside ${overlap[0]}`)
  return result
}

function statesOf(
  states: readonly unknown[] | undefined,
  problems: FieldProblems,
): readonly RevisionStateCode[] {
  if (states === undefined) return [0, 1]
  if (states.length === 0) problems.invalid('states', 'must have at least one state')
  const read = states.map((value) => integerOf(value))
  if (!read.every((state) => state === 0 || state === 1 || state === 2)) {
    problems.invalid('states', 'must be a list of 0, 1 and 2')
    return []
  }
  return [...new Set(read)]
}

const OPTIONS = ['or_fields', 'push_fields', 'pull_fields', 'headers', 'delimiter', 'force']

function requestOptions(options: Fields = {}, problems: FieldProblems): RequestOptions {
  for (const name of Object.keys(options).filter((key) => !OPTIONS.includes(key))) {
    if (problems.isFull) break
    const suggestion = nearest(name.slice(0, 64), OPTIONS)
    const hint = suggestion === undefined ? '' : `, '${suggestion}' is`
    problems.invalid(`options.${name}`, `is not known${hint}`, 'unknown')
  }
  const { or_fields: orFields = [], headers, delimiter, force } = options
  const names = Array.isArray(orFields) ? orFields : [orFields]
  const bad = names.find((name) => typeof name !== 'string' || badFieldName(name) !== null)
  if (bad !== undefined) problems.invalid('options.or_fields', 'must be a list of names of fields')
  const isIncluded = headers === undefined || headers === '' ? true : booleanOf(headers)
  if (isIncluded === null) problems.invalid('options.headers', 'must be true or false')
  const forced = force === undefined || force === '' ? false : booleanOf(force)
  if (forced === null) problems.invalid('options.force', 'must be true or false')
  return {
    orFields: bad === undefined ? names : [],
    push: changesOf(options['push_fields'], 'options.push_fields', problems),
    pull: changesOf(options['pull_fields'], 'options.pull_fields', problems),
    headers: isIncluded ?? true,
    delimiter: delimiterOf(delimiter, problems),
    force: forced ?? false,
  }
}

function delimiterOf(delimiter: unknown, problems: FieldProblems): string | null {
  if (delimiter === undefined || delimiter === null || delimiter === '') return null
  if (typeof delimiter === 'string' && /^[^"\r\n\0]$/u.test(delimiter)) return delimiter
  problems.invalid('options.delimiter', 'must be one character')
  return null
}

function changesOf(value: unknown, path: string, problems: FieldProblems): readonly FieldChange[] {
  if (value === undefined || value === null || value === '') return []
  if (!Array.isArray(value) || value.length > CHANGES_MAX) {
    problems.invalid(path, `must be a list of at most ${CHANGES_MAX} changes`)
    return []
  }
  return value.map((change, index) => changeOf(change, `${path}.${index}`, problems))
}

function changeOf(change: unknown, path: string, problems: FieldProblems): FieldChange {
  const isObject = typeof change === 'object' && change !== null && !Array.isArray(change)
  const fields = isObject ? (change as Fields) : {}
  const { field_name: field, field_values: values, pull_by_key: byKey = null } = fields
  const isNamed = typeof field === 'string' && badFieldName(field) === null
  if (!isNamed) problems.invalid(`${path}.field_name`, 'must be the name of a field')
  if (values === undefined || values === null) {
    problems.invalid(`${path}.field_values`, 'must be a list of values')
  }
  const isKey = byKey === null || (typeof byKey === 'string' && badFieldName(byKey) === null)
  if (!isKey) problems.invalid(`${path}.pull_by_key`, 'must be the name of a field')
  const list: readonly unknown[] = Array.isArray(values) ? values : [values]
  return {
    field: isNamed ? field : '',
    values: list.map((each, index) => storedValue(each, `${path}.field_values.${index}`, problems)),
    byKey: isKey ? byKey : null,
  }
}

/**
 * Changes a cast filter so that one of these fields is sufficient; all others are still required.
 */
export function withAlternatives(filter: Filter, orFields: readonly string[]): Filter {
  const named = [...new Set(orFields)].filter((name) => Object.hasOwn(filter, name))
  if (named.length === 0) return filter
  const { $or, ...others } = filter
  for (const name of named) delete others[name]
  const $alternatives = named.map((name) => ({ [name]: filter[name] }))
  if ($or === undefined) return { ...others, $or: $alternatives }
  const { $and = [], ...rest } = others
  return { ...rest, $and: [...($and as Filter[]), { $or }, { $or: $alternatives }] }
}
