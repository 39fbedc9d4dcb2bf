/** The step-by-step result of decoding a message; created in realtime, shown by CLI and API. */
import type { Config } from '../config/schema.ts'

/** Decodes a message by a document, and charges nothing. */
export type CheckFileType = (
  document: unknown,
  sample: Buffer,
  config: Config,
) => Promise<CheckReport>

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
