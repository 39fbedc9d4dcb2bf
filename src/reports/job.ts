/** Reports that are written to a file in the background. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Actor } from '../catalog/actor.ts'
import type { ObjectId } from '../catalog/collections.ts'
import { SlowReadError } from '../catalog/errors.ts'
import type { JobDocument } from '../catalog/records/job-document.ts'
import { repeatingReads } from '../catalog/repeating-reads.ts'
import type { Fields } from '../domain/fields.ts'
import { beginJob, JobFailedError } from '../jobs/jobs.ts'
import type { JobHandler } from '../jobs/runner.ts'
import { actionErrorOf } from '../requests/api-errors.ts'
import { EntityRuleError, RequestError } from '../requests/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ReportFileName } from './files.ts'
import { loadedReport } from './load.ts'
import type { ReportParts } from './parts.ts'
import { openReport } from './run.ts'
import { type ReportFormat, reportText, type TextOptions } from './texts.ts'

export interface ReportOrder extends TextOptions {
  readonly definition: Fields
  /** Name of the file for the caller, without extension. */
  readonly fileName: string
  readonly actor: Actor
}

interface ReportJobOptions extends Omit<ReportOrder, 'actor' | 'definition'> {
  /** Absent once the file is complete: its conditions may have personal data. */
  readonly definition?: Fields
  readonly expiresMs: number
  /** Key of the signature of the address. */
  readonly secret: string
}

/** Reports that wait or are being written. */
const ACTIVE_MAX = 20
const SECRET_BYTES = 32
const HOUR_MS = 3_600_000

export interface OrderedReport {
  readonly id: ObjectId
  /** Path and parameters of the address of the file. */
  readonly path: string
  readonly expiresMs: number
}

/** Rejects with `EntityRuleError` if too many are waiting, or with `CatalogUnavailableError`. */
export async function orderReport(
  { catalog, config, clock }: ReportParts & { clock: Clock },
  { actor, ...order }: ReportOrder,
): Promise<OrderedReport> {
  const waiting = await catalog.jobs.countDocuments(
    { kind: 'report', state: { $ne: 'done' } },
    { limit: ACTIVE_MAX },
  )
  if (waiting >= ACTIVE_MAX) {
    throw new EntityRuleError(
      `${ACTIVE_MAX} reports are being written: try again later`,
      'too_many',
    )
  }
  const expiresMs = clock.nowMs() + config.reports.keepHours * HOUR_MS
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const options: ReportJobOptions = { ...order, expiresMs, secret }
  const subject = `reports/${randomBytes(8).toString('hex')}`
  const job = await beginJob(
    { catalog, clock },
    { kind: 'report', subject, options: { ...options }, actor },
  )
  const id = job._id
  return { id, path: pathOf(id.toHexString(), options), expiresMs }
}

export const FILES_PATH = '/api/report/files'

function pathOf(id: string, { expiresMs, secret }: ReportJobOptions): string {
  const signature = signatureOf(id, expiresMs, secret)
  return `${FILES_PATH}/${id}?expires=${expiresMs}&signature=${signature}`
}

function signatureOf(id: string, expiresMs: number, secret: string): string {
  return createHmac('sha256', secret).update(`${id}.${expiresMs}`).digest('base64url')
}

/** The parameters of an address of a file. */
export interface FileRequest {
  readonly id: string
  readonly expires: string
  readonly signature: string
}

export type FoundFile =
  | { readonly state: 'waiting'; readonly rows: number }
  | { readonly state: 'failed'; readonly error: string }
  | { readonly state: 'ready'; readonly name: ReportFileName; readonly fileName: string }

/** Throws `RequestError` for an address that is not valid or has expired. */
export function fileOf(job: JobDocument | null, request: FileRequest, nowMs: number): FoundFile {
  const options = job?.options as unknown as ReportJobOptions | undefined
  const { id } = request
  const isValid =
    job !== null &&
    options !== undefined &&
    job.kind === 'report' &&
    request.expires === String(options.expiresMs) &&
    isSame(request.signature, signatureOf(id, options.expiresMs, options.secret))
  if (!isValid) throw new RequestError(403, 'the address of the report is not valid')
  const { expiresMs, format, fileName } = options
  if (nowMs >= expiresMs) throw new RequestError(410, 'the file of the report has expired')
  if (job.state !== 'done') return { state: 'waiting', rows: job.counts['rows'] ?? 0 }
  if (job.error !== '') return { state: 'failed', error: job.error }
  return { state: 'ready', name: { id, format, expiresMs }, fileName: `${fileName}.${format}` }
}

function isSame(a: string, b: string): boolean {
  const [received, expected] = [Buffer.from(a), Buffer.from(b)]
  return received.length === expected.length && timingSafeEqual(received, expected)
}

/** Rows between two updates of the progress. */
const ROWS_PER_UPDATE = 20_000

/** An interrupted report starts again. */
export function reportHandler(parts: ReportParts & { clock: Clock }): JobHandler {
  const { batch, config, files, fields, clock } = parts
  return async (claimed, signal) => {
    const { job } = claimed
    const options = job.options as unknown as ReportJobOptions
    const { format, expiresMs, definition } = options
    // The file was complete when the process died.
    if (definition === undefined) return null
    const name = { id: job._id.toHexString(), format: format as ReportFormat, expiresMs }
    job.counts = {}
    try {
      const report = await loadedReport(definition, fields)
      const { fileRowsMax } = config.reports
      const nowMs = clock.nowMs()
      const run = { report, skip: 0, limit: fileRowsMax + 1, nowMs, signal }
      const catalog = repeatingReads(batch)
      const rows = await openReport({ ...parts, catalog }, run)
      let unsaved = 0
      const texts = async function* () {
        for await (const batch of reportText(rows, report.columns, options, fileRowsMax)) {
          yield batch.text
          claimed.count('rows', batch.rows)
          unsaved += batch.rows
          if (unsaved < ROWS_PER_UPDATE) continue
          unsaved = 0
          await claimed.saveProgress('write')
        }
      }
      await withProgress(claimed.saveProgress, () => files.write(name, texts()))
      await catalog.jobs.updateOne({ _id: job._id }, { $unset: { 'options.definition': '' } })
    } catch (error) {
      // The process stops: another one starts the report again.
      if (signal.aborted) return clock.nowMs()
      throw finalError(error) ?? error
    }
    return null
  }
}

/** Longer than the time in which the lease must be renewed. */
const UPDATE_MS = 20_000

/** A report that groups has no rows for a long time; its lease is renewed meanwhile. */
async function withProgress(
  saveProgress: (step: string) => Promise<void>,
  write: () => Promise<void>,
): Promise<void> {
  const timer = setInterval(() => {
    saveProgress('read').catch(() => undefined)
  }, UPDATE_MS)
  try {
    await write()
  } finally {
    clearInterval(timer)
  }
}

/** Null if a repetition may succeed. */
function finalError(error: unknown): JobFailedError | null {
  if (error instanceof SlowReadError) {
    return new JobFailedError(`the report was stopped after ${error.limitMs} ms: add conditions`)
  }
  const known = actionErrorOf(error)
  if (known === null || known.httpStatus === 503) return null
  return new JobFailedError(known.message)
}
