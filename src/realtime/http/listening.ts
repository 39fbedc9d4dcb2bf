/** What both servers are told and give. */
import type { Logger } from '../../runtime/log.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { TlsSettings } from '../../runtime/tls-files.ts'
import type { TlsListener } from '../../runtime/tls-reload.ts'
import type { EncodeRefusal } from './refusals.ts'

/** What event loops know of each other that listen on one port (`realtime.listeners`). */
export interface PortSharing {
  /** The first one sees to it that the port is nobody else's. */
  readonly isFirst: boolean
  /** File descriptor from which the connections of the process, which are those of all, count. */
  readonly firstDescriptor: number
}

/** `realtime.tls`, where it is enabled. */
export interface HttpTls extends TlsSettings {
  readonly clientCaFile: string
  readonly clientCertificates: 'required' | 'optional'
}

export interface ListenOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Null: the port is for this thread alone. */
  readonly sharing: PortSharing | null
  /** Null: without TLS. */
  readonly tls: HttpTls | null
  readonly connectionsMax: number
  readonly encodeRefusal: EncodeRefusal
  readonly metrics: Pick<Metrics, 'tls' | 'refused'>
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

export interface HttpServer {
  readonly port: number
  /** Takes no new connections, and ends each one that is open with its next answer. */
  stop(): void
  /** Cuts what is still connected. */
  close(): void
}

/** Of several event loops the first one tells what becomes of the files. */
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
