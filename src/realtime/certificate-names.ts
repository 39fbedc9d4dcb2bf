/** Who a certificate is for, as far as a peer can be found by it. */
import type { PeerCertificate } from 'node:tls'

const DNS = 'DNS:'
/** Names with anything else are quoted there, and could pass for several. */
const PLAIN_NAME = /^[A-Za-z0-9.-]+$/

/** The DNS names in a certificate's `subjectaltname`, as Node gives it; in lower case. */
export function dnsNames(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? '')
    .split(', ')
    .filter((entry) => entry.startsWith(DNS) && PLAIN_NAME.test(entry.slice(DNS.length)))
    .map((entry) => entry.slice(DNS.length).toLowerCase())
}

/**
 * Its DNS names; of a certificate without alternative names the common name of its subject, which
 * counts only then (RFC 6125 section 6.4.4). In lower case.
 */
export function clientNames({
  subjectaltname,
  subject,
}: Pick<PeerCertificate, 'subjectaltname' | 'subject'>): string[] {
  if (subjectaltname !== undefined) return dnsNames(subjectaltname)
  const name: unknown = subject?.CN
  return typeof name === 'string' && PLAIN_NAME.test(name) ? [name.toLowerCase()] : []
}
