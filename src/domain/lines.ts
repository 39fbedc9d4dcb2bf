/** Creates the line of a segment in its current state, and splits its units by group usage. */
import type { SegmentChange } from './charge-program.ts'
import type { Line } from './line.ts'
import type { ServiceSession, Session } from './session.ts'

/** Identifies one opening of a session: a session id may be reused once its tombstone is gone. */
export function sessionTagOf(sessionKey: string, session: Session): string {
  return `${sessionKey}-${session.openedMs.toString(36)}`
}

/**
 * Identifies the processing of one request. The id of the previous request is reused as prefix if
 * possible, because computing the session tag is the most expensive part.
 */
export function transactionIdOf(sessionKey: string, session: Session): string {
  const { answered, processed } = session
  const last = answered[0]?.outcome.transactionId ?? ''
  const number = String(processed)
  const begin = last.length - number.length
  const isLast = begin > 0 && last[begin - 1] === '-' && last.endsWith(number)
  const tag = isLast ? last.slice(0, begin) : `${sessionTagOf(sessionKey, session)}-`
  return tag + String(processed + 1)
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
    aid: session.aid,
    sid: session.sid,
    origin: session.origin,
    sessionId: session.sessionId,
    ratingGroup: service.ratingGroup,
    serviceIdentifier: service.serviceIdentifier,
    usaget: service.usaget,
    calledNumber: service.calledNumber,
    rateKey: segment.rateKey,
    plan: segment.plan,
    cycle: segment.cycle,
    used: segment.used,
    grouped: segment.grouped,
    covered: segment.covered,
    priced: segment.priced,
    coveredMicros: segment.coveredMicros,
    charged: segment.charged,
    debt: segment.debt,
    accountDebt: segment.accountDebt,
    hasGroups: segment.hasGroups,
    tariff: segment.tariff,
    carried: segment.carried,
    access: segment.access,
    priceOf: segment.priceOf,
    band: segment.band,
    others: segment.others,
    taxes: segment.taxes,
    rounding: segment.rounding,
    lapsedUnits: segment.lapsedUnits,
    lapsedMicros: segment.lapsedMicros,
    payments: segment.payments,
    firstMs: segment.firstMs,
    lastMs: segment.lastMs,
    state,
    late: segment.late,
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
  grouped,
  covered,
  hasGroups,
}: Pick<Line, 'used' | 'grouped' | 'covered' | 'hasGroups'>): GroupUnits {
  const inGroup = grouped + covered
  const beyond = used - inGroup
  return { inGroup, overGroup: hasGroups ? beyond : 0, outGroup: hasGroups ? 0 : beyond }
}
