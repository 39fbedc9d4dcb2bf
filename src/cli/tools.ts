/** Functions of realtime for commands; src/main.ts provides them. */
import type { Config } from '../config/schema.ts'
import type { CheckReport } from '../file-types/check-report.ts'

/** What is sent: messages by the names of their AVPs, or whole ones as bytes. */
export type DiameterMessage = Readonly<Record<string, unknown>> | Buffer

export interface DiameterTarget {
  readonly host: string
  readonly port: number
  /** Undefined: by the name of this machine. */
  readonly originHost: string | undefined
  readonly originRealm: string
  readonly destinationRealm: string
  readonly timeoutMs: number
  readonly nowMs: number
  /** Null: without TLS. Without `ca` the authorities of the system. */
  readonly tls: { ca?: Buffer; cert?: Buffer; key?: Buffer } | null
}

export interface DiameterExchange {
  readonly request: object
  readonly answer: object
  readonly resultCode: number
}

/** What commands need of rooms that this one may not enter. */
export interface Tools {
  /** What a document makes of a message. Rejects with nothing that is wrong with either. */
  checkFileType(document: unknown, sample: Buffer, config: Config): Promise<CheckReport>
  /** Sends messages and gives the answers, in order. Rejects with what is wrong with either. */
  sendDiameter(
    messages: readonly DiameterMessage[],
    target: DiameterTarget,
  ): Promise<DiameterExchange[]>
}
