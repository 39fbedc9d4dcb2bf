/** Maps a row of the file to the fields of an entity. */
import { about } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError, ExecutionError } from '../../requests/errors.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { valueIn } from '../export/cells.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { cellText, jsonIn, listIn, rangesIn, setAlong } from './cells.ts'
import { predefinedReader } from './predefined.ts'
import type { CellSource, ImportSettings, RowLink } from './settings.ts'
import type { SourceRow } from './source.ts'

export interface MappedRow {
  /** Name of the row in the response. */
  label: string
  update: Record<string, unknown>
  /** Values of the linker and the updater; empty if the row has none. */
  linkerValue: string
  updaterValue: string
}

/** A row that cannot be mapped, and why. */
export interface InvalidRow {
  label: string
  problem: string
}

export interface MappingContext {
  definition: CollectionDefinition
  fields: readonly FieldDefinition[]
  settings: ImportSettings
  fileName: string
  /** Header of a CSV file; null for JSON lines. */
  header: readonly string[] | null
}

export type RowMapper = (row: SourceRow) => MappedRow | InvalidRow

/** Throws `ExecutionError` if the settings do not match the columns of the file. */
export function createMapper(context: MappingContext): RowMapper {
  const { header, settings } = context
  const read = header === null ? objectReader(settings) : cellsReader(context, header)
  return (row) => {
    const label = labelOf(row, context)
    if ('problem' in row.content) return { label, problem: row.content.problem }
    try {
      return { label, ...read(row) }
    } catch (error) {
      if (!(error instanceof EntityRuleError)) throw error
      return { label, problem: error.message }
    }
  }
}

/** A predefined import numbers the rows after the header from 0. */
function labelOf({ number }: SourceRow, { header, settings, fileName }: MappingContext): string {
  const isPredefined = header !== null && settings.type === 'predefined_mapping'
  return isPredefined ? `${fileName}-${number - 2}` : String(number)
}

type Reader = (row: SourceRow) => Omit<MappedRow, 'label'>

function objectReader({ linker, updater, ...settings }: ImportSettings): Reader {
  return ({ content }) => {
    const object = 'object' in content ? content.object : {}
    const update = withFixedValues(settings, (target) => Object.assign(target, object))
    return {
      update,
      linkerValue: memberAt(object, linker),
      updaterValue: memberAt(object, updater),
    }
  }
}

/** In JSON lines, the value of a link is the name of the member that has it. */
function memberAt(object: Fields, link: RowLink | null): string {
  if (link === null) return ''
  const value = 'text' in link.from ? valueIn(object, link.from.text) : undefined
  return value === undefined || value === null ? '' : String(value)
}

function cellsReader(context: MappingContext, header: readonly string[]): Reader {
  const { settings } = context
  const { linker, updater } = settings
  checkColumns(settings, header.length)
  const fill =
    settings.type === 'predefined_mapping'
      ? predefinedReader(context.definition, context.fields, header)
      : manualReader(context)
  return ({ content }) => {
    const cells = 'cells' in content ? content.cells : []
    if (cells.slice(header.length).some((cell) => cell.trim() !== '')) {
      throw new EntityRuleError(
        `the row has ${cells.length} cells, the header ${header.length}`,
        'refused',
      )
    }
    const update = withFixedValues(settings, (target) => fill(target, cells))
    return {
      update,
      linkerValue: linkValue(cells, linker),
      updaterValue: linkValue(cells, updater),
    }
  }
}

function linkValue(cells: readonly string[], link: RowLink | null): string {
  return link === null ? '' : sourceText(cells, link.from)
}

function sourceText(cells: readonly string[], source: CellSource): string {
  return 'text' in source ? source.text : cellText(cells, source.column)
}

function checkColumns({ map, linker, updater, type }: ImportSettings, columns: number): void {
  const links = { linker: linker?.from, updater: updater?.from }
  const manual = type === 'manual_mapping' ? [...map] : []
  if (type === 'manual_mapping' && manual.length === 0) {
    throw new ExecutionError(
      ...about('update.map', 'is empty: it must have a source for at least one field'),
    )
  }
  for (const [name, source] of [...manual, ...Object.entries(links)]) {
    if (source === undefined || !('column' in source) || source.column < columns) continue
    const column = `__csvindex__${source.column}`
    throw new ExecutionError(...about(name, `refers to ${column}: the file has ${columns} columns`))
  }
}

/** Applies default values before the row, and predefined values after it. */
function withFixedValues(
  {
    operation,
    defaults,
    predefined,
  }: Pick<ImportSettings, 'operation' | 'defaults' | 'predefined'>,
  fill: (target: Record<string, unknown>) => void,
): Record<string, unknown> {
  const target: Record<string, unknown> = {}
  const isCreate = operation === 'create'
  if (isCreate) setAll(target, defaults)
  fill(target)
  if (isCreate) setAll(target, predefined)
  return target
}

function setAll(target: Record<string, unknown>, values: Fields): void {
  for (const [name, value] of Object.entries(values)) setAlong(target, name, value)
}

type Fill = (target: Record<string, unknown>, cells: readonly string[]) => void

function manualReader({ definition, fields, settings }: MappingContext): Fill {
  const declared = definition.actions[settings.operation]?.update ?? {}
  const configured = new Map(fields.map((field) => [field.field_name, field.type]))
  const meansJson = (name: string) => {
    const type = declared[name]?.type ?? configured.get(name)
    return type === 'array' || type === 'json'
  }
  const readers = [...settings.map].map(([name, source]) => {
    const value = settings.ranges.has(name)
      ? (text: string) => rangesIn(text, name)
      : settings.lists.has(name)
        ? listIn
        : meansJson(name)
          ? (text: string) => jsonIn(text, name)
          : (text: string) => text
    return { name, source, value }
  })
  return (target, cells) => {
    for (const { name, source, value } of readers) {
      const text = sourceText(cells, source)
      if (text !== '') setAlong(target, name, value(text))
    }
  }
}
