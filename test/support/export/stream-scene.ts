/** Lines as the recorder writes them, and the job that sends them to a topic. */
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import type { Line } from '../../../src/domain/line.ts'
import { KafkaTopic } from '../../../src/export/kafka.ts'
import { beginStream, type StreamParts, streamHandler } from '../../../src/export/stream.ts'
import { claimJob } from '../../../src/jobs/jobs.ts'
import { coalesce } from '../../../src/recorder/coalesce.ts'
import { writeFlush } from '../../../src/recorder/write.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { withFields } from '../domain/lines.ts'
import { startTestMongo, type TestMongo } from '../mongo.ts'
import { lineOf } from '../recorder/accounts.ts'

export interface StreamRun {
  readonly catalog?: Catalog
  readonly settings?: Partial<Config['export']>
  readonly kafka?: Partial<Config['export']['kafka']>
  readonly topic?: StreamParts['topic']
  readonly signal?: AbortSignal
}

export interface StreamScene {
  readonly mongo: TestMongo
  readonly catalog: Catalog
  readonly counts: { sent: number; failures: number }
  record(lines: readonly Line[], catalog?: Catalog): Promise<void>
  /** Sends until no line waits. */
  run(options?: StreamRun): Promise<number | null>
  /** Stamps of the lines that wait, with their versions. */
  waiting(): Promise<string[]>
  /** Stamps of those that are not stored in this version yet. */
  unwritten(): Promise<string[]>
  reset(): Promise<void>
  close(): Promise<void>
}

/** A line of an ended segment that has used this number of bytes. */
export function ended(aid: number, stamp: string, version = 1, more: Partial<Line> = {}): Line {
  const line = withFields(lineOf(aid, aid * 10, stamp), { version, used: version })
  return { ...line, state: 'ended', ...more }
}

export async function openStreamScene(
  kafka: Partial<Config['export']['kafka']> & { brokers: string[] },
): Promise<StreamScene> {
  const mongo = await startTestMongo()
  const { url, database } = mongo
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  await catalog.ensureIndexes()
  const base = loadConfig({ env: {} }).export
  const counts = { sent: 0, failures: 0 }
  return {
    ...{ mongo, catalog, counts },
    async record(lines, used = catalog) {
      const flush = coalesce([{ lines: [...lines], operations: [], owners: [] }])
      await writeFlush(used, flush, () => '', { isStreaming: true })
    },
    async run(options = {}) {
      const stores = { catalog: options.catalog ?? catalog, clock: systemClock }
      const settings = { ...base.kafka, ...kafka, ...options.kafka }
      const config = { export: { ...base, ...options.settings, kafka: settings } }
      await beginStream({ ...stores, config })
      const job = await stores.catalog.jobs.findOne({ active: 'kafka/lines' })
      const claimed = job === null ? null : await claimJob(stores, job)
      if (claimed === null) throw new Error('the job is not to be had')
      const topic = options.topic ?? new KafkaTopic(settings, 100)
      const metrics = {
        linesSent(lines: number) {
          counts.sent += lines
        },
        sendingFailed() {
          counts.failures += 1
        },
      }
      const handler = streamHandler({ ...stores, config, metrics, topic })
      try {
        return await handler(claimed, options.signal ?? new AbortController().signal)
      } finally {
        topic.close()
      }
    },
    async waiting() {
      const entries = await catalog.exportstream.find().sort({ _id: 1 }).toArray()
      return entries.map(({ stamp, v }) => `${stamp} ${v}`)
    },
    async unwritten() {
      const entries = await catalog.exportstream.find().toArray()
      const lines = await Promise.all(
        entries.map(({ stamp, v }) => catalog.lines.findOne({ stamp, v: { $gte: v } })),
      )
      return entries.filter((_, each) => lines[each] === null).map(({ stamp }) => stamp)
    },
    async reset() {
      for (const name of ['lines', 'exportstream', 'jobs'] as const) {
        await catalog[name].deleteMany({})
      }
      Object.assign(counts, { sent: 0, failures: 0 })
    },
    async close() {
      await catalog.close()
      await mongo.close()
    },
  }
}
