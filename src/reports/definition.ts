/** The definition of a report, as it is saved or sent, and its checks. */
import { type Fields, isEmpty, isObject, isUnset } from '../domain/fields.ts'
import type { CollectionDefinition } from '../entities/definitions/definition.ts'
import { isSecretPath } from '../entities/definitions/secret-paths.ts'
import type { FieldDefinition } from '../entities/fields/field-definition.ts'
import { integerOf } from '../requests/cast-value.ts'
import { EntityRuleError, fieldRule } from '../requests/errors.ts'
import {
  type ConditionOp,
  conditionOpOf,
  conditionTest,
  type ReportCondition,
} from './conditions.ts'
import { cycleWords } from './cycle-words.ts'
import { type ColumnFormat, compileFormat } from './formats.ts'
import {
  entityNamed,
  fieldAt,
  joinOf,
  type ReportEntity,
  type ReportField,
} from './report-entities.ts'

export const GROUP_OPS = [
  'group',
  'count',
  'sum',
  'avg',
  'first',
  'last',
  'max',
  'min',
  'push',
  'addToSet',
] as const
export type GroupOp = (typeof GROUP_OPS)[number]

export interface ReportColumn {
  /** Name in the rows. */
  readonly key: string
  /** Heading in files. */
  readonly label: string
  /** Null in a report that is not grouped. */
  readonly op: GroupOp | null
  /** Name of the entity of the field. */
  readonly entity: string
  readonly field: ReportField
  readonly formats: readonly ColumnFormat[]
}

/** Sorts by a column, or by a field of the entity. */
export interface ReportSort {
  readonly column: number | null
  readonly path: string
  readonly direction: 1 | -1
}

export interface Report {
  readonly key: string
  readonly entity: ReportEntity
  /** Joined entities. */
  readonly joined: readonly ReportEntity[]
  readonly isGrouped: boolean
  readonly columns: readonly ReportColumn[]
  readonly conditions: readonly ReportCondition[]
  readonly sorts: readonly ReportSort[]
}

/**
 * Roles that may report on a collection unless the operator has rules for reading it: those that
 * read it, and those that run reports.
 */
export function readersOf({ actions }: CollectionDefinition): readonly string[] {
  return [...(actions.get?.roles ?? []), 'write', 'reports']
}

/** The configured fields of an entity; null if they are not known. */
export type ConfiguredFields = (entity: ReportEntity) => readonly FieldDefinition[] | null

const COLUMNS_MAX = 100
const CONDITIONS_MAX = 100
const SORTS_MAX = 20
const FORMATS_MAX = 200
const TEXT_LENGTH_MAX = 200

/** Throws `EntityRuleError` for the first error. */
export function parseReport(definition: Fields, configured: ConfiguredFields): Report {
  const base = entityNamed(definition['entity'])
  const columns = partsOf(definition, 'columns', COLUMNS_MAX)
  if (columns.length === 0) {
    throw new EntityRuleError('Columns list is empty, nothing to display', {
      path: 'columns',
      code: 'missing',
    })
  }
  return partsOfReport(definition, base, configured)
}

/** Checks the given parts of a definition that may be incomplete. Throws `EntityRuleError`. */
export function checkReport(definition: Fields, configured: ConfiguredFields): void {
  const hasParts = PARTS.some((name) => !isEmpty(definition[name]))
  if (!hasParts && isUnset(definition['entity'])) return
  const { conditions } = partsOfReport(definition, entityNamed(definition['entity']), configured)
  for (const condition of conditions) conditionTest(condition, ANY_TIME)
}

/** Whether a value can be compared does not depend on the time. */
const ANY_TIME = {
  timeZone: 'UTC',
  nowMs: Date.UTC(2026, 0, 15),
  cycles: cycleWords('202601', Date.UTC(2026, 0, 15), { zone: 'UTC', cycleDay: 1 }),
}

const PARTS = ['columns', 'conditions', 'sorts', 'formats'] as const

function partsOfReport(definition: Fields, base: ReportEntity, configured: ConfiguredFields) {
  const isGrouped = isGroupedType(definition['type'])
  const context = { base, configured, isGrouped }
  const formats = formatsOf(definition)
  const columns = partsOf(definition, 'columns', COLUMNS_MAX).map((part, index) =>
    columnOf(part, `columns.${index}`, context, formats),
  )
  const keys = columns.map(({ key }) => key)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined) throw fieldRule('columns:', `${twice} is declared twice`)
  const lost = [...formats.keys()].find((key) => columns.length > 0 && !keys.includes(key))
  if (lost !== undefined) throw fieldRule('formats:', `there is no column ${lost}`)
  const conditions = partsOf(definition, 'conditions', CONDITIONS_MAX).map((part, index) =>
    conditionOf(part, `conditions.${index}`, context),
  )
  const sorts = partsOf(definition, 'sorts', SORTS_MAX).map((part, index) =>
    sortOf(part, `sorts.${index}`, context, keys),
  )
  refuseSecrets({ columns, conditions, sorts }, base)
  const used = [...columns, ...conditions].map(({ entity }) => entity)
  const others = [...new Set(used)].filter((name) => name !== base.name)
  joinOf(base, others)
  const key = typeof definition['key'] === 'string' ? definition['key'] : ''
  const joined = others.map(entityNamed)
  return { key, entity: base, joined, isGrouped, columns, conditions, sorts }
}

/** Secrets are left out of rows: anything that compares or changes a value would disclose them. */
function refuseSecrets(
  { columns, conditions, sorts }: Pick<Report, 'columns' | 'conditions' | 'sorts'>,
  base: ReportEntity,
): void {
  const sorted = new Set(sorts.map(({ column }) => column))
  const used = columns.filter(
    ({ op, formats }, index) => op !== null || formats.length > 0 || sorted.has(index),
  )
  const paths = [...used, ...conditions].map(({ entity, field }) => [entity, field.path] as const)
  const ordered = sorts.map(({ path }) => [base.name, path] as const)
  const secret = [...paths, ...ordered].find(([entity, path]) =>
    isSecretPath(entityNamed(entity).definition, path),
  )
  if (secret === undefined) return
  throw new EntityRuleError(
    `${secret[1]} has secrets: only a column without operator, format and order can show the rest`,
    'refused',
  )
}

interface PartContext {
  readonly base: ReportEntity
  readonly configured: ConfiguredFields
  readonly isGrouped: boolean
}

function isGroupedType(type: unknown): boolean {
  if (isUnset(type)) return false
  const value = integerOf(type)
  if (value === 0 || value === 1) return value === 1
  throw fieldRule('type', 'must be 0 (simple) or 1 (grouped)')
}

/** PHP clients write an empty list as an empty object or text. */
function partsOf(definition: Fields, name: string, max: number): readonly Fields[] {
  const value = definition[name]
  if (isUnset(value) || isEmpty(value)) return []
  if (!Array.isArray(value)) throw fieldRule(name, 'must be a list')
  if (value.length > max) throw fieldRule(name, `must have at most ${max} members`)
  return value.map((part, index) => {
    if (isObject(part)) return part
    throw fieldRule(`${name}.${index}`, 'must be an object')
  })
}

function textIn(part: Fields, name: string, where: string): string {
  const value = part[name]
  if (isUnset(value)) return ''
  if (typeof value === 'string' && value.length <= TEXT_LENGTH_MAX) return value
  throw fieldRule(`${where}.${name}`, `must be a text of at most ${TEXT_LENGTH_MAX} characters`)
}

/** The entity of a part, the one of the report by default, and its field. */
function fieldOf(part: Fields, name: string, where: string, { base, configured }: PartContext) {
  const own = part['entity']
  const entity = isUnset(own) || own === base.name ? base : entityNamed(own)
  if (entity !== base) joinOf(base, [entity.name])
  return { entity, field: fieldAt(entity, part[name], `${where}.${name}`, configured(entity)) }
}

function columnOf(
  part: Fields,
  where: string,
  context: PartContext,
  formats: ReadonlyMap<string, readonly ColumnFormat[]>,
): ReportColumn {
  const name = isUnset(part['field_name']) && !isUnset(part['field']) ? 'field' : 'field_name'
  const { entity, field } = fieldOf(part, name, where, context)
  const usual = context.isGrouped ? field.path.replaceAll('.', '__') : field.path
  const key = textIn(part, 'key', where) || usual
  if (key === '__proto__') throw fieldRule(`${where}.key`, 'must be another text')
  const label = textIn(part, 'label', where) || key
  const op = context.isGrouped ? groupOpOf(part['op'], where) : null
  return { key, label, op, entity: entity.name, field, formats: formats.get(key) ?? [] }
}

function groupOpOf(op: unknown, where: string): GroupOp {
  const found = GROUP_OPS.find((each) => each === op)
  if (found !== undefined) return found
  throw new EntityRuleError(`Invalid group by operator ${displayName(op)}`, { path: `${where}.op` })
}

function displayName(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 64) : (JSON.stringify(value) ?? '').slice(0, 64)
}

function conditionOf(part: Fields, where: string, context: PartContext): ReportCondition {
  const { entity, field } = fieldOf(part, 'field', where, context)
  const op: ConditionOp | null = conditionOpOf(part['op'])
  if (op === null)
    throw new EntityRuleError(`Invalid filter operator ${displayName(part['op'])}`, {
      path: `${where}.op`,
    })
  const hint = textIn(part, 'type', where)
  return { entity: entity.name, field, op, value: part['value'], hint, where: `${where}.value` }
}

function sortOf(
  part: Fields,
  where: string,
  { base, configured, isGrouped }: PartContext,
  keys: readonly string[],
): ReportSort {
  const name = textIn(part, 'field', where)
  const direction = integerOf(part['op'])
  if (direction !== 1 && direction !== -1) throw fieldRule(`${where}.op`, 'must be 1 or -1')
  const column = keys.indexOf(name)
  if (column >= 0) return { column, path: '', direction }
  if (isGrouped) throw fieldRule(`${where}.field:`, `there is no column ${name}`)
  const { path } = fieldAt(base, name, `${where}.field`, configured(base))
  return { column: null, path, direction }
}

/** By key of the column, in the order in which they are applied. */
function formatsOf(definition: Fields): ReadonlyMap<string, readonly ColumnFormat[]> {
  const found = new Map<string, ColumnFormat[]>()
  for (const [index, part] of partsOf(definition, 'formats', FORMATS_MAX).entries()) {
    const where = `formats.${index}`
    const key = textIn(part, 'field', where)
    const format = compileFormat(part['op'], part['value'], where)
    const formats = found.get(key) ?? []
    formats.push(format)
    found.set(key, formats)
  }
  return found
}
