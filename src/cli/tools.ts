/** Functions of other modules for commands; src/main.ts provides them. */
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { RuleTrial } from '../domain/events/explain.ts'
import type { BalanceRule } from '../domain/events/rules.ts'
import type { CheckFileType } from '../file-types/check-report.ts'
import type { ChargeContext, ChargeView } from '../rating/decision.ts'

/** A message to send: AVPs by name, or the encoded bytes. */
export type DiameterMessage = Readonly<Record<string, unknown>> | Buffer

export interface DiameterTarget {
  readonly host: string
  readonly port: number
  /** Undefined for the host name of this machine. */
  readonly originHost: string | undefined
  readonly originRealm: string
  readonly destinationRealm: string
  readonly timeoutMs: number
  readonly nowMs: number
  /** Null for a plain connection. Without `ca`, the system's certificate authorities apply. */
  readonly tls: { ca?: Buffer; cert?: Buffer; key?: Buffer } | null
}

export interface DiameterExchange {
  readonly request: object
  readonly answer: object
  readonly resultCode: number
}

export interface Tools {
  /** Decodes a message by a document. Never rejects because of either: errors are in the report. */
  readonly checkFileType: CheckFileType
  /**
   * Sends messages and returns the answers in order. Rejects if a message or an answer is invalid.
   */
  sendDiameter(
    messages: readonly DiameterMessage[],
    target: DiameterTarget,
  ): Promise<DiameterExchange[]>
  /** Tries a rule on the usage of a request; writes nothing. */
  tryRule(
    rule: BalanceRule,
    request: ChargeRequest,
    view: ChargeView,
    context: ChargeContext,
  ): Promise<RuleTrial>
}
