/** What a document makes of a message, step by step: made in realtime, shown by the cli. */

export interface CheckStep {
  /** Such as `document`, `request type`, `services.0`. */
  readonly step: string
  readonly ok: boolean
  /** What came of it, as plain data; where `ok` is false `{ field, why }`. */
  readonly result: unknown
}

export interface CheckReport {
  /** Whether the message is a request that is charged, or filtered. */
  readonly ok: boolean
  readonly steps: readonly CheckStep[]
}
