/** TLS cipher suites of all listeners, and the TLS limitations of the native HTTP server. */
import { getCiphers } from 'node:tls'

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3'

const TLS_1_3_CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
] as const
/** TLS 1.2 suites with forward secrecy and authenticated encryption (RFC 9325). */
const TLS_1_2_CIPHERS = [
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
] as const

/** Default cipher suites, used if `tls.ciphers` is empty, in order of preference. */
export const DEFAULT_CIPHERS: readonly string[] = [...TLS_1_3_CIPHERS, ...TLS_1_2_CIPHERS]

const TLS_1_3_PREFIX = 'TLS_'
/** Suites without a certificate; the listeners have no pre-shared keys or passwords. */
const WITHOUT_CERTIFICATE = /(?:^|-)(?:PSK|SRP)-/

/** All suites that a listener with a certificate can offer, by OpenSSL name. */
const KNOWN_CIPHERS: ReadonlySet<string> = new Set(
  getCiphers()
    .map((name) => name.toUpperCase())
    .filter((name) => !WITHOUT_CERTIFICATE.test(name)),
)

export function isCipher(name: string): boolean {
  return KNOWN_CIPHERS.has(name)
}

/** The suites of a list that lack forward secrecy or authenticated encryption. */
export function weakCiphers(ciphers: readonly string[]): string[] {
  const isStrong = (name: string) =>
    name.startsWith(TLS_1_3_PREFIX) || /^(?:EC)?DHE-.*(?:-GCM-|-POLY1305$)/.test(name)
  return ciphers.filter((name) => !isStrong(name))
}

interface HttpTlsLimits {
  readonly minVersion: TlsVersion
  readonly ciphers: readonly string[]
  readonly clientCaFile: string
}

/** Why uWebSockets.js cannot serve a listener with this TLS; null if it can. */
export function nativeTlsProblem(tls: HttpTlsLimits): string | null {
  if (tls.clientCaFile !== '') return 'it does not expose client certificates'
  if (tls.minVersion !== 'TLSv1.2') return 'its lowest version is TLS 1.2'
  if (tls.ciphers.length === 0) return null
  const ofTls13 = tls.ciphers.filter((name) => name.startsWith(TLS_1_3_PREFIX))
  const others = tls.ciphers.filter((name) => !name.startsWith(TLS_1_3_PREFIX))
  // Without any TLS 1.3 suite in the list, all of them are enabled; uWebSockets.js cannot select
  // some.
  const hasTls13 =
    ofTls13.length === 0 ||
    (ofTls13.length === TLS_1_3_CIPHERS.length &&
      ofTls13.every((name) => DEFAULT_CIPHERS.includes(name)))
  const hasOthers = others.length > 0 && others.every((name) => DEFAULT_CIPHERS.includes(name))
  return hasTls13 && hasOthers ? null : 'it does not have these cipher suites'
}
