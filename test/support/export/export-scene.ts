/** Lines on a real store, and exports of them into a folder. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ObjectId } from 'mongodb'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import { beginExport, exportHandler } from '../../../src/export/job.ts'
import { claimJob } from '../../../src/jobs/jobs.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { FolderPlace } from '../../../src/transfer/folder.ts'
import type { TransferPlace } from '../../../src/transfer/place.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'

/** Old enough for every export. */
const BEGAN_SECONDS = Math.floor(Date.now() / 1000) - 86_400

export interface RunOptions {
  readonly settings?: Partial<Config['export']>
  readonly catalog?: Catalog
  readonly place?: TransferPlace
  /** The export passes lines of this second; those of all if absent. */
  readonly until?: number
}

export interface ExportScene {
  readonly mongo: TestMongo
  readonly catalog: Catalog
  readonly place: TransferPlace
  readonly metrics: { files: number; lines: number; untilMs: number }
  /** Inserts a line that was written so many seconds after the first. */
  insert(second: number, more?: Readonly<Record<string, unknown>>): Promise<string>
  end(stamp: string): Promise<void>
  /** The state after an export that has passed this line while its segment was open. */
  passed(second: number): Promise<void>
  run(options?: RunOptions): Promise<number | null>
  /** Names in the order of their numbers, without hidden ones. */
  files(): string[]
  text(name: string): string
  bytes(name: string): Buffer
  manifest(name: string): Record<string, unknown>
  /** The lines of all files in their order, by stamp and version. */
  exported(): string[]
  reset(): Promise<void>
  close(): Promise<void>
}

export async function openExportScene(): Promise<ExportScene> {
  const mongo = await startTestMongo()
  const { url, database } = mongo
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  await catalog.ensureIndexes()
  const root = mkdtempSync(join(tmpdir(), 'tg-export-'))
  const folder = mkdtempSync(join(tmpdir(), 'tg-exported-'))
  const place = new FolderPlace(folder)
  const metrics = { files: 0, lines: 0, untilMs: 0 }
  const files = () =>
    readdirSync(folder)
      .filter((name) => !name.includes('manifest'))
      .sort()
  const text = (name: string) => readFileSync(join(folder, name), 'utf8')
  return {
    ...{ mongo, catalog, place, metrics, files, text },
    async insert(second, more = {}) {
      const stamp = stampOf(second)
      const urt = new Date(Date.UTC(2026, 0, 1, 0, 0, second))
      const line = { stamp, v: 1, type: 'realtime', state: 'ended', aid: 17, sid: 18, urt, ...more }
      const _id = ObjectId.createFromTime(BEGAN_SECONDS + second)
      await catalog.lines.insertOne({ _id, ...line } as never)
      return stamp
    },
    async end(stamp) {
      await catalog.lines.updateOne({ stamp }, { $set: { state: 'ended', v: 2 } })
    },
    async passed(second) {
      const after = ObjectId.createFromTime(BEGAN_SECONDS + second)
      await catalog.exports.insertOne({ _id: 'lines', seq: 0, after, planned: null, done: '' })
      await catalog.exportwaiting.insertOne({ _id: stampOf(second) })
    },
    run: (options = {}) => runExport({ catalog, place, root, metrics }, options),
    bytes: (name) => readFileSync(join(folder, name)),
    manifest: (name) => JSON.parse(text(`${name}.manifest.json`)),
    exported: () =>
      files().flatMap((name) =>
        text(name)
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => {
            const { stamp, v } = JSON.parse(line)
            return `${stamp} ${v}`
          }),
      ),
    async reset() {
      for (const name of ['lines', 'exports', 'exportwaiting', 'jobs'] as const) {
        await catalog[name].deleteMany({})
      }
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
      Object.assign(metrics, { files: 0, lines: 0, untilMs: 0 })
    },
    async close() {
      await catalog.close()
      await mongo.close()
      for (const each of [root, folder]) rmSync(each, { recursive: true })
    },
  }
}

function stampOf(second: number): string {
  return `s${String(second).padStart(6, '0')}`
}

interface Exporter extends Pick<ExportScene, 'catalog' | 'place' | 'metrics'> {
  readonly root: string
}

async function runExport(
  { catalog, place, root, metrics }: Exporter,
  options: RunOptions,
): Promise<number | null> {
  const used = options.catalog ?? catalog
  const base = loadConfig({ env: {} })
  const own = { everyMinutes: 60, fields: ['stamp', 'v'], format: 'jsonl' } as const
  const { until } = options
  const old =
    until === undefined ? {} : { delayMs: Date.now() - (BEGAN_SECONDS + until) * 1000 - 500 }
  const config = {
    data: { dir: root },
    export: { ...base.export, ...own, ...old, ...options.settings },
  }
  await beginExport({ catalog: used, clock: systemClock, config })
  const job = await used.jobs.findOne({ active: 'export/lines' })
  const stores = { catalog: used, clock: systemClock }
  const claimed = job === null ? null : await claimJob(stores, job)
  if (claimed === null) throw new Error('the job is not to be had')
  const handler = exportHandler({
    ...stores,
    config,
    metrics: {
      linesExported(count) {
        metrics.files += count.files
        metrics.lines += count.lines
      },
      exportedUntil: (atMs) => {
        metrics.untilMs = atMs
      },
    },
    openPlace: () => options.place ?? place,
  })
  return handler(claimed, new AbortController().signal)
}
