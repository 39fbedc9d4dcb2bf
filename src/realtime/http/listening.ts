/** Options and interface of both HTTP servers. */
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { TlsSettings } from '../../runtime/tls-files.ts'
import type { TlsListener } from '../../runtime/tls-reload.ts'
import type { EncodeRefusal } from './refusals.ts'

/** Context of event loops that listen on the same port (`realtime.listeners`). */
export interface PortSharing {
  /** The first loop makes sure that no other process uses the port. */
  readonly isFirst: boolean
  /** Descriptor number from which the connections of the process are counted, for all loops. */
  readonly firstDescriptor: number
}

/** `realtime.tls` if it is enabled. */
export interface HttpTls extends TlsSettings {
  readonly clientCaFile: string
  readonly clientCertificates: 'required' | 'optional'
}

export interface ListenOptions {
  readonly host: string
  /** 0 selects any free port. */
  readonly port: number
  /** Null if this thread alone uses the port. */
  readonly sharing: PortSharing | null
  /** Null without TLS. */
  readonly tls: HttpTls | null
  readonly connectionsMax: number
  readonly encodeRefusal: EncodeRefusal
  readonly metrics: Pick<Metrics, 'tls' | 'refused'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

export interface HttpServer {
  readonly port: number
  /** Accepts no new connections, and closes each open one with its next answer. */
  stop(): void
  /** Cuts the remaining connections. */
  close(): void
}

/** With several event loops only the first one logs and counts certificate changes. */
export function tlsListener(
  settings: HttpTls,
  { log, metrics, sharing }: Pick<ListenOptions, 'log' | 'metrics' | 'sharing'>,
): TlsListener {
  const isSilent = sharing !== null && !sharing.isFirst
  return { section: 'realtime.tls', settings, log, metrics: metrics.tls, isSilent }
}

/** The address cannot be listened on; the message says why. */
export class ListenError extends Error {
  override name = 'ListenError'
  constructor({ host, port }: { host: string; port: number }, why: string) {
    super(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${why}`)
  }
}
