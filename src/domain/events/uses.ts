/** The usage of a request by segment: the difference between its session before and after. */
import type { ChargeRequest } from '../charge-request.ts'
import type { Line } from '../line.ts'
import { groupUnits, serviceTagOf } from '../lines.ts'
import type { Segment, ServiceSession, Session } from '../session.ts'

export interface Use {
  usaget: string
  plan: string
  /** Cycle key. */
  cycle: string
  /** Used units, those beyond groups, and those without a group. Negative for a refund. */
  units: number
  overGroup: number
  outGroup: number
  /** Charged price. */
  micros: number
  /** Stamp of its line; for a segment that continues, empty with the position of its service. */
  stamp: string
  service: number
  segment: number
}

export interface UseContext {
  request: Pick<ChargeRequest, 'kind' | 'refund'>
  sessionKey: string
}

/** The session and the lines of ended segments that a decision commits. */
interface SessionChange {
  session: Session
  lines: readonly Line[]
}

type Amounts = Pick<Segment, 'pricing' | 'counts'>

/** Segments that neither usage nor price has changed are left out. `before`: as decided on. */
export function usesOf(
  before: Session | null,
  { session, lines }: SessionChange,
  { request, sessionKey }: UseContext,
): Use[] {
  const uses: Use[] = []
  if (request.refund || request.kind === 'event') {
    // Their lines are complete, and their sessions keep the segments for refunds.
    for (const line of lines) addTo(uses, line.service.usaget, line, line.stamp, 1)
    return uses.filter(isUse)
  }
  const former = before !== null && before.openedMs === session.openedMs ? before.services : NONE
  const { services } = session
  for (let index = 0; index < Math.max(former.length, services.length); index += 1) {
    const last = former[index]?.segment ?? null
    const service = services[index]
    const now = service?.segment ?? null
    if (service !== undefined && last !== null && last.number === now?.number) {
      const use = newUse(service.identity.usaget, now, '', index, now.number)
      add(use, last, -1)
      add(use, now, 1)
      uses.push(use)
      continue
    }
    const tag = serviceTagOf(sessionKey, session, index)
    addSegment(uses, former[index], tag, -1)
    addSegment(uses, service, tag, 1)
  }
  for (const line of lines) {
    // A session that has expired keeps the segment of the line, until it is released late.
    const isKept = services.some(
      ({ segment }, index) =>
        segment !== null &&
        line.stamp === `${serviceTagOf(sessionKey, session, index)}-${segment.number}`,
    )
    if (!isKept) addTo(uses, line.service.usaget, line, line.stamp, 1)
  }
  return uses.filter(isUse)
}

const NONE: readonly ServiceSession[] = []

/** Stamp of the line of the usage. */
export function stampOf({ stamp, service, segment }: Use, sessionKey: string, session: Session) {
  return stamp === '' ? `${serviceTagOf(sessionKey, session, service)}-${segment}` : stamp
}

function isUse({ units, micros }: Use): boolean {
  return units !== 0 || micros !== 0
}

function addSegment(
  uses: Use[],
  service: ServiceSession | undefined,
  tag: string,
  sign: 1 | -1,
): void {
  const segment = service?.segment ?? null
  if (service === undefined || segment === null) return
  addTo(uses, service.identity.usaget, segment, `${tag}-${segment.number}`, sign)
}

/** Adds amounts to those of the same segment. */
function addTo(uses: Use[], usaget: string, amounts: Amounts, stamp: string, sign: 1 | -1): void {
  let use = uses.find((one) => one.stamp === stamp)
  if (use === undefined) {
    use = newUse(usaget, amounts, stamp, 0, 0)
    uses.push(use)
  }
  add(use, amounts, sign)
}

function newUse(
  usaget: string,
  { pricing: { plan, cycle } }: Amounts,
  stamp: string,
  service: number,
  segment: number,
): Use {
  const nothing = { units: 0, overGroup: 0, outGroup: 0, micros: 0 }
  return { usaget, plan, cycle, ...nothing, stamp, service, segment }
}

function add(use: Use, { counts }: Amounts, sign: 1 | -1): void {
  const { overGroup, outGroup } = groupUnits(counts)
  use.units += sign * counts.used
  use.overGroup += sign * overGroup
  use.outGroup += sign * outGroup
  use.micros += sign * counts.charged
}
