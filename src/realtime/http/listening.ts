/** What both servers are told and give. */
import type { Logger } from '../../runtime/log.ts'
import type { EncodeRefusal } from './refusals.ts'

export interface ListenOptions {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
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

/** The address cannot be listened on; the message says why. */
export class ListenError extends Error {
  override name = 'ListenError'
  constructor({ host, port }: { host: string; port: number }, why: string) {
    super(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${why}`)
  }
}
