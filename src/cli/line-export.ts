/** `tollgate lines export` and `lines status`: files of lines, directly on the store. */
import type { Catalog } from '../catalog/connection.ts'
import type { Config } from '../config/schema.ts'
import { beginExport, exportHandler } from '../export/job.ts'
import { isRunning } from '../jobs/jobs.ts'
import { runJob } from '../jobs/runner.ts'
import type { Clock } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { openPlace } from '../transfer/open-place.ts'
import { CommandError } from './errors.ts'
import type { OptionValues } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { patienceIn, withCatalog } from './stores.ts'

const NO_METRICS = { linesExported: () => undefined, exportedUntil: () => undefined }

/** Returns 1 if the export has failed. */
export async function exportLines(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const config = shell.config()
  if (config.export.everyMinutes === 0) {
    throw new CommandError('no lines are exported: export.everyMinutes is 0')
  }
  const act = (catalog: Catalog, clock: Clock) => run({ catalog, clock, config })
  const done = await withCatalog(config, act, patienceIn(shell, config))
  if (options['json'] === true) shell.print(JSON.stringify(done))
  else if (done.error === '') shell.print(`${done.files} files with ${done.lines} lines`)
  else shell.print(`the export failed: ${done.error}`)
  return done.error === '' ? 0 : 1
}

async function run(stores: { catalog: Catalog; clock: Clock; config: Config }) {
  const { catalog, clock, config } = stores
  await beginExport(stores)
  const job = await catalog.jobs.findOne({ active: 'export/lines' })
  if (job === null || isRunning(job, clock)) {
    throw new CommandError('another process exports lines now')
  }
  const log = createLogger({ name: 'cli', level: 'silent' })
  const openConfigured = () => openPlace(config.transfer, config.export.place)
  const handler = exportHandler({ ...stores, metrics: NO_METRICS, openPlace: openConfigured })
  const runner = { ...stores, log, handlers: { export: handler } }
  if (!(await runJob(runner, job, new AbortController().signal))) {
    throw new CommandError('another process exports lines now')
  }
  const after = await catalog.jobs.findOne({ _id: job._id })
  const added = (name: string) => (after?.counts[name] ?? 0) - (job.counts[name] ?? 0)
  return { files: added('files'), lines: added('lines'), error: after?.error ?? '' }
}

export async function exportStatus(shell: Shell, options: OptionValues): Promise<0> {
  const status = await withCatalog(shell.config(), async (catalog) => {
    const [progress, files, waiting, stream, unsent] = await Promise.all([
      catalog.exports.findOne({ _id: 'lines' }),
      jobStatus(catalog, 'export'),
      catalog.exportwaiting.countDocuments({}),
      jobStatus(catalog, 'kafka'),
      catalog.exportstream.estimatedDocumentCount(),
    ])
    const until = progress?.after.getTimestamp() ?? null
    const kafka = { waiting: unsent, ...stream }
    return { files: progress?.seq ?? 0, until, waiting, ...files, kafka }
  })
  if (options['json'] === true) shell.print(JSON.stringify(status))
  else {
    const { kafka, ...files } = status
    const stream = Object.entries(kafka).map(([name, value]) => [`kafka ${name}`, value] as const)
    const rows = [...Object.entries(files), ...stream]
    for (const line of aligned(rows.map(([name, value]) => [name, textOf(value)]))) {
      shell.print(line)
    }
  }
  return 0
}

async function jobStatus(catalog: Catalog, kind: 'export' | 'kafka') {
  const job = await catalog.jobs.findOne({ kind }, { sort: { created: -1 } })
  return {
    state: job?.state === 'done' ? job.step : (job?.state ?? 'off'),
    due: job?.state === 'waiting' ? job.due : null,
    error: job?.error ?? '',
  }
}

function textOf(value: number | string | Date | null): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '')
}
