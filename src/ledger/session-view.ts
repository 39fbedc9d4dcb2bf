/** A session as clients and commands show it. */
import { decimalText } from '../domain/money.ts'
import type { ServiceSession, Session } from '../domain/session.ts'
import { identifierValue } from '../domain/session-services.ts'

/** Times in ISO 8601, units as integers, money as decimals. */
export function sessionView(session: Session) {
  const { origin, sessionId, aid, sid } = session.identity
  return {
    origin,
    session_id: sessionId,
    aid,
    sid,
    opened: new Date(session.openedMs).toISOString(),
    expires: new Date(session.expiresMs).toISOString(),
    // Some message formats have no request number.
    request_num: session.lastNumber < 0 ? null : session.lastNumber,
    services: session.services.map((service) => ({
      rating_group: service.identity.ratingGroup,
      service_identifier: identifierValue(service.identity.serviceIdentifier),
      usaget: service.identity.usaget,
      reserved: service.reservation.units,
      reserved_money: Number(decimalText(reservedMicros(service))),
      used: service.usedTotal,
    })),
  }
}

/** Event time of the latest report, epoch ms; null if nothing was reported. */
export function lastReportMs({ services }: Session): number | null {
  const times = services.flatMap(({ reportedMs, segment }) => [
    reportedMs,
    segment?.counts.lastMs ?? 0,
  ])
  const last = Math.max(0, ...times)
  return last === 0 ? null : last
}

export function reservedMicros({ reservation }: ServiceSession): number {
  return reservation.money.reduce((sum, { micros }) => sum + micros, 0)
}
