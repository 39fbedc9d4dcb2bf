/** The job that forwards new audit records in the order of the chain. */
import { hostname } from 'node:os'
import type { Catalog } from '../../catalog/connection.ts'
import type { ChainedRecord } from '../../catalog/transactions/audit-chain.ts'
import type { Config } from '../../config/schema.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { beginJob } from '../jobs.ts'
import type { JobHandler } from '../runner.ts'
import { transmit } from './transmission.ts'

export interface ForwardParts {
  catalog: Catalog
  clock: Clock
  config: Pick<Config, 'audit'>
  metrics: Pick<Metrics, 'auditSent'>
}

/** Records per transmission; each is below 256 KiB. */
const BATCH = 100
/** Poll interval for new records. */
const POLL_MS = 1_000
const POSITION = 'syslog'

export function forwardHandler({ catalog, clock, config, metrics }: ForwardParts): JobHandler {
  const { syslog } = config.audit
  return async (claimed, signal) => {
    // The settings have changed since the job was begun.
    if (syslog.host === '') return null
    while (!signal.aborted) {
      const position = await catalog.auditchain.findOne({ _id: POSITION })
      const records = (await catalog.audit
        .find({ 'chain.seq': { $gt: position?.seq ?? 0 } })
        .sort({ 'chain.seq': 1 })
        .limit(BATCH)
        .toArray()) as ChainedRecord[]
      const last = records.at(-1)
      if (last === undefined) break
      await transmit(
        syslog,
        records.map((record) => syslogFrame(record, hostname(), syslog.facility)),
      )
      // Only the process that holds the job moves the position; receivers recognise duplicates by
      // their sequence number.
      const { seq, hash } = last.chain
      await claimed.commitBatch('send', async (session) => {
        const options = { upsert: true, session }
        await catalog.auditchain.updateOne({ _id: POSITION }, { $set: { seq, hash } }, options)
        return { sent: records.length }
      })
      metrics.auditSent(records.length)
    }
    return clock.nowMs() + POLL_MS
  }
}

/** Begins the job if a receiver is configured. Rejects with `CatalogUnavailableError`. */
export async function beginForwarding({
  catalog,
  clock,
  config,
}: Pick<ForwardParts, 'catalog' | 'clock' | 'config'>): Promise<void> {
  if (config.audit.syslog.host === '') return
  const actor = { by: 'node', id: '', name: '', address: '' } as const
  await beginJob({ catalog, clock }, { kind: 'syslog', subject: 'audit', options: {}, actor })
}

/** Informational. */
const SEVERITY = 6
/** With the enterprise number that RFC 5612 reserves for examples: the product has none. */
const SD_ID = 'tollgate@32473'
const HOSTNAME_LENGTH_MAX = 255

/** A syslog message (RFC 5424), framed for TLS (RFC 5425, 4.3). */
function syslogFrame(record: ChainedRecord, host: string, facility: number): Buffer {
  const message = Buffer.from(syslogMessage(record, host, facility), 'latin1')
  return Buffer.concat([Buffer.from(`${message.length} `, 'latin1'), message])
}

/** ASCII only, independent of the receiver's encoding. */
function syslogMessage(record: ChainedRecord, host: string, facility: number): string {
  const { _id: _, chain, ...content } = record as ChainedRecord & { _id?: unknown }
  const { seq, prev, hash } = chain
  const priority = facility * 8 + SEVERITY
  const hostname = host.replace(/[^\x21-\x7e]/g, '').slice(0, HOSTNAME_LENGTH_MAX) || '-'
  const header = `<${priority}>1 ${record.urt.toISOString()} ${hostname} tollgate - audit`
  const data = `[${SD_ID} seq="${seq}" prev="${prev}" hash="${hash}"]`
  return `${header} ${data} ${asciiJson({ ...content, chain: { seq, prev, hash } })}`
}

function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\x7f-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
