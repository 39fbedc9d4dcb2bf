import type { ChargeRequest } from '../../../src/domain/charge-request.ts'
import { requestOf as plainRequest } from '../domain/requests.ts'

/** An update of this session, of a subscriber who is not named, with the given fields. */
export function requestOf(sessionId: string, more: Partial<ChargeRequest> = {}): ChargeRequest {
  const nobody = { subscriberKey: 'none', subscriberValue: '' } as const
  return plainRequest({ sessionId, ...nobody, eventTimeGiven: false, services: [], ...more })
}
