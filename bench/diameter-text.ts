/** The same update as a credit-control request: JSON with AVP names as members. */
import type { MessageService, UpdateMessage } from './messages.ts'

const UPDATE = 2
const MSISDN = 0

/** One MSCC per service; the additional fields of the plain message are copied. */
export function diameterOf(message: UpdateMessage): string {
  const { record_type: _, session_id, request_num, urt, msisdn, services, ...others } = message
  const head = {
    'Session-Id': session_id,
    'Auth-Application-Id': 4,
    'CC-Request-Type': UPDATE,
    'CC-Request-Number': request_num,
    'Event-Timestamp': urt,
  }
  if (services === undefined) {
    const { rating_group, usaget, used_usagev, usagev } = others as unknown as MessageService
    const alone = serviceAvps({ rating_group, usaget, used_usagev, usagev })
    return JSON.stringify({ ...head, [SERVICES]: [alone] })
  }
  const subscriber = { 'Subscription-Id-Type': MSISDN, 'Subscription-Id-Data': msisdn }
  return JSON.stringify({
    ...head,
    'Subscription-Id': [subscriber],
    ...others,
    [SERVICES]: services.map(serviceAvps),
  })
}

const SERVICES = 'Multiple-Services-Credit-Control'

function serviceAvps(service: MessageService & Record<string, unknown>) {
  const { rating_group, usaget: _, used_usagev, usagev, ...others } = service
  return {
    'Rating-Group': rating_group,
    'Requested-Service-Unit': { 'CC-Total-Octets': usagev },
    'Used-Service-Unit': [{ 'CC-Total-Octets': used_usagev }],
    ...others,
  }
}
