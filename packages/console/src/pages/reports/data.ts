/** Saved reports, and their rows. */
import type { BodyOf } from '../../api/call-types.ts'
import { answerOf, call, get } from '../../api/client.ts'
import type { DecimalText, Figure } from '../../api/figures.ts'
import { type Fields, type Identified, readRecords } from '../../api/records.ts'
import { leafText, textIn } from '../../parts/differences.ts'
import type { Document } from '../../parts/document/values.ts'

export type SavedReport = Fields & Identified

/** The rows of a page. */
export interface Rows {
  readonly rows: readonly Fields[]
  /** Number of the next page; null for the last one. */
  readonly next: string | null
  readonly seconds: string
}

const PAGE_SIZE = 100
const TRIED = 10

/** Reports that the caller may run. */
export async function readReports(signal: AbortSignal): Promise<readonly SavedReport[]> {
  return (await get('api/reports', {}, { signal })) as unknown as readonly SavedReport[]
}

export async function runReport(
  key: string,
  after: string | null,
  signal: AbortSignal,
): Promise<Rows> {
  const page = Number(after ?? 0)
  const body = { key, page, size: PAGE_SIZE }
  const answer = await answerOf('api/report', body, { signal, mayRepeat: true })
  const { details = [], next_page: hasNext, execution_time: seconds = '' } = answer
  return { rows: details, next: hasNext ? String(page + 1) : null, seconds }
}

/** The first rows of a definition that is not saved. */
export function tryReport(report: Document): Promise<readonly Fields[]> {
  const body = { report, page: 0, size: TRIED } as BodyOf<'api/report'>
  return call('api/report', body)
}

/** The stored document, with its version. */
export async function readReport(id: string, signal: AbortSignal): Promise<SavedReport | null> {
  const [found] = await readRecords<SavedReport>('reports', { query: { _id: id } }, signal)
  return found ?? null
}

export async function deleteReport({ _id }: SavedReport): Promise<void> {
  await call('billapi/reports/delete', { query: { _id: _id.$id } })
}

export interface RowColumn {
  /** Name in the rows. */
  readonly name: string
  readonly label: string
  readonly isGroup: boolean
  readonly isNumber: boolean
}

const NUMERIC_OPS: ReadonlySet<string> = new Set(['count', 'sum', 'avg'])

export function columnsOf(report: Fields, rows: readonly Fields[]): readonly RowColumn[] {
  const declared = report['columns']
  const isGrouped = textIn(report, 'type') === '1'
  return (Array.isArray(declared) ? (declared as readonly Fields[]) : []).map((column) => {
    const [field, op] = [textIn(column, 'field_name'), textIn(column, 'op')]
    const name = textIn(column, 'key') || (isGrouped ? field.replaceAll('.', '__') : field)
    const values = rows.map((row) => row[name]).filter((value) => value !== null)
    const areNumbers = values.length > 0 && values.every((value) => typeof value === 'number')
    return {
      name,
      label: textIn(column, 'label') || name,
      isGroup: isGrouped && op === 'group',
      isNumber: (areNumbers && op !== 'group') || (isGrouped && NUMERIC_OPS.has(op)),
    }
  })
}

/** A figure of a cell; null if it has none. */
export function figureIn(row: Fields, { name }: RowColumn): Figure | null {
  const value = row[name]
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d+(?:\.\d+)?$/.test(value)
    ? (value as DecimalText)
    : null
}

export function textOfCell(row: Fields, { name }: RowColumn): string {
  const value = row[name]
  return value === null || value === undefined ? '' : leafText(value)
}
