/** What both servers are told and give. */
import type { Logger } from '../../runtime/log.ts'
import {
  KEY_EXPOSED,
  type KeyPair,
  type KeyPairFiles,
  readKeyPair,
} from '../../runtime/tls-files.ts'
import type { EncodeRefusal } from './refusals.ts'

/** What event loops know of each other that listen on one port (`realtime.listeners`). */
export interface PortSharing {
  /** The first one sees to it that the port is nobody else's. */
  readonly isFirst: boolean
  /** File descriptor from which the connections of the process, which are those of all, count. */
  readonly firstDescriptor: number
}

export interface ListenOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Null: the port is for this thread alone. */
  readonly sharing: PortSharing | null
  /** Null: without TLS. */
  readonly tls: KeyPairFiles | null
  readonly connectionsMax: number
  readonly encodeRefusal: EncodeRefusal
  readonly log: Pick<Logger, 'warn' | 'error'>
}

export interface HttpServer {
  readonly port: number
  /** Takes no new connections, and ends each one that is open with its next answer. */
  stop(): void
  /** Cuts what is still connected. */
  close(): void
}

/** The files, checked. Throws `TlsFileError`. Warns once of a key that everybody may read. */
export function readTls(
  tls: KeyPairFiles,
  { log, sharing }: Pick<ListenOptions, 'log' | 'sharing'>,
): KeyPair {
  const pair = readKeyPair('realtime.tls', tls)
  const isFirst = sharing === null || sharing.isFirst
  if (isFirst && pair.isKeyExposed) log.warn({ file: tls.keyFile }, KEY_EXPOSED)
  return pair
}

/** The address cannot be listened on; the message says why. */
export class ListenError extends Error {
  override name = 'ListenError'
  constructor({ host, port }: { host: string; port: number }, why: string) {
    super(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${why}`)
  }
}
