import type { ChargeOutcome } from '../../../src/domain/charge-outcome.ts'
import { plainOutcome } from '../../../src/domain/charge-outcome.ts'
import {
  type ChargeRequest,
  type ServiceRequest,
  serviceRequest as serviceOf,
} from '../../../src/domain/charge-request.ts'
import type { Payment } from '../../../src/domain/segment-parts.ts'
import type { Session } from '../../../src/domain/session.ts'
import { type Flat, withFields } from './lines.ts'

export function serviceRequest(more: Partial<ServiceRequest> = {}): ServiceRequest {
  return serviceOf({ usaget: 'data', ...more })
}

/** An update of the session `s`, with overrides. */
export function requestOf(more: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    kind: 'update',
    origin: 'test',
    sessionId: 's',
    requestNumber: 1,
    stamp: '',
    rules: '',
    subscriberKey: 'sid',
    subscriberValue: '7',
    eventTimeMs: 0,
    eventTimeGiven: true,
    services: [serviceRequest()],
    wantBalances: false,
    pretend: false,
    refund: false,
    fields: null,
    ...more,
  }
}

/** An open session of subscriber 7 that has answered nothing yet. */
export function sessionOf(more: Partial<Flat<Session>> = {}): Session {
  const session: Session = {
    identity: { aid: 1, sid: 7, origin: 'test', sessionId: 's' },
    state: 'open',
    openedMs: 0,
    client: null,
    expiresMs: 1000,
    lastNumber: -1,
    processed: 0,
    answered: [],
    services: [],
  }
  return withFields(session, more)
}

/** A payment of one unit by the first bucket of the subscriber, with overrides. */
export function paymentOf(more: Partial<Payment>): Payment {
  const which = { owner: 0, bucketId: 1, prepaidIncludeId: 0, kind: 'units' } as const
  return { ...which, amount: 1, counter: '', left: 0, total: 0, ...more }
}

/** An outcome that is identified by its text. */
export function outcomeOf(detail: string): ChargeOutcome {
  return plainOutcome('granted', detail, 1, 7)
}
