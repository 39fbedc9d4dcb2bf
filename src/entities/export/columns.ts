/** Columns of an export, which a predefined import reads as well. */
import type { Param } from '../../requests/param.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'

export type CellType =
  | 'text'
  | 'date'
  | 'boolean'
  | 'percentage'
  | 'range'
  | 'json'
  /** Texts separated by commas. */
  | 'list'

export interface Column {
  /** Name in the header: a path, with indexes into lists. */
  name: string
  type: CellType
}

const column = (name: string, type: CellType = 'text'): Column => ({ name, type })

const TERMS: readonly Column[] = [
  column('key'),
  column('description'),
  column('from', 'date'),
  column('to', 'date'),
  column('creation_time', 'date'),
  column('limit'),
  column('type'),
  column('params.min_subscribers'),
  column('params.max_subscribers'),
  column('params.cycles'),
  column('params.conditions', 'json'),
  column('proration'),
  column('excludes', 'list'),
  column('priority'),
  column('simultaneous_limit'),
  column('subject.plan', 'json'),
  column('subject.service', 'json'),
]

const DECLARED: Readonly<Record<string, readonly Column[]>> = {
  discounts: [
    ...TERMS,
    column('subject.monthly_fees.value'),
    column('subject.matched_plans.value'),
    column('subject.matched_services.value'),
    column('prorated_start'),
    column('prorated_end'),
  ],
  charges: [...TERMS, column('cycles'), column('subject.general.value')],
}

/** Sorted by name. Rates have their own columns (rate-rows.ts). */
export function columnsOf(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
): readonly Column[] {
  const declared = DECLARED[definition.name] ?? declaredColumns(definition)
  return withConfigured(declared, definition, fields).toSorted(byName)
}

/** Appends the configured fields and removes those that must not be exported. */
export function withConfigured(
  columns: readonly Column[],
  { hidden, keyField }: CollectionDefinition,
  fields: readonly FieldDefinition[],
): readonly Column[] {
  const refused = new Set([...hidden, ...fields.filter(isRefused).map(nameOf)])
  const known = new Set(columns.map(({ name }) => name))
  const configured = fields.map((field) => ({ name: nameOf(field), type: typeOf(field) }))
  const added = configured.filter(({ name }) => !known.has(name))
  // A row without its key cannot be identified.
  refused.delete(keyField)
  return [...columns, ...added].filter(({ name }) => !refused.has(name))
}

function declaredColumns({ actions, keyField }: CollectionDefinition): readonly Column[] {
  const declared = Object.entries(actions.create?.update ?? {})
  const columns = new Map(declared.map(([name, param]) => [name, typeOfParam(param)]))
  for (const name of ['from', 'to', 'creation_time']) columns.set(name, 'date')
  if (!columns.has(keyField)) columns.set(keyField, 'text')
  return [...columns].map(([name, type]) => ({ name, type }))
}

function typeOfParam(param: Param): CellType {
  switch (param.type) {
    case 'boolean':
      return 'boolean'
    case 'datetime':
      return 'date'
    case 'array':
      return 'list'
    case 'json':
      return 'json'
    default:
      return 'text'
  }
}

function typeOf({ type, multiple }: FieldDefinition): CellType {
  if (multiple === true) return 'list'
  switch (type) {
    case 'date':
    case 'datetime':
      return 'date'
    case 'daterange':
      return 'range'
    case 'boolean':
    case 'percentage':
    case 'json':
      return type
    default:
      return 'text'
  }
}

function isRefused({ exportable }: FieldDefinition): boolean {
  return exportable === false
}

function nameOf({ field_name: name }: FieldDefinition): string {
  return name
}

function byName(a: Column, b: Column): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
