/** The step-by-step result of decoding a message; created in realtime, shown by CLI and API. */
import type { Config } from '../config/schema.ts'
import type { ChargeOutcome } from '../domain/charge-outcome.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import type { RuleDocuments } from './file-type.ts'

/** Decodes a message by a document, and charges nothing. Without `rate` it needs no store. */
export type CheckFileType = (
  document: unknown,
  sample: Buffer,
  config: Config,
  options?: MessageCheckOptions,
) => Promise<CheckReport>

export interface MessageCheckOptions {
  readonly rate?: RateMessage
  /** The clock; by default that of the machine. */
  readonly nowMs?: number
}

/** Decides a decoded request without charging it. `rules`: null for those of the installation. */
export type RateMessage = (
  request: ChargeRequest,
  rules: RuleDocuments | null,
) => Promise<RatedMessage>

export interface RatedMessage {
  readonly steps: readonly CheckStep[]
  /** Null if the request alone does not determine it; the report then has sample answers. */
  readonly outcome: ChargeOutcome | null
}

export interface CheckStep {
  /** Such as `document`, `request type`, `services.0`. */
  readonly step: string
  readonly ok: boolean
  /**
   * Result as plain data; if a message is not a valid request, `{ field, why, offset }` with the
   * offset of the first wrong byte, null if no byte is wrong.
   */
  readonly result: unknown
}

export interface CheckReport {
  /** Whether the message is a valid request, charged or filtered. */
  readonly ok: boolean
  readonly steps: readonly CheckStep[]
}
