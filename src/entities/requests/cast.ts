/** Casts `update` by the definition of its action; `query` is cast in query-language.ts. */
import type { Fields } from '../../domain/fields.ts'
import { type CastContext, castScalar, checkText, scalarOf } from '../../requests/cast-value.ts'
import { fullTimestamp, type TimeContext } from '../../requests/instant.ts'
import { declaredAt, overlapping } from '../../requests/names.ts'
import type { Param, Params } from '../../requests/param.ts'
import { FieldProblems } from '../../requests/problems.ts'
import { badKey, storedValue } from '../../requests/stored-value.ts'
import { ISSUES_MAX, type WriteIssues } from '../trial.ts'

export interface CastUpdate {
  /** By declared name; dotted names are not nested. */
  readonly fields: Record<string, unknown>
  /** Names that were sent but not accepted: undeclared fields and empty values. */
  readonly dropped: string[]
}

/**
 * Casts the declared fields of `update` to their types. A dotted name is also found in nested
 * objects: `params.class` in `{params: {class}}`. `demanded`: mandatory configured fields that are
 * missing. Throws `EntityRuleError` or `InvalidFieldsError` with all errors; with `issues` these
 * are noted, and their fields are left out.
 */
export function castUpdate(
  params: Params,
  raw: Fields,
  context: TimeContext,
  demanded: readonly string[] = [],
  issues?: WriteIssues,
): CastUpdate {
  const problems = new FieldProblems(issues?.isTrial ? ISSUES_MAX : undefined)
  const casting: CastContext = { ...context, problems }
  const cast: CastUpdate = { fields: {}, dropped: [] }
  for (const [name, value] of Object.entries(raw)) acceptField(params, name, value, casting, cast)
  const declared = missing(params, cast.fields)
  for (const name of declared) casting.problems.missing(`update.${name}`, 'declared')
  for (const name of demanded) {
    if (!declared.includes(name)) casting.problems.missing(name, 'configured')
  }
  const overlap = overlapping(Object.keys(cast.fields))
  if (overlap !== null) {
    casting.problems.invalid(`update.${overlap[1]}`, `is set by ${overlap[0]} too`)
  }
  try {
    problems.throwIfAny()
    return cast
  } catch (error) {
    if (issues?.note(error) !== true) throw error
    issues.leaveOutRefused()
    const valid = Object.entries(cast.fields).filter(([name]) => !issues.isRefused(name))
    return { ...cast, fields: Object.fromEntries(valid) }
  }
}

function acceptField(
  params: Params,
  name: string,
  value: unknown,
  casting: CastContext,
  cast: CastUpdate,
) {
  const { problems } = casting
  const param = declaredAt(params, name)
  if (param === undefined) {
    const reason = badKey(name.slice(name.lastIndexOf('.') + 1)) ?? badKey(name)
    if (reason !== null) problems.invalid(`update.${name}`, reason)
    else if (!acceptMembers(params, name, value, casting, cast)) cast.dropped.push(name)
    return
  }
  if (param.type === 'generated') return
  if (Object.hasOwn(cast.fields, name)) {
    problems.invalid(`update.${name}`, 'is given twice')
  } else if (isEmptyFor(param, value)) {
    cast.dropped.push(name)
  } else {
    cast.fields[name] = castField(param, value, `update.${name}`, casting)
  }
}

/** Accepts declared names inside an object; false if it has no such names. */
function acceptMembers(
  params: Params,
  name: string,
  value: unknown,
  casting: CastContext,
  cast: CastUpdate,
): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  if (!Object.keys(params).some((declared) => declared.startsWith(`${name}.`))) return false
  for (const [key, member] of Object.entries(value)) {
    const reason = badKey(key)
    if (reason !== null) casting.problems.invalid(`update.${name}.${key}`, reason)
    else acceptNested(params, `${name}.${key}`, member, casting, cast)
  }
  return true
}

function acceptNested(
  params: Params,
  name: string,
  value: unknown,
  casting: CastContext,
  cast: CastUpdate,
): void {
  if (declaredAt(params, name) !== undefined) acceptField(params, name, value, casting, cast)
  else if (!acceptMembers(params, name, value, casting, cast)) cast.dropped.push(name)
}

/** An empty text is ignored, and null as well unless the field stores any JSON value. */
function isEmptyFor(param: Param, value: unknown): boolean {
  const isStored = param.type === 'json' && param.mandatory !== true
  return value === undefined || value === '' || (!isStored && value === null)
}

function missing(params: Params, fields: Fields): readonly string[] {
  return Object.keys(params).filter(
    (name) => isRequired(params[name]) && !Object.hasOwn(fields, name),
  )
}

function isRequired(param: Param | undefined): boolean {
  return param?.mandatory === true && param.type !== 'generated'
}

/** Casts a value of `update`; adds a problem and returns `undefined` if its type is wrong. */
function castField(param: Param, value: unknown, path: string, casting: CastContext): unknown {
  const { problems } = casting
  if (param.type === 'json') return storedValue(value, path, problems)
  if (param.type === 'datetimearray') {
    problems.invalid(path, 'cannot be set')
    return undefined
  }
  if (param.type === 'array') return castList(param, value, path, casting)
  const result = castScalar(scalarOf(param) ?? 'string', value, path, casting)
  if (result === undefined) return undefined
  checkText(param, result, path, problems)
  return withDate(result)
}

/** A list or an object is kept; a single value becomes a list of one. */
function castList(param: Param, value: unknown, path: string, casting: CastContext): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (isObject) return storedValue(value, path, casting.problems)
  const type = scalarOf(param)
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((member, index) => {
    const at = `${path}.${index}`
    if (type === null) return storedValue(member, at, casting.problems)
    const cast = castScalar(type, member, at, casting)
    if (param.options !== undefined) checkText(param, cast, at, casting.problems)
    return withDate(cast)
  })
}

/** A text that is a full timestamp becomes a date in every field. */
function withDate(value: unknown): unknown {
  return typeof value === 'string' ? (fullTimestamp(value) ?? value) : value
}
