/** Gives back what an event took: to the same buckets, as a line that takes the first one back. */
import { copyOwner, type OwnerState } from '../domain/bucket.ts'
import type { ServiceOutcome } from '../domain/charge-outcome.ts'
import type { SegmentChange } from '../domain/charge-program.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import { copySegment, withSegment } from '../domain/segment.ts'
import type { Payment, Segment, ServiceSession, Session } from '../domain/session.ts'

interface RefundState {
  subscriber: OwnerState
  account: OwnerState | null
  /** A copy: its services are replaced. */
  session: Session
}

export interface Refund {
  subscriber: OwnerState
  account: OwnerState | null
  services: ServiceOutcome[]
  changes: [ServiceSession, SegmentChange][]
}

/** Services that have been refunded are not again; none left: `services` is empty. */
export function refundSession(state: RefundState, request: ChargeRequest): Refund {
  const { session } = state
  const subscriber = copyOwner(state.subscriber)
  const account = state.account === null ? null : copyOwner(state.account)
  const refund: Refund = { subscriber, account, services: [], changes: [] }
  for (const [index, service] of session.services.entries()) {
    const { segment } = service
    if (segment === null) continue
    for (const payment of segment.payments) giveBack(refund, payment)
    const left = withSegment(service, null)
    left.segmentsEnded += 1
    left.usedTotal -= segment.used
    session.services[index] = left
    const back = reversed(segment, service.segmentsEnded + 1, request.eventTimeMs)
    refund.changes.push([left, { segment: back, state: 'closed' }])
    refund.services.push({
      ratingGroup: service.ratingGroup,
      serviceIdentifier: service.serviceIdentifier,
      usaget: service.usaget,
      reason: 'granted',
      granted: segment.used,
      parts: null,
      validityMs: 0,
      tariffChangeMs: 0,
      finalUnit: false,
      cost: left.endedMicros,
      quote: null,
    })
  }
  return refund
}

/** A counter may be gone by now, with its cycle. */
function giveBack(refund: Refund, { owner, bucketId, amount }: Payment): void {
  const state = owner === 0 ? refund.subscriber : refund.account
  const bucket = state?.buckets.find(({ id }) => id === bucketId)
  if (bucket === undefined) return
  bucket.spent -= amount
  bucket.free += amount
}

function reversed(segment: Segment, number: number, atMs: number): Segment {
  // Not a plain minus: that would make -0 of what is nothing.
  const minus = (amount: number) => 0 - amount
  const back = copySegment(segment)
  back.number = number
  back.version = 1
  back.firstMs = atMs
  back.lastMs = atMs
  back.late = false
  back.used = minus(segment.used)
  back.grouped = minus(segment.grouped)
  back.covered = minus(segment.covered)
  back.priced = minus(segment.priced)
  back.coveredMicros = minus(segment.coveredMicros)
  back.charged = minus(segment.charged)
  for (const payment of back.payments) payment.amount = minus(payment.amount)
  return back
}
