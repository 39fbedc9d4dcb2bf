/** Parses the parameters of an export. */
import { about } from '../../domain/field-errors.ts'
import type { Fields } from '../../domain/fields.ts'
import { localTime } from '../../domain/time.ts'
import { ExecutionError } from '../../requests/errors.ts'
import { compoundParameters } from '../../requests/json-text.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { readOptions } from '../requests/read-options.ts'
import { type RequestContext, readRequestOf } from '../requests/requests.ts'
import type { ExportRequest } from './export-rows.ts'

/** Throws `ApiError`. */
export function exportRequestOf(sent: RawParameters, context: RequestContext): ExportRequest {
  const { definition, fields, entities, timeZone, nowMs } = context
  const raw = decodedOnce(sent)
  const { filter, states } = readRequestOf(raw, context)
  const { options } = readOptions(new Map(), compoundParameters(raw), entities)
  return {
    definition,
    fields,
    timeZone,
    nowMs,
    states,
    filter: inPeriod(filter),
    format: formatOf(plainText(raw, 'format')),
    hasHeader: options.headers,
    delimiter: options.delimiter ?? delimiterOf(plainText(raw, 'delimiter')),
  }
}

/** Clients encode each parameter of an export as JSON, even those that already are JSON text. */
function decodedOnce(raw: RawParameters): RawParameters {
  const decoded = [...raw].map(([name, value]): [string, unknown] => {
    if (typeof value !== 'string' || !/^"[\s\S]*"$/.test(value)) return [name, value]
    try {
      return [name, JSON.parse(value)]
    } catch {
      return [name, value]
    }
  })
  return new Map(decoded)
}

/** Revisions that end at `from` or later, and begin at `to` or before. */
function inPeriod({ from, to, ...filter }: Fields): Fields {
  const bounds = [
    ...(from instanceof Date ? [{ to: { $gte: from } }] : from === undefined ? [] : [{ from }]),
    ...(to instanceof Date ? [{ from: { $lte: to } }] : to === undefined ? [] : [{ to }]),
  ]
  if (bounds.length === 0) return filter
  return Object.keys(filter).length === 0 ? { $and: bounds } : { $and: [filter, ...bounds] }
}

/** Plain text or a JSON string: clients send both. */
function plainText(raw: RawParameters, name: string): string {
  const value = raw.get(name)
  if (typeof value !== 'string') return ''
  if (!/^".*"$/s.test(value)) return value
  try {
    return String(JSON.parse(value))
  } catch {
    throw new ExecutionError(...about(name, 'is neither a text nor JSON'))
  }
}

function formatOf(text: string): ExportRequest['format'] {
  if (text === '' || text === 'csv') return 'csv'
  if (text === 'jsonl') return 'jsonl'
  throw new ExecutionError(...about('format', 'must be csv or jsonl'))
}

function delimiterOf(text: string): string {
  if (text === '') return ','
  if (isDelimiter(text)) return text
  throw new ExecutionError(...about('delimiter', 'must be one character'))
}

export function isDelimiter(text: string): boolean {
  return /^[^"\r\n\0]$/u.test(text)
}

const NAME_LENGTH_MAX = 100

/** Response headers. The file name is reduced to letters, digits, dots and dashes. */
export function exportHeaders(
  raw: RawParameters,
  { format, timeZone, nowMs }: ExportRequest,
): Readonly<Record<string, string>> {
  const name = safeName(plainText(raw, 'file_name')) || `export_${dayOf(timeZone, nowMs)}`
  return {
    'content-type': `application/${format === 'csv' ? 'csv' : 'x-ndjson'}; charset=UTF-8`,
    'content-disposition': `inline; filename="${name}.${format}"`,
    'cache-control': 'max-age=0',
    'x-content-type-options': 'nosniff',
  }
}

/** Letters, digits, dots and dashes only, without a dot at the start; possibly empty. */
export function safeName(name: string): string {
  const safe = name.slice(0, NAME_LENGTH_MAX).replace(/[^A-Za-z0-9._-]+/g, '_')
  return safe.replace(/^\.+/, '')
}

/** YYYYMMDD. */
export function dayOf(timeZone: string, nowMs: number): string {
  const { year, month, day } = localTime(timeZone, nowMs)
  return `${year}${String(month).padStart(2, '0')}${String(day).padStart(2, '0')}`
}
