/** Services of a session as they stand between two of its requests. */
import type { Settlement } from '../domain/charge-program.ts'
import { withSegment } from '../domain/segment.ts'
import type { ServiceSession } from '../domain/session.ts'

/** What a service has cost so far, micros before tax. */
export function costOf({ endedMicros, segment }: ServiceSession): number {
  return segment === null ? endedMicros : endedMicros + segment.charged
}

/** The service of an event with its segment. */
export function reopened({ service, changes }: Settlement): ServiceSession {
  const segment = changes.at(-1)?.segment ?? null
  const opened = withSegment(service, segment)
  opened.endedMicros -= segment?.charged ?? 0
  return opened
}

/** Whether nothing was ever granted to it or used of it, and no line of it has ended. */
export function isUntouched({ segment, usedTotal, segmentsEnded }: ServiceSession): boolean {
  return segment === null && usedTotal === 0 && segmentsEnded === 0
}
