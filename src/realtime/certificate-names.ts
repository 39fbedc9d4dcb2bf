/** Names in a certificate by which a peer is identified. */
import type { PeerCertificate } from 'node:tls'

const DNS = 'DNS:'
/** Node quotes names with other characters; such a name could be mistaken for several. */
const PLAIN_NAME = /^[A-Za-z0-9.-]+$/

/** DNS names in a certificate's `subjectaltname` as Node formats it, in lower case. */
export function dnsNames(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? '')
    .split(', ')
    .filter((entry) => entry.startsWith(DNS) && PLAIN_NAME.test(entry.slice(DNS.length)))
    .map((entry) => entry.slice(DNS.length).toLowerCase())
}

/**
 * DNS names of a certificate, in lower case. Without alternative names, the common name of its
 * subject, which counts only then (RFC 6125 section 6.4.4).
 */
export function clientNames({
  subjectaltname,
  subject,
}: Pick<PeerCertificate, 'subjectaltname' | 'subject'>): string[] {
  if (subjectaltname !== undefined) return dnsNames(subjectaltname)
  const name: unknown = subject?.CN
  return typeof name === 'string' && PLAIN_NAME.test(name) ? [name.toLowerCase()] : []
}
