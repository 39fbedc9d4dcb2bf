import type { ChargeRequest } from '../../../src/domain/charge-request.ts'

/** An update of this session, with the given fields. */
export function requestOf(sessionId: string, more: Partial<ChargeRequest> = {}): ChargeRequest {
  return {
    kind: 'update',
    origin: 'test',
    sessionId,
    requestNumber: 1,
    stamp: '',
    rules: '',
    subscriberKey: 'none',
    subscriberValue: '',
    eventTimeMs: 0,
    eventTimeGiven: false,
    services: [],
    wantBalances: false,
    pretend: false,
    refund: false,
    fields: null,
    ...more,
  }
}
