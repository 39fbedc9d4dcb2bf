/**
 * Adjusts open sessions that continue from an earlier state than the recorded one: their next lines
 * must neither be dropped as outdated nor overwrite usage that is already charged. Pure.
 */
import { serviceOfDocument } from '../../catalog/records/usage/line-document.ts'
import { sessionTagOf } from '../../domain/lines.ts'
import { emptyService } from '../../domain/segment.ts'
import type { Segment, ServiceSession } from '../../domain/session.ts'
import type { LaterLine, LedgerSession, OwnerEvidence, SegmentLine } from './evidence.ts'

/** The sessions that change. */
export function followingSessions(
  { sessions }: OwnerEvidence,
  different: readonly SegmentLine[],
  later: readonly LaterLine[],
): LedgerSession[] {
  const recorded = new Map(different.map((one) => [one.ledgerLine.stamp, one]))
  return sessions.flatMap(({ sessionKey, session }) => {
    const tag = sessionTagOf(sessionKey, session)
    const renewed = session.services.map((service, index) =>
      withNewerLine(service, recorded.get(`${tag}-${index + 1}-${service.segment?.number}`)),
    )
    const services = later
      .filter((line) => line.sessionKey === sessionKey)
      .sort((one, other) => one.service - other.service || one.segment - other.segment)
      .reduce(withSegmentBehind, renewed)
    const isSame =
      services.length === session.services.length &&
      services.every((service, index) => service === session.services[index])
    return isSame ? [] : [{ sessionKey, session: { ...session, services } }]
  })
}

/**
 * The segment's next line replaces the recorded one. The recorded excess counts as reported;
 * otherwise a network element that reports totals would be charged twice for it.
 */
function withNewerLine(service: ServiceSession, other: SegmentLine | undefined): ServiceSession {
  const { segment, usedTotal } = service
  if (segment === null || other === undefined) return service
  const { ledgerLine, recorded } = other
  const version = Math.max(segment.version, recorded?.v ?? 0) + 1
  const lost = Math.max(0, (recorded?.usagev ?? 0) - ledgerLine.counts.used)
  return { ...service, usedTotal: usedTotal + lost, segment: { ...segment, version } }
}

/** The recorded segment has ended; the next segment of the service gets its own line. */
function withSegmentBehind(
  services: ServiceSession[],
  { service: index, segment: number, recorded }: LaterLine,
): ServiceSession[] {
  if (index > services.length) return services
  const service = services[index] ?? emptyService(serviceOfDocument(recorded))
  const { segment } = service
  const next: ServiceSession = {
    ...service,
    accessCharged: true,
    othersAccessCharged: true,
    usedTotal: service.usedTotal + recorded.usagev,
    endedMicros: service.endedMicros + recorded.aprice_micros,
    segmentsEnded: number,
    segment: segment === null ? null : withoutAccess({ ...segment, number: number + 1 }),
  }
  return [...services.slice(0, index), next, ...services.slice(index + 1)]
}

function withoutAccess(segment: Segment): Segment {
  return { ...segment, counts: { ...segment.counts, access: false } }
}
