/** The standing job that writes files of lines. */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { NODE_ACTOR } from '../catalog/actor.ts'
import { ObjectId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { ExportDocument } from '../catalog/records/usage/export-documents.ts'
import type { Config } from '../config/schema.ts'
import { beginJob, type ClaimedJob, type JobStores } from '../jobs/jobs.ts'
import type { JobHandler } from '../jobs/runner.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { TransferPlace } from '../transfer/place.ts'
import { Cut } from './cut.ts'
import { checkFields, topLevelOf } from './line-fields.ts'
import { fileNameOf, TOTAL_FIELDS, writeLineFile } from './line-file.ts'

export interface ExportParts {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: Pick<Config, 'export' | 'data'>
  readonly metrics: Pick<Metrics, 'linesExported' | 'exportedUntil'>
  readonly openPlace: () => TransferPlace
}

const MINUTE_MS = 60_000
/** A transfer may take longer than the lease of a job. */
const RENEW_MS = 20_000
const NOTHING = new ObjectId('000000000000000000000000')

/** Begins the standing job, if lines are to be exported. */
export async function beginExport({
  config,
  ...stores
}: JobStores & Pick<ExportParts, 'config'>): Promise<void> {
  if (config.export.everyMinutes === 0) return
  const subject = 'lines'
  const { _id } = await beginJob(stores, {
    kind: 'export',
    subject,
    options: {},
    actor: NODE_ACTOR,
  })
  // The times may have changed since it was scheduled.
  const due = new Date(nextMs(stores.clock.nowMs(), config.export))
  await stores.catalog.jobs.updateOne(
    { _id, state: 'waiting', due: { $gt: due } },
    { $set: { due } },
  )
}

/** Every hour is on the hour. */
function nextMs(nowMs: number, { everyMinutes }: Config['export']): number {
  const everyMs = everyMinutes * MINUTE_MS
  return Math.floor(nowMs / everyMs + 1) * everyMs
}

export function exportHandler(parts: ExportParts): JobHandler {
  const { clock, config, openPlace } = parts
  return async (claimed, signal) => {
    // The settings have changed since the job was begun.
    if (config.export.everyMinutes === 0) return null
    checkFields(config.export.fields)
    const place = openPlace()
    const timer = setInterval(() => {
      claimed.saveProgress('write').catch(() => undefined)
    }, RENEW_MS)
    try {
      const run = { signal, scan: { from: '' } }
      // Drafts of processes that were killed.
      await rm(draftsIn(config), { recursive: true, force: true })
      while (!signal.aborted && (await exportFile(parts, claimed, place, run))) {}
    } catch (error) {
      // A stop is no failure: the next process writes the file.
      if (!signal.aborted) throw error
    } finally {
      clearInterval(timer)
      await place.close()
    }
    return signal.aborted ? clock.nowMs() : nextMs(clock.nowMs(), config.export)
  }
}

/** Writes the next file, unless there are no lines for it. Returns whether there may be another. */
async function exportFile(
  parts: ExportParts,
  claimed: ClaimedJob,
  place: TransferPlace,
  { signal, scan }: { signal: AbortSignal; scan: { from: string | null } },
): Promise<boolean> {
  const { catalog, config } = parts
  const { until, progress } = await begin(parts)
  const { planned } = progress
  const tag = planned?.tag ?? randomUUID()
  const { format, gzip } = planned ?? config.export
  const shape = { ...config.export, format, gzip }
  const fields = [...topLevelOf(config.export.fields), ...TOTAL_FIELDS]
  const cut = new Cut({ catalog, config: config.export, progress, tag, until, fields, scan })
  const folder = draftsIn(config)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = join(folder, `${randomUUID()}.part`)
  try {
    const totals = await writeLineFile(draft, cut.pages(), shape, signal)
    signal.throwIfAborted()
    const { to } = cut
    const seq = progress.seq + 1
    // A planned file may be there already, also if its lines are in the next file by now.
    const isWritten = planned !== null || totals.lines > 0
    if (isWritten) {
      // Also makes sure that no other process has taken over while the lines were read.
      await store(parts, claimed, 'place', { planned: { tag, to, format, gzip } }, {})
      const file = fileNameOf(seq, shape)
      await place.write(file, { path: draft })
      const manifest = { file, sequence: seq, format, fields: shape.fields, ...totals }
      // A process that has taken over may have written another file of this number.
      await claimed.saveProgress('place')
      const bytes = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)
      await place.write(`${file}.manifest.json`, { bytes })
    }
    const changes = { seq: isWritten ? seq : progress.seq, after: to, planned: null, done: tag }
    const counts = { lines: totals.lines, files: isWritten ? 1 : 0 }
    await store(parts, claimed, 'write', changes, counts)
    const untilMs = to.getTimestamp().getTime()
    parts.metrics.linesExported(counts)
    parts.metrics.exportedUntil(untilMs)
    await claimed.saveProgress('write', { lines: new Date(untilMs) })
  } finally {
    await rm(draft, { force: true })
  }
  return planned !== null || cut.isFull
}

function draftsIn({ data }: ExportParts['config']): string {
  return join(resolve(data.dir), 'export')
}

/** How far the export has come, and the last line that a file may pass. */
async function begin({
  catalog,
  config,
}: ExportParts): Promise<{ until: ObjectId; progress: ExportDocument }> {
  const progress = await catalog.exports.findOneAndUpdate(
    { _id: 'lines' },
    {
      // The clock that ids of lines come from.
      $currentDate: { looked: true },
      $setOnInsert: { seq: 0, after: NOTHING, planned: null, done: '' },
    },
    { upsert: true, returnDocument: 'after' },
  )
  if (progress?.looked === undefined) throw new Error('MongoDB has no progress of the export')
  await catalog.exportwaiting.deleteMany({ tag: progress.done })
  const untilMs = progress.looked.getTime() - config.export.delayMs
  const until = ObjectId.createFromTime(Math.floor(untilMs / 1000))
  const isBehind = until.toHexString() < progress.after.toHexString()
  return { until: isBehind ? progress.after : until, progress }
}

/** Rejects with `JobLostError` if another process has claimed the job: nothing is stored then. */
function store(
  { catalog }: ExportParts,
  claimed: ClaimedJob,
  step: string,
  changes: Partial<ExportDocument>,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  return claimed.commitBatch(step, async (session) => {
    await catalog.exports.updateOne({ _id: 'lines' }, { $set: changes }, { session })
    return counts
  })
}
