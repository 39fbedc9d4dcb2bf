/** Requests of a gateway of the tests, by the names of their AVPs. */

import type { NamedAvps } from '../../../../src/realtime/diameter/named.ts'
import { FIRST_SID } from '../../product/population.ts'
import { CLIENT_REALM } from './free-diameter.ts'
import type { Identity } from './link.ts'

export const NODE: Identity = {
  'Origin-Host': 'node.node.example',
  'Origin-Realm': 'node.example',
}
export const GATEWAY: Identity = {
  'Origin-Host': `gateway.${CLIENT_REALM}`,
  'Origin-Realm': CLIENT_REALM,
}

/** Settings of a node with that identity. */
export const NODE_SETTINGS = {
  TOLLGATE_DIAMETER_ORIGIN_HOST: NODE['Origin-Host'],
  TOLLGATE_DIAMETER_ORIGIN_REALM: NODE['Origin-Realm'],
}

export const MIB = 1024 * 1024
/** Its price is `MIB_PRICE` in the demo catalogue. */
const RATING_GROUP = 20

const DATA = '32251@3gpp.org'
export const REQUEST_TYPE = { initial: 1, update: 2, termination: 3, event: 4 } as const

/** The AVPs of every CCR. */
export function creditControl(
  sessionId: string,
  type: keyof typeof REQUEST_TYPE,
  number: number,
  more: NamedAvps,
): NamedAvps {
  return {
    'Session-Id': sessionId,
    ...GATEWAY,
    'Destination-Realm': NODE['Origin-Realm'],
    'Auth-Application-Id': 4,
    'Service-Context-Id': DATA,
    'CC-Request-Type': REQUEST_TYPE[type],
    'CC-Request-Number': number,
    ...more,
  }
}

/** The Subscription-Id of a number, as gateways send it. */
export function subscription(sid: number): NamedAvps {
  const number = `88800${String(sid).padStart(9, '0')}`
  return {
    'Subscription-Id': { 'Subscription-Id-Type': 0, 'Subscription-Id-Data': number },
  }
}

interface Mib {
  asked?: number
  used?: number
}

/** One data service. */
export function service({ asked, used }: Mib): NamedAvps {
  const octets = (mib: number) => ({ 'CC-Total-Octets': mib * MIB })
  return {
    'Multiple-Services-Credit-Control': {
      ...(asked !== undefined && { 'Requested-Service-Unit': octets(asked) }),
      ...(used !== undefined && { 'Used-Service-Unit': octets(used) }),
      'Rating-Group': RATING_GROUP,
    },
  }
}

/** The granted units of that service, with its code. */
export function granted(mib: number): NamedAvps {
  return {
    'Multiple-Services-Credit-Control': {
      'Granted-Service-Unit': { 'CC-Total-Octets': mib * MIB },
      'Rating-Group': RATING_GROUP,
      'Result-Code': 2001,
    },
  }
}

/** A data session of the n-th subscriber, from 0. */
export function dataSession(sessionId: string, index: number) {
  const sid = FIRST_SID + index
  return {
    sid,
    initial: (asked: number) =>
      creditControl(sessionId, 'initial', 0, { ...subscription(sid), ...service({ asked }) }),
    /** It names no subscriber: the node knows the session. */
    update: (number: number, mib: Mib) => creditControl(sessionId, 'update', number, service(mib)),
    termination: (number: number, used: number) =>
      creditControl(sessionId, 'termination', number, {
        'Termination-Cause': 1,
        ...service({ used }),
      }),
  }
}
