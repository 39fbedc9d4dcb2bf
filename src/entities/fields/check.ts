/** Reads configured fields from a request: cast, validated and ready to be stored. */
import type { FieldIssue } from '../../domain/field-errors.ts'
import { readNumber } from '../../domain/numbering.ts'
import { fieldRule, InvalidFieldsError } from '../../requests/errors.ts'
import type { TimeContext } from '../../requests/instant.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import type { WriteIssues } from '../trial.ts'
import { type Cast, castValue } from './cast.ts'
import type { FieldDefinition } from './field-definition.ts'
import { optionsOf, patternOf } from './rules.ts'

type Values = Readonly<Record<string, unknown>>

export interface FieldCheck extends TimeContext {
  definition: CollectionDefinition
  action: ActionName
  /** The addressed revision, because clients send back values that they have read. */
  current?: Values
  issues?: WriteIssues | undefined
}

/**
 * The values of configured fields in a raw `update`, by field name; they are set after the declared
 * fields, also along dotted names; null removes the field. Throws `InvalidFieldsError` with all
 * values of a wrong type, or `EntityRuleError` for the first value that violates a rule; with
 * `issues` these are noted, and left out. Mandatory fields are checked before (`missingFields`).
 */
export function checkCustomFields(
  fields: readonly FieldDefinition[],
  update: Values,
  check: FieldCheck,
): Values {
  const action = check.definition.actions[check.action]
  if (action?.customFields !== true) return {}
  const values: Record<string, unknown> = {}
  const invalid: FieldIssue[] = []
  for (const field of fields) {
    const { field_name: name } = field
    if (field.generated === true) continue
    const isDeclared = Object.hasOwn(action.update, name)
    if (!isDeclared && isFixed(name, check.definition)) continue
    const changed = fieldValue(update, name)
    const provided = providedValue(field, update, check.action)
    if (isEmptyValue(provided)) {
      if (provided !== undefined && !isDeclared) values[name] = null
      continue
    }
    const known = check.current === undefined ? undefined : fieldValue(check.current, name)
    const cast = castField(field, provided, check, [known].flat())
    // A declared field is cast by its declaration, but the configured rules apply to it as well.
    if (!isDeclared && 'reason' in cast) {
      invalid.push({ path: `update.${name}`, reason: cast.reason, code: 'invalid' })
      continue
    }
    const value = 'value' in cast ? cast.value : provided
    if (!isAccepted(field, value, check)) continue
    if (!isDeclared || changed === undefined) values[name] = value
  }
  const refused = invalid.length > 0 ? new InvalidFieldsError(invalid) : null
  if (refused !== null && check.issues?.note(refused) !== true) throw refused
  return withoutEmpty(values, check.action)
}

function isAccepted(field: FieldDefinition, value: unknown, check: FieldCheck): boolean {
  try {
    if (!mayChange(field, value, check)) return false
    checkRules(field, value)
    return true
  } catch (error) {
    if (check.issues?.note(error) !== true) throw error
    return false
  }
}

/** On create there are no values to remove. */
function withoutEmpty(values: Values, action: ActionName): Values {
  if (action !== 'create') return values
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null))
}

/** Dates and keys are only accepted as declared parameters. */
const FIXED = new Set(['from', 'to', 'creation_time', 'aid', 'sid'])

function isFixed(name: string, { keyField }: CollectionDefinition): boolean {
  return FIXED.has(name) || name === keyField
}

/**
 * Casts a value to its stored form, a scalar of a list field to a list of one. Also used for values
 * that are pushed into a list. `stored`: numbers that are accepted in any form, because clients
 * send back what they have read.
 */
export function castField(
  field: FieldDefinition,
  value: unknown,
  time: TimeContext,
  stored: readonly unknown[] = [],
): Cast {
  if (field.multiple !== true) return castMember(field, value, time, stored)
  const members: unknown[] = []
  for (const member of Array.isArray(value) ? value : [value]) {
    const cast = castMember(field, member, time, stored)
    if ('reason' in cast) return cast
    members.push(cast.value)
  }
  return { value: members }
}

function castMember(
  { type, numbering }: FieldDefinition,
  value: unknown,
  time: TimeContext,
  stored: readonly unknown[],
): Cast {
  const cast = castValue(type, value, time)
  if (numbering === undefined || 'reason' in cast || stored.includes(cast.value)) return cast
  return readNumber(numbering, String(cast.value))
}

/** Throws `EntityRuleError` if a cast value violates a rule of the field. */
export function checkRules(field: FieldDefinition, value: unknown): void {
  const { field_name: name } = field
  const options = optionsOf(field)
  const pattern = patternOf(field, name)
  for (const member of Array.isArray(value) ? value : [value]) {
    if (options !== null && !options.has(String(member))) {
      const known = [...options].join(', ')
      throw fieldRule(name, `must be one of ${known}, is ${quotedExcerpt(member)}`)
    }
    if (pattern === null || typeof member === 'object') continue
    if (!pattern.test(String(member))) {
      throw fieldRule(name, `does not match the configured pattern: ${quotedExcerpt(member)}`)
    }
  }
}

const EXCERPT_MAX = 60

function quotedExcerpt(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `'${text.length > EXCERPT_MAX ? `${text.slice(0, EXCERPT_MAX)}…` : text}'`
}

/**
 * Names of mandatory fields that are missing in a raw `update`. Only checked on create, so that
 * documents that were stored without them can still be changed.
 */
export function missingFields(
  fields: readonly FieldDefinition[],
  update: Values,
  { definition, action: name }: Pick<FieldCheck, 'definition' | 'action'>,
): string[] {
  const action = definition.actions[name]
  if (name !== 'create' || action?.customFields !== true) return []
  const missing = fields.filter((field) => {
    if (field.mandatory !== true || field.generated === true) return false
    const isDeclared = Object.hasOwn(action.update, field.field_name)
    if (!isDeclared && isFixed(field.field_name, definition)) return false
    return appliesToPlay(field, update) && isEmptyValue(providedValue(field, update, name))
  })
  return missing.map((field) => field.field_name)
}

/** The value sent, or the default on create. */
function providedValue(field: FieldDefinition, update: Values, action: ActionName): unknown {
  const value = fieldValue(update, field.field_name)
  return value === undefined && action === 'create' ? field.default_value : value
}

/** A field that is restricted to some plays is mandatory only for those. */
function appliesToPlay({ plays }: FieldDefinition, { play }: Values): boolean {
  if (plays === undefined || plays.length === 0 || isEmptyValue(play)) return true
  return [play].flat().some((each) => plays.includes(String(each)))
}

/**
 * False if the stored value was sent back. Throws `EntityRuleError` if the value of a field that is
 * not editable would change.
 */
function mayChange(field: FieldDefinition, value: unknown, check: FieldCheck): boolean {
  if (field.editable !== false || check.action === 'create') return true
  const { field_name: name } = field
  const before = check.current === undefined ? undefined : fieldValue(check.current, name)
  if (before !== undefined && JSON.stringify(before) === JSON.stringify(value)) return false
  throw fieldRule(name, `can be set on create only`)
}

/** A value that no other entity may have at the same time. */
export interface UniqueValue {
  field: string
  value: unknown
}

/** The unique values of a whole document; members of a list count individually. */
export function uniqueValues(
  fields: readonly FieldDefinition[],
  document: Values,
): readonly UniqueValue[] {
  return fields.flatMap((field) => {
    if (field.unique !== true || field.generated === true) return []
    const value = fieldValue(document, field.field_name)
    const members = Array.isArray(value) ? value : [value]
    return members
      .filter((member) => !isEmptyValue(member))
      .map((member) => ({ field: field.field_name, value: member }))
  })
}

/**
 * Follows a dotted name; a key that contains the dots takes precedence, because clients send both.
 */
export function fieldValue(document: Values, name: string): unknown {
  if (Object.hasOwn(document, name)) return document[name]
  let part: unknown = document
  for (const step of name.split('.')) {
    if (typeof part !== 'object' || part === null || !Object.hasOwn(part, step)) return undefined
    part = (part as Values)[step]
  }
  return part
}

function isEmptyValue(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return Array.isArray(value) && value.length === 0
}
