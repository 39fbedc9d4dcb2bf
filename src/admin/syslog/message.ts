/** An audit record as a syslog message (RFC 5424), framed for TLS (RFC 5425, 4.3). Pure. */
import type { ChainedRecord } from '../../catalog/audit/chain.ts'

/** Informational. */
const SEVERITY = 6
/** With the enterprise number that RFC 5612 reserves for examples: the product has none. */
const SD_ID = 'tollgate@32473'
const HOSTNAME_LENGTH_MAX = 255

export function syslogFrame(record: ChainedRecord, host: string, facility: number): Buffer {
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
