import type { FieldError } from '../../domain/fields.ts'
import type { Logger } from '../../runtime/log.ts'

/** To be called with the invalid rules each time that rules are read. */
export type ReportInvalid = (invalid: readonly FieldError[]) => void

/** Logs each stored rule that is left out, once as long as it is invalid for the same reason. */
export function createInvalidRules(log: Pick<Logger, 'warn'>): ReportInvalid {
  let reported = new Set<string>()
  return (invalid) => {
    const now = new Set(invalid.map(({ message }) => message))
    for (const { path, reason, message } of invalid) {
      if (reported.has(message)) continue
      log.warn({ path, reason }, 'stored event rule is invalid and left out')
    }
    reported = now
  }
}
