/** The standing job that sends recorded lines to a topic: each until it is acknowledged. */
import { NODE_ACTOR } from '../catalog/actor.ts'
import type { Catalog } from '../catalog/connection.ts'
import type { ExportStreamDocument } from '../catalog/records/usage/export-documents.ts'
import type { Config } from '../config/schema.ts'
import { beginJob, type ClaimedJob, type JobStores } from '../jobs/jobs.ts'
import type { JobHandler } from '../jobs/runner.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { type ExportedLine, isOpen, isWanted, SELECTING_FIELDS } from './cut.ts'
import { KafkaError, type KafkaTopic, type TopicMessage } from './kafka.ts'
import { checkFields, jsonOf, topLevelOf } from './line-fields.ts'

export interface StreamParts {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly config: Pick<Config, 'export'>
  readonly metrics: Pick<Metrics, 'linesSent' | 'sendingFailed'>
  readonly topic: Pick<KafkaTopic, 'send' | 'close'>
}

/** Poll interval for lines that wait. */
const POLL_MS = 1_000
/** Entries read at once. */
const PAGE = 500
/** Kafka refuses more than a MiB for one partition by default. */
const REQUEST_BYTES = 512 * 1024
/** Fields of every message: a receiver recognises a repeated line by them. */
const IDENTITY = ['stamp', 'v'] as const

/** Begins the standing job, if lines are to be sent. */
export async function beginStream({
  config,
  ...stores
}: JobStores & Pick<StreamParts, 'config'>): Promise<void> {
  if (config.export.kafka.brokers.length === 0) return
  await beginJob(stores, { kind: 'kafka', subject: 'lines', options: {}, actor: NODE_ACTOR })
}

export function streamHandler(parts: StreamParts): JobHandler {
  const { clock, config, metrics, topic } = parts
  return async (claimed, signal) => {
    // The settings have changed since the job was begun.
    if (config.export.kafka.brokers.length === 0) return null
    checkFields(config.export.fields)
    try {
      while (!signal.aborted && (await sendPage(parts, claimed, signal))) {}
    } catch (error) {
      // A stop is no failure: the next process sends the lines again.
      if (!signal.aborted) {
        if (error instanceof KafkaError) metrics.sendingFailed()
        throw error
      }
    }
    if (signal.aborted) topic.close()
    return clock.nowMs() + (signal.aborted ? 0 : POLL_MS)
  }
}

interface Waiting {
  readonly entry: ExportStreamDocument
  readonly message: TopicMessage | null
}

/** Sends the lines that have waited longest. Returns whether there were any. */
async function sendPage(
  parts: StreamParts,
  claimed: ClaimedJob,
  signal: AbortSignal,
): Promise<boolean> {
  const { catalog, config } = parts
  const entries = await catalog.exportstream.find().sort({ _id: 1 }).limit(PAGE).toArray()
  const fields = [...new Set([...IDENTITY, ...config.export.fields])]
  const names = [...new Set([...topLevelOf(fields), ...SELECTING_FIELDS, 'aid'])]
  const projection = Object.fromEntries(names.map((name) => [name, 1]))
  const stamps = entries.map(({ stamp }) => stamp)
  const found = (await catalog.lines
    .find({ stamp: { $in: stamps } }, { projection })
    .toArray()) as unknown as ExportedLine[]
  const lines = new Map(found.map((line) => [line.stamp, line]))
  let request: Waiting[] = []
  let bytes = 0
  for (const entry of entries) {
    // Retention may have removed it, or MongoDB have refused the version that ends it.
    const line = lines.get(entry.stamp)
    const isSent = line !== undefined && !isOpen(line) && isWanted(line, config.export)
    const message = isSent ? { key: String(line['aid']), value: jsonOf(line, fields) } : null
    const size = Buffer.byteLength(message?.value ?? '')
    if (bytes + size > REQUEST_BYTES) {
      await sendAll(parts, claimed, request, signal)
      request = []
      bytes = 0
    }
    request.push({ entry, message })
    bytes += size
  }
  await sendAll(parts, claimed, request, signal)
  return entries.length > 0
}

/** The entries are removed when Kafka has the lines: until then they are sent again. */
async function sendAll(
  { catalog, metrics, topic }: StreamParts,
  claimed: ClaimedJob,
  request: readonly Waiting[],
  signal: AbortSignal,
): Promise<void> {
  if (request.length === 0) return
  const messages = request.flatMap(({ message }) => message ?? [])
  if (messages.length > 0) {
    // Also makes sure that no other process has taken over: it would send later lines first.
    await claimed.saveProgress('send')
    await topic.send(messages, signal)
    metrics.linesSent(messages.length)
    claimed.count('lines', messages.length)
  }
  // One whose line has changed meanwhile has a higher version by now, and stays.
  const sent = request.map(({ entry: { _id, v } }) => ({ deleteOne: { filter: { _id, v } } }))
  await catalog.exportstream.bulkWrite(sent, { ordered: false })
}
