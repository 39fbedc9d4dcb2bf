/**
 * The action `export`: the entities that match a query, as CSV or JSON lines. Pages are read on
 * demand, so reading stops when the client disconnects.
 */
import type { Catalog } from '../../catalog/connection.ts'
import type { Fields } from '../../domain/fields.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import type { ReadRequest } from '../requests/entity-request.ts'
import { readView } from '../views.ts'
import { cellOf } from './cells.ts'
import { columnsOf } from './columns.ts'
import { csvText } from './csv-text.ts'
import { type OverridesOf, overridesIn } from './rate-overrides.ts'
import { rateColumns, rateRows } from './rate-rows.ts'
import { currentRevisionPages } from './revision-pages.ts'

export interface ExportRequest {
  definition: CollectionDefinition
  /** Configured fields of the collection. */
  fields: readonly FieldDefinition[]
  /** Already cast; `from` and `to` restrict the revisions. */
  filter: ReadRequest['filter']
  states: readonly number[]
  format: 'csv' | 'jsonl'
  /** For CSV: true if the first row has the column names. */
  hasHeader: boolean
  delimiter: string
  /** IANA zone of the dates. */
  timeZone: string
  nowMs: number
  /** Aborted when the client disconnects. */
  signal?: AbortSignal | undefined
}

/** Chunks of the response; the first one is available when MongoDB has answered. */
export function exportRows(catalog: Catalog, request: ExportRequest): AsyncGenerator<string> {
  return request.format === 'csv' ? csvOf(catalog, request) : linesOf(catalog, request)
}

async function* csvOf(catalog: Catalog, request: ExportRequest): AsyncGenerator<string> {
  const { definition, fields, delimiter, timeZone, nowMs, hasHeader } = request
  const hasPriceLines = hasTrait(definition, 'hasPriceLines')
  const columns = hasPriceLines ? rateColumns(definition, fields) : columnsOf(definition, fields)
  let header = hasHeader ? csvText([columns.map(({ name }) => name)], delimiter) : ''
  const refused = refusedPaths(request)
  for await (const found of currentRevisionPages(catalog, request)) {
    const page = found.map((document) => withoutPaths(document, refused))
    const overrides: OverridesOf = hasPriceLines
      ? await overridesIn(catalog, page, nowMs)
      : () => []
    const rows = page.flatMap((document) =>
      hasPriceLines
        ? rateRows(document, overrides(document), columns, timeZone)
        : [columns.map((column) => cellOf(document, column, timeZone))],
    )
    yield header + csvText(rows, delimiter)
    header = ''
  }
  if (header !== '') yield header
}

/** Dotted paths of fields that must not be exported, including parts of other fields. */
function refusedPaths({ definition, fields }: ExportRequest): readonly string[] {
  const refused = fields.filter(({ exportable }) => exportable === false)
  const names = refused.map(({ field_name: name }) => name)
  return [...definition.hidden, ...names.filter((name) => name !== definition.keyField)]
}

function withoutPaths<T extends Fields>(document: T, paths: readonly string[]): T {
  return paths.reduce((result, path) => without(result, path.split('.')) as T, document)
}

function without(value: unknown, [name = '', ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((member) => without(member, [name, ...rest]))
  const isObject = typeof value === 'object' && value !== null && !(value instanceof Date)
  if (!isObject || !Object.hasOwn(value, name)) return value
  const { [name]: inner, ...others } = value as Fields
  return rest.length === 0 ? others : { ...others, [name]: without(inner, rest) }
}

/** Each line can be imported again, so generated fields are left out. */
async function* linesOf(catalog: Catalog, request: ExportRequest): AsyncGenerator<string> {
  const { fields, timeZone } = request
  const hidden = refusedPaths(request)
  const dates = fields.filter(({ type }) => type === 'date' || type === 'daterange')
  const shape = { timeZone, dateFields: dates.map(({ field_name: name }) => name), hidden }
  for await (const page of currentRevisionPages(catalog, request)) {
    yield page.map((document) => `${JSON.stringify(lineOf(document, shape))}\n`).join('')
  }
}

function lineOf(document: Fields, shape: Parameters<typeof readView>[1]): Fields {
  const { _id, creation_time, ...fields } = readView(document, shape)
  return fields
}
