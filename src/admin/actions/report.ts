/** `POST /api/report`: runs a report. */

import { Readable } from 'node:stream'
import { type Static, Type } from '@sinclair/typebox'
import * as schema from '../../catalog/entities/json-schema.ts'
import { SlowReadError } from '../../catalog/errors.ts'
import { repeatingReads } from '../../catalog/repeating-reads.ts'
import { missing } from '../../domain/field-errors.ts'
import { type Fields, isObject, isUnset } from '../../domain/fields.ts'
import { dayOf, isDelimiter, safeName } from '../../entities/export/export-request.ts'
import { recordReportRead } from '../../entities/read-records.ts'
import { type Report, readersOf } from '../../reports/definition.ts'
import { orderReport } from '../../reports/job.ts'
import { loadedReport, savedReport } from '../../reports/load.ts'
import { openReport, type ReportRows } from '../../reports/run.ts'
import { TAXATION_REPORT } from '../../reports/taxation.ts'
import { MEDIA_TYPES, REPORT_FORMATS, type ReportFormat, reportText } from '../../reports/texts.ts'
import { booleanOf } from '../../requests/cast-value.ts'
import { ActionError, NotAllowedError, parameterError } from '../../requests/errors.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import { type ActionCall, type AnswerOf, action, FILE } from './action.ts'
import { param } from './parameters.ts'

const PAGE_MAX = 1_000_000

const PARAMETERS = Type.Object({
  action: param.optional(
    param.text(
      '`generateReport`: `report` as rows; `exportCSVReport`: as CSV; `exportCSV`: CSV of the ' +
        'saved report with the key `report`; `taxationReport`: taxes of the last confirmed cycle.',
    ),
  ),
  key: param.optional(param.text('Key of a saved report.')),
  _id: param.optional(param.json('Id of a saved report.')),
  report: param.optional(param.json('Definition of a report that is not saved (docs/REPORTS.md).')),
  page: param.optional(param.integer('Page, from 0.', { minimum: 0, maximum: PAGE_MAX })),
  size: param.optional(
    param.integer('Rows per page. -1 (default): all rows, in a file if there are many.', {
      minimum: -1,
      maximum: PAGE_MAX,
    }),
  ),
  type: param.optional(
    param.choice(['csv', 'file'], '`csv`: all rows as CSV; `file`: a file in any case.'),
  ),
  file_format: param.optional(param.choice(REPORT_FORMATS, 'Format of a file; `csv` by default.')),
  file_name: param.optional(param.text('Name of the CSV or file, without extension.')),
  headers: param.optional(param.json('Whether CSV begins with the labels; true by default.')),
  delimiter: param.optional(param.text('Delimiter of CSV; a comma by default.')),
})

type ReportParameters = Static<typeof PARAMETERS>

const FILE_SCHEMA = schema.closed('The file that is written.', {
  url: schema.text('Address of the file; 202 until it is complete.'),
  job: schema.text('Id of the job, as in `/billapi/jobs/get`.'),
  format: schema.choice(REPORT_FORMATS, 'Format.'),
  expires: schema.text('When the address expires and the file is removed.'),
})

export const REPORT_ROW = schema.customFields('A row: values by key of the column.')

const ANSWER = {
  details: schema.listOf(REPORT_ROW, 'Rows.'),
  next_page: schema.flag('Whether there are further rows.'),
  execution_time: schema.text('Seconds.'),
  file_url: param.optional(
    schema.text('Address of the file, if there are too many rows for the answer.'),
  ),
  file: param.optional(FILE_SCHEMA),
} as const

type ReportAnswer = AnswerOf<typeof ANSWER>
type Part<K extends keyof typeof ANSWER> = { readonly [N in K]: schema.ValueOf<(typeof ANSWER)[N]> }
type Rows = Part<'details' | 'next_page'>
type Ordered = Part<'file_url' | 'file'>

export const report = action({
  name: 'report',
  level: ['write', 'reports'],
  about: 'Run a report',
  parameters: PARAMETERS,
  files: ['text/csv'],
  answer: ANSWER,
  example: {
    parameters: {
      report: {
        entity: 'usage',
        type: 1,
        columns: [
          { key: 'plan', field_name: 'plan', label: 'Plan', op: 'group' },
          { key: 'price', field_name: 'aprice', label: 'Price', op: 'sum' },
        ],
        conditions: [{ field: 'type', op: 'eq', value: 'realtime' }],
        sorts: [{ field: 'price', op: -1 }],
      },
    },
    answer: {
      details: [{ plan: 'GOLD', price: 12.5 }],
      next_page: false,
      execution_time: '0.03',
    },
  },
  async run(parameters, call) {
    const beganMs = monotonicMs()
    const { definition, isCsv } = await definitionOf(parameters, call)
    const loaded = await loadedReport(definition, call.reports.fields)
    await refuseUnreadable(loaded, call)
    const options = textOptionsOf(parameters, call)
    if (isCsv || parameters.type === 'csv') return csv(loaded, options, call)
    const order = () => ordered(loaded, definition, parameters, options, call)
    const answer =
      parameters.type === 'file' ? await order() : await rowsOf(loaded, parameters, call, order)
    const seconds = ((monotonicMs() - beganMs) / 1000).toFixed(2)
    return { details: [], next_page: false, execution_time: seconds, ...answer }
  },
})

interface Chosen {
  readonly definition: Fields
  readonly isCsv: boolean
}

async function definitionOf(parameters: ReportParameters, call: ActionCall): Promise<Chosen> {
  const { action: name = '', key, _id: id, report: value } = parameters
  const saved = async (by: { key?: unknown; id?: unknown }) => {
    await refuseDefinitions(call)
    return (await savedReport(call.catalog, by, call.nowMs)) as unknown as Fields
  }
  switch (name) {
    case '':
      if (!isUnset(key)) return { definition: await saved({ key }), isCsv: false }
      if (!isUnset(id)) return { definition: await saved({ id }), isCsv: false }
      return { definition: inline(value), isCsv: false }
    case 'generateReport':
      return { definition: inline(value), isCsv: false }
    case 'exportCSVReport':
      return { definition: inline(value), isCsv: true }
    case 'exportCSV':
      return { definition: await saved({ key: isUnset(value) ? key : value }), isCsv: true }
    case 'taxationReport':
      return { definition: TAXATION_REPORT, isCsv: false }
    default:
      throw new ActionError(`Report controller - cannot find action: ${name.slice(0, 64)}`, {
        path: 'action',
      })
  }
}

const REPORTS = { collection: 'reports', name: 'get', usual: ['read', 'write', 'reports'] }

/** Throws `NotAllowedError` if the operator's rules do not let the caller read saved reports. */
export async function refuseDefinitions({ permits }: ActionCall): Promise<void> {
  if (await permits(REPORTS)) return
  throw new NotAllowedError('No permission: you may not read saved reports')
}

function inline(value: unknown): Fields {
  if (isUnset(value)) {
    const text = 'Require to supply one of the following fields: key, _id, report'
    throw new ActionError(text, missing(['key', '_id', 'report'], text))
  }
  if (isObject(value)) return value
  throw parameterError('report', 'should be of type Object')
}

/** A caller who may run reports sees only what the operator's rules let it read. */
async function refuseUnreadable(loaded: Report, { permits }: ActionCall): Promise<void> {
  for (const definition of [loaded.entity, ...loaded.joined].map((each) => each.definition)) {
    const { name } = definition
    if (await permits({ collection: name, name: 'get', usual: readersOf(definition) })) continue
    throw new NotAllowedError(`No permission: this report shows ${name}, which you may not read`)
  }
}

interface TextSettings {
  readonly format: ReportFormat
  readonly delimiter: string
  readonly hasHeader: boolean
  readonly fileName: string
}

function textOptionsOf(parameters: ReportParameters, { config, nowMs }: ActionCall): TextSettings {
  const {
    file_format: format = 'csv',
    file_name: named = '',
    delimiter = ',',
    headers,
  } = parameters
  if (!isDelimiter(delimiter)) throw parameterError('delimiter', 'must be one character')
  const hasHeader = isUnset(headers) ? true : booleanOf(headers)
  if (hasHeader === null) throw parameterError('headers', 'should be of type Boolean')
  const usual = `${dayOf(config.rating.timeZone, nowMs)}_report`
  const fileName = safeName(named).replace(/\.(?:csv|ndjson)$/, '') || usual
  return { format, delimiter, hasHeader, fileName }
}

/** A page of rows, or all of them; `order` writes a file if there are too many. */
async function rowsOf(
  loaded: Report,
  { page = 0, size = -1 }: ReportParameters,
  call: ActionCall,
  order: () => Promise<Ordered>,
): Promise<Rows | Ordered> {
  const { config, nowMs, signal } = call
  const { rowsMax } = config.reports
  if (size > rowsMax) throw parameterError('size', `must be at most ${rowsMax}`)
  const isPage = size > 0
  const count = isPage ? size : rowsMax
  const skip = isPage ? page * size : 0
  const timeoutMs = config.entities.readTimeoutMs
  const run = { report: loaded, skip, limit: count + 1, nowMs, timeoutMs, signal }
  const { catalog, reports } = call
  const rows = await openReport({ catalog, reader: reports.reader, config }, run)
  const found = await collected(rows).catch((error: unknown) => {
    if (error instanceof SlowReadError && !isPage) return null
    throw error
  })
  if (found === null || (!isPage && found.length > count)) return order()
  const details = found.slice(0, count)
  await recordReportRead(call, call.actor, loaded, details.length)
  return { details, next_page: found.length > count }
}

async function collected(rows: ReportRows): Promise<Fields[]> {
  const found: Fields[] = []
  for await (const batch of rows.batches()) for (const row of batch) found.push(rows.json(row))
  return found
}

async function csv(loaded: Report, options: TextSettings, call: ActionCall): Promise<ReportAnswer> {
  const { config, nowMs, signal } = call
  const { fileRowsMax } = config.reports
  const run = { report: loaded, skip: 0, limit: fileRowsMax + 1, nowMs, signal }
  const { batch, reader } = call.reports
  const catalog = repeatingReads(batch, { ...batch.patience, signal })
  const rows = await openReport({ catalog, reader, config }, run)
  const texts = reportText(rows, loaded.columns, { ...options, format: 'csv' }, fileRowsMax)
  await recordReportRead({ ...call, catalog: batch }, call.actor, loaded, null)
  // Errors of the store must be known before the first byte is sent: the header needs no read.
  const first = options.hasHeader ? [await texts.next(), await texts.next()] : [await texts.next()]
  const whole = async function* () {
    try {
      for (const each of first) if (each.done !== true) yield each.value.text
      for await (const { text } of texts) yield text
    } finally {
      await texts.return(undefined)
    }
  }
  return {
    [FILE]: {
      bytes: Readable.from(whole(), { objectMode: false }),
      mediaType: MEDIA_TYPES.csv,
      fileName: `${options.fileName}.csv`,
      disposition: 'inline',
    },
  }
}

async function ordered(
  loaded: Report,
  definition: Fields,
  { file_format: format = 'csv' }: ReportParameters,
  options: TextSettings,
  call: ActionCall,
): Promise<Ordered> {
  const { actor, clock, reports, baseUrl } = call
  await recordReportRead(call, actor, loaded, null)
  const order = { ...options, format, definition: partsOf(definition), actor }
  const { id, path, expiresMs } = await orderReport({ ...reports, clock }, order)
  const url = `${baseUrl}${path}`
  const expires = new Date(expiresMs).toISOString()
  return { file_url: url, file: { url, job: id.toHexString(), format, expires } }
}

/** The parts of a definition that a job stores. */
function partsOf(definition: Fields): Fields {
  const { key, entity, type, columns, conditions, sorts, formats } = definition
  return { key, entity, type, columns, conditions, sorts, formats }
}
