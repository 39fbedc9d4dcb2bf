/** Merges the built-in fields of a collection with the configuration of the operator. */
import type { FieldCategory, FieldSettings } from '../../catalog/settings/stored-config.ts'
import {
  arrayAt,
  booleanAt,
  FieldError,
  type Fields,
  isEmpty,
  isUnset,
  objectAt,
  textAt,
  textsAt,
} from '../../domain/fields.ts'
import { NUMBERINGS } from '../../domain/numbering.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { castValue } from './cast.ts'
import { DEFAULT_FIELDS } from './defaults.ts'
import { FIELD_TYPES, type FieldDefinition } from './field-definition.ts'
import { optionsOf, patternOf } from './rules.ts'

/**
 * The fields of a collection, built-in ones first, overridden by stored ones of the same name.
 * Throws `FieldError` with the path of a stored field that is invalid: ignoring it would silently
 * drop a check.
 */
export function fieldsOf(
  definition: CollectionDefinition,
  stored: FieldSettings,
): readonly FieldDefinition[] {
  if (definition.configuredFieldsPath === null) return []
  const list = storedList(definition, stored[categoryOf(definition)])
  return merged(definition, checkedFields(list, definition))
}

/** The category of the stored configuration that contains the fields. */
export function categoryOf({ name, configuredFieldsPath }: CollectionDefinition): FieldCategory {
  if (configuredFieldsPath === null) throw new FieldError(name, 'has no configured fields')
  return configuredFieldsPath[0] as FieldCategory
}

/** The stored list in the value of its category; its members are not validated. */
export function storedList(
  { configuredFieldsPath }: CollectionDefinition,
  value: unknown,
): readonly unknown[] {
  let part: unknown = value
  const [category = '', ...steps] = configuredFieldsPath ?? []
  let path = category
  for (const step of steps) {
    if (isEmpty(part)) return []
    part = objectAt(part, path)[step]
    path += `.${step}`
  }
  return isEmpty(part) ? [] : arrayAt(part, path)
}

/**
 * The value of a category with its list of fields replaced. Throws `FieldError` if a field of the
 * list is invalid.
 */
export function withStoredList(
  definition: CollectionDefinition,
  value: unknown,
  list: readonly unknown[],
): unknown {
  checkedFields(list, definition)
  const [category = '', ...steps] = definition.configuredFieldsPath ?? []
  return replaced(value, steps, list, category)
}

function replaced(value: unknown, steps: readonly string[], list: unknown, path: string): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return list
  const fields = isEmpty(value) ? {} : objectAt(value, path)
  return { ...fields, [step]: replaced(fields[step], rest, list, `${path}.${step}`) }
}

/** Names that the store and revisions use; they cannot be configured. */
const RESERVED = new Set(['_id', 'rev', 'deleted', 'deleted_at', 'creation_time', 'type'])
const NAME = /^[A-Za-z]\w*(?:\.\w+)*$/
const DANGEROUS = new Set(['__proto__', 'constructor', 'prototype'])

/** Throws `FieldError` with the path of the first invalid field. */
function checkedFields(
  list: readonly unknown[],
  definition: CollectionDefinition,
): readonly FieldDefinition[] {
  const path = (definition.configuredFieldsPath ?? []).join('.')
  const names = new Set<string>()
  return list.map((value, index) => {
    const field = checkedField(value, `${path}.${index}`, definition)
    if (names.has(field.field_name)) {
      throw new FieldError(`${path}.${index}.field_name`, `'${field.field_name}' occurs twice`)
    }
    names.add(field.field_name)
    return field
  })
}

const SWITCHES = [
  'mandatory',
  'unique',
  'editable',
  'multiple',
  'searchable',
  'generated',
  'system',
  'exportable',
  'display',
  'show_in_list',
  'personal',
]
const KEYS: ReadonlySet<string> = new Set([
  ...SWITCHES,
  'field_name',
  'title',
  'description',
  'type',
  'default_value',
  'select_options',
  // `changeable_props` only exists in configurations of the existing system: it is accepted and
  // ignored.
  'validation',
  'numbering',
  'plays',
  'changeable_props',
])

function checkedField(
  value: unknown,
  path: string,
  definition: CollectionDefinition,
): FieldDefinition {
  const field = objectAt(value, path)
  const unknown = Object.keys(field).find((key) => !KEYS.has(key))
  if (unknown !== undefined) throw new FieldError(`${path}.${unknown}`, 'is not known', 'unknown')
  const name = nameAt(field['field_name'], `${path}.field_name`)
  for (const each of SWITCHES) booleanAt(field[each], `${path}.${each}`, false)
  for (const each of ['title', 'description']) {
    const given = field[each]
    if (given !== undefined && typeof given !== 'string') {
      throw new FieldError(`${path}.${each}`, 'must be a text')
    }
  }
  checkType(field, path)
  textsAt(field['plays'], `${path}.plays`)
  if (!isUnset(field['numbering']) && !NUMBERINGS.some((each) => each === field['numbering'])) {
    throw new FieldError(`${path}.numbering`, `must be one of ${NUMBERINGS.join(', ')}`)
  }
  const known = field as unknown as FieldDefinition
  const builtIn = defaultOf(definition, name)
  const whole = builtIn === undefined ? known : mergedWithDefault(known, builtIn, path)
  if (whole.generated === true && builtIn?.generated !== true) {
    throw new FieldError(`${path}.generated`, 'must not be true: the node does not generate it')
  }
  patternOf(whole, `${path}.validation`)
  checkDefaultValue(whole, path)
  return whole
}

function nameAt(value: unknown, path: string): string {
  const name = textAt(value, path)
  const parts = name.split('.')
  const isUsable = NAME.test(name) && !parts.some((part) => DANGEROUS.has(part))
  if (!isUsable) throw new FieldError(path, 'must be letters, digits, _ and dots between them')
  if (RESERVED.has(parts[0] ?? '')) throw new FieldError(path, `'${name}' cannot be configured`)
  return name
}

function checkType({ type, select_options: options }: Fields, path: string): void {
  const isType = isUnset(type) || FIELD_TYPES.some((each) => each === type)
  if (!isType) throw new FieldError(`${path}.type`, `must be one of ${FIELD_TYPES.join(', ')}`)
  const at = `${path}.select_options`
  if (typeof options !== 'string' && !isUnset(options)) textsAt(options, at)
  const isEmptyList = isEmpty(options) || options === ''
  if (type === 'select' && isEmptyList) throw new FieldError(at, 'must have at least one text')
}

/**
 * Reference time to validate default values; relative dates, such as `tomorrow`, are evaluated
 * again on each create.
 */
const REFERENCE_TIME = { timeZone: 'UTC', nowMs: Date.UTC(2026, 0, 1) } as const

/** Validates a default value like a value that a client sends. */
function checkDefaultValue(field: FieldDefinition, path: string): void {
  const { default_value: value, type, multiple } = field
  if (isUnset(value)) return
  const at = `${path}.default_value`
  const options = optionsOf(field)
  const members = multiple === true && Array.isArray(value) ? value : [value]
  for (const member of members) {
    const cast = castValue(type, member, REFERENCE_TIME)
    if ('reason' in cast) throw new FieldError(at, cast.reason)
    if (options !== null && !options.has(String(cast.value))) {
      throw new FieldError(at, 'must be one of select_options')
    }
  }
}

/** Properties of built-in fields that cannot be configured, because the code depends on them. */
const FIXED = ['type', 'multiple', 'generated'] as const

function mergedWithDefault(
  field: FieldDefinition,
  builtIn: FieldDefinition,
  path: string,
): FieldDefinition {
  for (const key of FIXED) {
    const isOther = !isUnset(field[key]) && (field[key] || undefined) !== builtIn[key]
    if (!isOther) continue
    const is = builtIn[key] ?? 'not set'
    throw new FieldError(`${path}.${key}`, `must keep its built-in value: ${is}`)
  }
  const { type, multiple, generated, personal, unique, numbering } = builtIn
  return {
    // These stay as they are unless the operator overrides them explicitly.
    ...(personal !== undefined && { personal }),
    ...(unique !== undefined && { unique }),
    ...field,
    ...(isUnset(field.numbering) && numbering !== undefined && { numbering }),
    system: true,
    ...(type !== undefined && { type }),
    ...(multiple !== undefined && { multiple }),
    ...(generated !== undefined && { generated }),
  }
}

function defaultOf({ name }: CollectionDefinition, field: string): FieldDefinition | undefined {
  return DEFAULT_FIELDS[name]?.find(({ field_name }) => field_name === field)
}

function merged(
  { name }: CollectionDefinition,
  stored: readonly FieldDefinition[],
): readonly FieldDefinition[] {
  const defaults = DEFAULT_FIELDS[name] ?? []
  const byName = new Map(stored.map((field) => [field.field_name, field]))
  const builtIn = defaults.map((field) => byName.get(field.field_name) ?? field)
  const known = new Set(defaults.map(({ field_name }) => field_name))
  return [...builtIn, ...stored.filter(({ field_name }) => !known.has(field_name))]
}
