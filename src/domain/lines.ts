/** Creates the line of a segment in its current state, and splits its units by group usage. */
import type { SegmentChange } from './charge-program.ts'
import type { Counts } from './counts.ts'
import type { Line } from './line.ts'
import { RECORD_OPENED_MS } from './replay.ts'
import type { ServiceSession, Session } from './session.ts'

/** The last session tag: it is needed for the stored answer of a session, then for its next one. */
let lastKey = ''
let lastOpenedMs = 0
let lastTag = ''

/** Identifies one opening of a session: a session id may be reused once its tombstone is gone. */
export function sessionTagOf(sessionKey: string, { openedMs }: Pick<Session, 'openedMs'>): string {
  if (sessionKey === lastKey && openedMs === lastOpenedMs) return lastTag
  lastKey = sessionKey
  lastOpenedMs = openedMs
  lastTag = `${sessionKey}-${openedMs.toString(36)}`
  return lastTag
}

/** Stamps of the lines of a usage record, if all of its services are charged. */
export function recordStamps(sessionKey: string, services: number): string[] {
  const tag = sessionTagOf(sessionKey, { openedMs: RECORD_OPENED_MS })
  return Array.from({ length: services }, (_, index) => `${tag}-${index + 1}-1`)
}

/** Identifies the processing of one request, the `count`th of its session. */
export function transactionIdOf(
  sessionKey: string,
  session: Pick<Session, 'openedMs'>,
  count: number,
): string {
  return `${sessionTagOf(sessionKey, session)}-${count}`
}

/**
 * Identifies a service of a session by its position, which never changes while the session is open.
 */
export function serviceTagOf(sessionKey: string, session: Session, index: number): string {
  return `${sessionTagOf(sessionKey, session)}-${index + 1}`
}

export function lineOf(
  session: Session,
  service: ServiceSession,
  { segment, state }: SegmentChange,
  serviceTag: string,
): Line {
  return {
    stamp: `${serviceTag}-${segment.number}`,
    version: segment.version,
    session: session.identity,
    service: service.identity,
    pricing: segment.pricing,
    counts: segment.counts,
    state,
  }
}

/** Units of a line by group usage; together all used units. */
export interface GroupUnits {
  inGroup: number
  /** Units beyond the groups for such usage. */
  overGroup: number
  /** Units of usage for which there is no group. */
  outGroup: number
}

export function groupUnits({
  used,
  includedUnits,
  includedMoneyUnits,
  hasGroups,
}: Pick<Counts, 'used' | 'includedUnits' | 'includedMoneyUnits' | 'hasGroups'>): GroupUnits {
  const inGroup = includedUnits + includedMoneyUnits
  const beyond = used - inGroup
  return { inGroup, overGroup: hasGroups ? beyond : 0, outGroup: hasGroups ? 0 : beyond }
}
