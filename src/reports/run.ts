/** Reads the rows of a report. */
import { calendarOf } from '../billing/credit/credits.ts'
import type { Catalog } from '../catalog/connection.ts'
import { isAway, repeated } from '../catalog/patience.ts'
import { Exact } from '../catalog/records/money/exact-amount.ts'
import type { Config } from '../config/schema.ts'
import type { Fields } from '../domain/fields.ts'
import { NOT_DELETED, unguardedOf } from '../entities/revisions.ts'
import { lastConfirmedKey } from '../entities/rules/minimum-date.ts'
import { EntityRuleError } from '../requests/errors.ts'
import { needsCycles } from './conditions.ts'
import { cycleWords } from './cycle-words.ts'
import type { Report, ReportColumn } from './definition.ts'
import type { FormatContext } from './formats.ts'
import { groupedDate, pipelineOf } from './pipeline.ts'
import { cellText, jsonValue } from './row-values.ts'

export interface ReportStores {
  /** The connection for everything but the rows. Its patience is also that for the first rows. */
  readonly catalog: Catalog
  /** The connection for reports (admin/start.ts). */
  readonly reader: Catalog
  readonly config: Config
}

export interface ReportRun {
  readonly report: Report
  readonly skip: number
  readonly limit: number
  readonly nowMs: number
  /** Limit on the work of the store for all rows; `reports.timeoutMs` by default. */
  readonly timeoutMs?: number
  /** Aborted when nobody needs the rows any more. */
  readonly signal?: AbortSignal | undefined
}

/** Values of a row in the order of the columns, with formats applied. */
type Row = readonly unknown[]

export interface ReportRows {
  /** Never empty. Rejects with `EntityRuleError` or errors of the catalogue. */
  batches(): AsyncGenerator<readonly Row[]>
  /** A row as an object for JSON; as texts of cells. */
  json(row: Row): Fields
  cells(row: Row): string[]
}

/** Throws `EntityRuleError`, or errors of the catalogue, before anything is read. */
export async function openReport(stores: ReportStores, run: ReportRun): Promise<ReportRows> {
  const { reader, catalog, config } = stores
  const { report, nowMs, skip, limit, signal } = run
  const { timeZone, currencyCode } = config.rating
  const calendar = calendarOf(config)
  const last = report.conditions.some(needsCycles) ? await lastConfirmedKey(catalog) : null
  const cycles = cycleWords(last, nowMs, calendar)
  const pipeline = pipelineOf(report, { timeZone, nowMs, cycles, skip, limit })
  const taxRate = await taxRateFor(stores, report, nowMs)
  const context: FormatContext = { timeZone, calendar, currencyCode, taxRate }
  const { columns, entity } = report
  return {
    async *batches() {
      const documents = unguardedOf(reader, entity.definition)
      const open = (limits: { maxTimeMS: number; signal: AbortSignal }) =>
        documents.aggregate(pipeline, { ...limits, batchSize: BATCH_ROWS, allowDiskUse: true })
      const options = { signal, limitMs: run.timeoutMs ?? config.reports.timeoutMs }
      const begin = async () => {
        const rows = reader.readBatches(`report on ${entity.name}`, open, options)
        return { first: await rows.next(), rows }
      }
      const rowsOf = (batch: Fields[]) => batch.map((each) => rowOf(each, columns, context))
      try {
        const { first, rows } = await repeated(begin, { ...catalog.patience, signal }, isAway)
        try {
          for (let next = first; next.done !== true; next = await rows.next()) {
            yield rowsOf(next.value)
          }
        } finally {
          await rows.return(undefined)
        }
      } catch (error) {
        throw refusalOf(error) ?? error
      }
    },
    json(row) {
      const entries = columns.map(({ key }, index) => [key, jsonValue(row[index], timeZone)])
      return Object.fromEntries(entries)
    },
    cells: (row) => row.map((value) => cellText(value, timeZone)),
  }
}

/** MongoDB's own limit of a batch is 16 MiB, which would be in memory for each slow client. */
const BATCH_ROWS = 1_000

/** Codes of exceeded memory: of groups, of lists in them, of joined documents. */
const MEMORY_CODES: ReadonlySet<unknown> = new Set([292, 146, 4568])

/** A report that the store refuses; null for other errors, and for sorts, which have their own. */
function refusalOf(error: unknown): EntityRuleError | null {
  const isOfStore = error instanceof Error && 'code' in error && typeof error.code === 'number'
  if (!isOfStore || /^Sort exceeded/.test(error.message)) return null
  if (MEMORY_CODES.has(error.code)) {
    return new EntityRuleError(
      'too many groups or values for the memory: add conditions',
      'refused',
    )
  }
  const name = 'codeName' in error ? String(error.codeName) : String(error.code)
  return new EntityRuleError(`the store cannot run this report: ${name}`, 'refused')
}

function rowOf(document: Fields, columns: readonly ReportColumn[], context: FormatContext): Row {
  const group = (document['_id'] ?? {}) as Fields
  return columns.map((column, index) => {
    const name = `c${index}`
    const stored = column.op === 'group' ? group[name] : document[name]
    return formatted(stored, column, context)
  })
}

function formatted(stored: unknown, column: ReportColumn, context: FormatContext): unknown {
  const { formats } = column
  let value = stored
  let rest = formats
  const [first] = formats
  if (groupedDate(column) !== null && first?.date) {
    // The store has written the parts of the date that the format shows.
    value = typeof stored === 'string' ? first.date.write(first.date.partsOf(stored)) : null
    rest = formats.slice(1)
  }
  return rest.reduce((current, { apply }) => apply(current, context), value)
}

/** The rate of the default tax if a format needs it. */
async function taxRateFor(
  { catalog, config }: ReportStores,
  { columns }: Report,
  nowMs: number,
): Promise<Exact | null> {
  const isNeeded = columns.some(({ formats }) => formats.some(({ needsTax }) => needsTax))
  if (!isNeeded) return null
  const { defaultTax: key } = config.rating
  const now = new Date(nowMs)
  const found = await catalog.taxes.findOne({
    key,
    from: { $lte: now },
    to: { $gt: now },
    ...NOT_DELETED,
  })
  if (found !== null) return new Exact(found.rate)
  throw new EntityRuleError('vat_format needs the tax of the setting rating.defaultTax', 'refused')
}
