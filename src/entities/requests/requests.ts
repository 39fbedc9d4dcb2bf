/** Parses the parameters of a request into the input of the actions. */
import type { Actor } from '../../catalog/actor.ts'
import type { Config } from '../../config/schema.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import { normalNumber } from '../../domain/numbering.ts'
import { booleanOf } from '../../requests/cast-value.ts'
import { DISPLAY, EntityRuleError, fieldRule } from '../../requests/errors.ts'
import type { TimeContext } from '../../requests/instant.ts'
import { type CompoundParameters, compoundParameters } from '../../requests/json-text.ts'
import type { Params } from '../../requests/param.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { DEFINITIONS, dottedParam } from '../definitions/collections.ts'
import type {
  ActionDefinition,
  ActionName,
  CollectionDefinition,
} from '../definitions/definition.ts'
import { isSecretPath } from '../definitions/secret-paths.ts'
import { castField, missingFields } from '../fields/check.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import type { ListChange } from '../timeline/set-fields.ts'
import type { WriteIssues } from '../trial.ts'
import { castUpdate } from './cast.ts'
import type { ReadRequest, WriteRequest } from './entity-request.ts'
import { castQuery } from './query-language.ts'
import {
  type FieldChange,
  type RequestOptions,
  readOptions,
  withAlternatives,
} from './read-options.ts'

export interface RequestContext extends TimeContext {
  definition: CollectionDefinition
  action: ActionName
  /** Configured fields of the collection. */
  fields: readonly FieldDefinition[]
  entities: Config['entities']
}

/** Throws `EntityRuleError` or `InvalidFieldsError`. */
export function readRequestOf(raw: RawParameters, context: RequestContext): ReadRequest {
  const { definition, entities } = context
  const compound = compoundParameters(raw)
  const { page, size, sort, projection, states, options } = readOptions(raw, compound, entities)
  refuseSortByHidden(definition, sort ?? {})
  const filter = castQuery(queryParams(context, compound.query), compound.query ?? {}, context)
  return {
    definition,
    filter: withAlternatives(filter, options.orFields),
    page,
    size,
    sort: sort ?? {},
    project: projection,
    states,
  }
}

/** The order of rows must not disclose hidden values. */
function refuseSortByHidden(definition: CollectionDefinition, sort: object): void {
  const name = Object.keys(sort).find((path) => isSecretPath(definition, path))
  if (name !== undefined)
    throw fieldRule('sort:', `${name} cannot be sorted by`, 'invalid', DISPLAY.sort)
}

export interface ParsedWrite {
  request: WriteRequest
  /** Unknown fields of `update` that were not accepted. */
  ignored: string[]
}

/**
 * Throws `EntityRuleError` or `InvalidFieldsError`. With `issues`, what is wrong with fields of
 * `update` is noted instead, and they are left out.
 */
export function writeRequestOf(
  raw: RawParameters,
  context: RequestContext,
  actor: Actor,
  issues?: WriteIssues,
): ParsedWrite {
  const { definition, action, fields, entities } = context
  const compound = compoundParameters(raw)
  const update = compound.update ?? {}
  const { options } = readOptions(new Map(), compound, entities)
  const target = targetIn(compound, context, issues)
  // A mandatory parameter as well, but existing clients expect a specific code.
  if (action === 'reopen' && isUnset(update['from'])) {
    throw new EntityRuleError(
      'reopen: update.from is missing',
      { path: 'from', code: 'missing' },
      DISPLAY.refused,
    )
  }
  const demanded = missingFields(fields, update, { definition, action })
  const params = updateParams(context, update)
  const { fields: cast, dropped } = castUpdate(params, update, context, demanded, issues)
  if (target === null) issues?.throwIfAny()
  const { from = null, to = null, ...set } = cast
  const changes = { set, ...listChanges(options, context) }
  const request = { definition, actor, target: target ?? {}, changes, raw: update, fields }
  // In an update, `force` may be next to the fields of a change, unless a field has this name.
  const isField = Object.hasOwn(params, 'force') || fields.some(isForce)
  const isForced = forceFlag(raw.get('force')) || forceFlag(isField ? null : update['force'])
  return {
    request: {
      ...request,
      ...(issues && { issues }),
      isForced: isForced || options.force,
      from: from as Date | null,
      to: to as Date | null,
    },
    ignored: dropped.filter((name) => name !== 'force' && !isKnown(name, definition, fields)),
  }
}

/** Null if it is refused, and that is noted. */
function targetIn(
  compound: CompoundParameters,
  context: RequestContext,
  issues: WriteIssues | undefined,
): Fields | null {
  try {
    const declared = queryParams(context, compound.query)
    const target = castQuery(declared, targetOf(compound, context), context)
    refuseConditions(context, target)
    return target
  } catch (error) {
    if (issues?.note(error) !== true) throw error
    return null
  }
}

/** An erasure is of one person, whom its number names. */
function refuseConditions({ action, definition }: RequestContext, target: Fields): void {
  const { keyField } = definition
  if (action !== 'erase') return
  // Further conditions are refused: they would not be applied.
  if (typeof target[keyField] === 'number' && Object.keys(target).length === 1) return
  throw fieldRule(`query.${keyField}`, 'must be one integer, and the only condition')
}

function isForce({ field_name: name }: FieldDefinition): boolean {
  return name === 'force'
}

function forceFlag(value: unknown): boolean {
  if (isUnset(value) || value === '') return false
  const read = booleanOf(value)
  if (read === null) throw fieldRule('force', 'must be true or false', 'invalid', DISPLAY.request)
  return read
}

/**
 * The target of a request. With an id, undeclared parameters are ignored: clients send extra ones.
 */
function targetOf({ query = {} }: CompoundParameters, context: RequestContext): Fields {
  if (isUnset(query['_id'])) return query
  const declared = queryParams(context, query)
  return Object.fromEntries(Object.entries(query).filter(([name]) => Object.hasOwn(declared, name)))
}

function actionOf({ definition, action }: RequestContext): ActionDefinition {
  return definition.actions[action] as ActionDefinition
}

/** Declared keys, configured fields that can be searched, and names that match a pattern. */
function queryParams(context: RequestContext, query: Fields = {}): Params {
  const { definition, action, fields } = context
  const { query: declared, target, customFields } = actionOf(context)
  const isQueryable = ({ field_name: name, searchable, unique }: FieldDefinition) =>
    !isSecretPath(definition, name) &&
    (target === 'none' ? searchable === true : target === 'unique' && unique === true)
  const custom = customFields || target === 'unique' ? fields.filter(isQueryable) : []
  const added = custom.map(({ field_name: name, type }): [string, Params[string]] => [
    name,
    { type: 'array', ...(type === 'integer' && { of: 'integer' as const }) },
  ])
  const dotted = dottedParams(Object.keys(query), definition.name, action, 'query')
  return { ...Object.fromEntries(added), ...dotted, ...declared }
}

function updateParams(context: RequestContext, update: Fields): Params {
  const { definition, action } = context
  const dotted = dottedParams(Object.keys(update), definition.name, action, 'update')
  return { ...dotted, ...actionOf(context).update }
}

function dottedParams(
  names: readonly string[],
  collection: string,
  action: ActionName,
  part: 'query' | 'update',
): Params {
  const found = names.flatMap((name) => {
    const param = dottedParam(collection, action, part, name)
    return param === null ? [] : [[name, param] as const]
  })
  return Object.fromEntries(found)
}

function listChanges(
  { push, pull }: RequestOptions,
  context: RequestContext,
): { push: ListChange[]; pull: ListChange[] } {
  return {
    push: push.map((change) => listChange('push', change, context)),
    pull: pull.map((change) => listChange('pull', change, context)),
  }
}

/** Only lists that are configured as editable. */
function listChange(
  kind: 'push' | 'pull',
  { field: name, values, byKey }: FieldChange,
  context: RequestContext,
): ListChange {
  const field = context.fields.find(({ field_name: known }) => known === name)
  if (field?.multiple !== true || field.editable === false) {
    const text = `options: cannot ${kind} ${name}: it is not a list that may be changed`
    throw new EntityRuleError(text, { path: `options.${kind}_fields` }, DISPLAY.request)
  }
  if (!actionOf(context).customFields) {
    throw fieldRule('options:', `cannot ${kind} ${name} here`, 'invalid', DISPLAY.request)
  }
  if (byKey !== null) return { field: name, values, by: byKey }
  // A number that is removed may have been stored in any form.
  const cast = castField(field, values, context, kind === 'pull' ? values : [])
  if ('reason' in cast) {
    throw fieldRule('options:', `${kind} of ${name}: ${cast.reason}`, 'invalid', DISPLAY.request)
  }
  const members = cast.value as unknown[]
  const { numbering = 'any' } = field
  if (kind === 'push' || numbering === 'any') return { field: name, values: members }
  const normal = members.map((member) => normalNumber(numbering, member))
  return { field: name, values: [...members, ...normal] }
}

/** Fields that clients send back because they have read them, in documents of any collection. */
const ECHOED_FIELDS: ReadonlySet<string> = new Set([
  '_id',
  'revision_info',
  'from',
  'to',
  'aid',
  'sid',
  ...[...DEFINITIONS.values()].flatMap(({ derived }) => derived),
])

/** Fields of `update` that a client may have meant by an unknown one. */
export function fieldNames(
  { actions }: CollectionDefinition,
  fields: readonly FieldDefinition[],
): readonly string[] {
  const declared = Object.keys(actions.create?.update ?? {})
  return [...declared, ...fields.map(({ field_name: name }) => name)]
}

function isKnown(
  name: string,
  { keyField, actions }: CollectionDefinition,
  fields: readonly FieldDefinition[],
): boolean {
  if (ECHOED_FIELDS.has(name) || name === keyField) return true
  if (actions.create !== undefined && Object.hasOwn(actions.create.update, name)) return true
  return fields.some(({ field_name: known }) => known === name || known.startsWith(`${name}.`))
}
