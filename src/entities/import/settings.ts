/** Settings of an import, parsed from `update` of the request. */

import { nearest } from '../../config/nearest.ts'
import { about } from '../../domain/field-errors.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import type { Numbering } from '../../domain/numbering.ts'
import { ApiError, ExecutionError } from '../../requests/errors.ts'
import { badFieldName } from '../../requests/names.ts'
import { IMPORT_OPERATIONS } from '../definitions/collections.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { castUpdate } from '../requests/cast.ts'

/** Source of a value: a column of the file, counted from 0, or a constant text. */
export type CellSource = { column: number } | { text: string }

/** Identifies the entity of a row by a field and the value that the row has for it. */
export interface RowLink {
  field: string
  from: CellSource
}

export type ListAction = 'append' | 'remove' | 'replace'

export interface ImportSettings {
  type: 'manual_mapping' | 'predefined_mapping'
  /** Null to derive it from the file name. */
  format: 'csv' | 'jsonl' | null
  operation: ActionName
  delimiter: string
  /** By target field; names may be dotted. */
  map: ReadonlyMap<string, CellSource>
  /** Fields whose cells are ranges such as `1-5,10-12`. */
  ranges: ReadonlySet<string>
  /** Fields whose cells are lists separated by commas. */
  lists: ReadonlySet<string>
  /** Values set before and after those of the row; only for `create`. */
  defaults: Fields
  predefined: Fields
  /** For subscribers: identifies the account, by a number in its stored form. */
  linker: (RowLink & { numbering: Numbering }) | null
  /** For permanentchange: identifies the entity. */
  updater: RowLink | null
  listActions: ReadonlyMap<string, ListAction>
  isDryRun: boolean
  /** The rows are revisions of another system (migration.ts). Only on the command line. */
  isMigration: boolean
}

export interface SettingsContext {
  definition: CollectionDefinition
  /** Configured fields of accounts, which a linker may use. */
  accountFields: readonly FieldDefinition[]
  /** IANA zone of the installation. */
  timeZone: string
  nowMs: number
}

/** Throws `ExecutionError` for settings that are invalid or inconsistent. */
export function importSettings(
  update: Fields,
  operation: string | undefined,
  context: SettingsContext,
): ImportSettings {
  const { definition } = context
  const chosen = operationOf(definition, operation)
  const fields = cast(update, context)
  const type = fields['importType'] === 'predefined_mapping' ? 'predefined' : 'manual'
  const linker = linkOf(fields['linker'], 'linker')
  checkLinker(linker, context)
  const linked = context.accountFields.find(({ field_name: name }) => name === linker?.field)
  return {
    type: `${type}_mapping`,
    format: (fields['format'] as ImportSettings['format'] | undefined) ?? null,
    operation: chosen,
    delimiter: delimiterOf(fields['delimiter']),
    map: mapOf(fields['map']),
    ...fieldTypes(fields['import_fields']),
    defaults: objectOf(fields['default_values'], 'default_values'),
    predefined: objectOf(fields['predefined_values'], 'predefined_values'),
    linker: linker && { ...linker, numbering: linked?.numbering ?? 'any' },
    updater: linkOf(fields['updater'], 'updater'),
    listActions: listActions(fields['multi_field_action']),
    isDryRun: fields['dry_run'] === true,
    isMigration: false,
  }
}

function operationOf({ name }: CollectionDefinition, given: string | undefined): ActionName {
  const allowed = IMPORT_OPERATIONS.get(name) ?? []
  const operation = given === undefined || given === '' ? allowed[0] : given
  const found = allowed.find((each) => each === operation)
  if (found !== undefined) return found
  throw new ExecutionError(
    ...about(
      'operation',
      `${String(operation).slice(0, 64)} is not allowed for ${name}: ` +
        `it is ${allowed.join(' or ')}`,
    ),
  )
}

const VALUES: readonly string[] = ['importType', 'delimiter', 'format', 'dry_run']

/** Refuses unknown settings, which would have no effect. */
function cast(update: Fields, { definition, timeZone, nowMs }: SettingsContext): Fields {
  const params = definition.actions.import?.update ?? {}
  const unknown = Object.keys(update).find((name) => !Object.hasOwn(params, name))
  if (unknown !== undefined) {
    const suggestion = nearest(unknown.slice(0, 64), Object.keys(params))
    const hint = suggestion === undefined ? '' : `: '${suggestion}' is`
    throw new ExecutionError(
      ...about(`update.${unknown.slice(0, 64)}`, `is not a setting of an import${hint}`, 'unknown'),
    )
  }
  const isValue = ([name]: [string, unknown]) => VALUES.includes(name)
  const values = Object.fromEntries(Object.entries(update).filter(isValue))
  try {
    const { fields } = castUpdate(params, values, { timeZone, nowMs })
    // The other settings are parsed individually because they may contain dotted field names.
    return { ...update, ...fields }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new ExecutionError(error.message, error.issues)
  }
}

function delimiterOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return ','
  if (typeof value === 'string' && /^[^"\r\n\0]$/u.test(value)) return value
  throw new ExecutionError(...about('update.delimiter', 'must be one character'))
}

const COLUMN = /^__csvindex__(\d{1,5})$/

function sourceOf(value: unknown, path: string): CellSource {
  if (typeof value === 'number' || typeof value === 'boolean') return { text: String(value) }
  if (typeof value !== 'string') {
    throw new ExecutionError(
      ...about(path, 'must be __csvindex__ with the number of a column, or a text'),
    )
  }
  const [, column] = COLUMN.exec(value) ?? []
  return column === undefined ? { text: value } : { column: Number(column) }
}

function mapOf(value: unknown): ReadonlyMap<string, CellSource> {
  const entries = Object.entries(objectOf(value, 'map')).filter(([, source]) => !isUnset(source))
  return new Map(
    entries.map(([target, source]) => {
      const reason = badFieldName(target)
      if (reason !== null) throw new ExecutionError(...about('update.map:', `${target} ${reason}`))
      return [target, sourceOf(source, `update.map.${target}`)]
    }),
  )
}

function fieldTypes(value: unknown): Pick<ImportSettings, 'ranges' | 'lists'> {
  const ranges = new Set<string>()
  const lists = new Set<string>()
  for (const [index, entry] of listOf(value).entries()) {
    const { value: name, type, multiple } = objectOf(entry, `import_fields.${index}`)
    if (typeof name !== 'string') continue
    if (type === 'ranges') ranges.add(name)
    if (multiple === true || multiple === 'true' || multiple === 1) lists.add(name)
  }
  return { ranges, lists }
}

function linkOf(value: unknown, name: string): RowLink | null {
  const { field, value: source } = objectOf(value, name)
  if (isUnset(field) && isUnset(source)) return null
  if (typeof field !== 'string' || badFieldName(field) !== null) {
    throw new ExecutionError(...about(`update.${name}.field`, 'must be the name of a field'))
  }
  return { field, from: sourceOf(source, `update.${name}.value`) }
}

function checkLinker(linker: RowLink | null, { definition, accountFields }: SettingsContext): void {
  if (linker === null) return
  if (!hasTrait(definition, 'isLinked')) {
    throw new ExecutionError(...about('update.linker', 'is only for subscribers'))
  }
  const configured = accountFields.map(({ field_name: name }) => name)
  const known = ['aid', 'account_import_id', ...configured]
  if (known.includes(linker.field)) return
  const suggestion = nearest(linker.field.slice(0, 64), known)
  const hint = suggestion === undefined ? '' : `: '${suggestion}' is`
  throw new ExecutionError(
    ...about('update.linker.field', `${linker.field} is not a field of accounts${hint}`),
  )
}

function listActions(value: unknown): ReadonlyMap<string, ListAction> {
  const given = Object.entries(objectOf(value, 'multi_field_action'))
  const entries = given.filter(([, action]) => !isUnset(action))
  return new Map(
    entries.map(([field, action]) => {
      if (action === 'append' || action === 'remove' || action === 'replace') {
        return [field, action]
      }
      const path = `update.multi_field_action.${field}`
      throw new ExecutionError(...about(path, 'must be append, remove or replace'))
    }),
  )
}

function objectOf(value: unknown, name: string): Fields {
  if (value === undefined || value === null || value === '') return {}
  if (Array.isArray(value) && value.length === 0) return {}
  if (typeof value === 'object' && !Array.isArray(value)) return value as Fields
  throw new ExecutionError(...about(`update.${name}`, 'must be an object'))
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value
  throw new ExecutionError(...about('update.import_fields', 'must be a list'))
}
