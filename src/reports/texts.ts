/** The text of a report: CSV or lines of JSON, a batch of rows at a time. */
import { csvText } from '../entities/export/csv-text.ts'
import { EntityRuleError } from '../requests/errors.ts'
import type { ReportColumn } from './definition.ts'
import type { ReportRows } from './run.ts'

export const REPORT_FORMATS = ['csv', 'ndjson'] as const
export type ReportFormat = (typeof REPORT_FORMATS)[number]

export const MEDIA_TYPES: Readonly<Record<ReportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
}

export interface TextOptions {
  readonly format: ReportFormat
  readonly delimiter: string
  /** Whether the first line of CSV has the labels of the columns. */
  readonly hasHeader: boolean
}

export interface TextBatch {
  readonly text: string
  readonly rows: number
}

const CRLF = '\r\n'

/** Rejects like `ReportRows.batches`, and with `EntityRuleError` after `rowsMax` rows. */
export async function* reportText(
  rows: ReportRows,
  columns: readonly ReportColumn[],
  { format, delimiter, hasHeader }: TextOptions,
  rowsMax: number,
): AsyncGenerator<TextBatch> {
  let written = 0
  const isCsv = format === 'csv'
  if (isCsv && hasHeader) {
    const labels = columns.map(({ label }) => label)
    yield { text: csvText([labels], delimiter, CRLF), rows: 0 }
  }
  for await (const batch of rows.batches()) {
    written += batch.length
    if (written > rowsMax) {
      throw new EntityRuleError(
        `the report has more than ${rowsMax} rows: add conditions`,
        'refused',
      )
    }
    const text = isCsv
      ? csvText(batch.map(rows.cells), delimiter, CRLF)
      : batch.map((row) => `${JSON.stringify(rows.json(row))}\n`).join('')
    yield { text, rows: batch.length }
  }
}
