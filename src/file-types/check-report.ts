/** The step-by-step result of decoding a message; created in realtime, shown by the CLI. */

export interface CheckStep {
  /** Such as `document`, `request type`, `services.0`. */
  readonly step: string
  readonly ok: boolean
  /** Result as plain data; `{ field, why }` if `ok` is false. */
  readonly result: unknown
}

export interface CheckReport {
  /** Whether the message is a valid request, charged or filtered. */
  readonly ok: boolean
  readonly steps: readonly CheckStep[]
}
