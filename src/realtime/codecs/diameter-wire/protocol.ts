/** Constants of the Diameter base protocol (RFC 6733) and of credit control (RFC 8506). */

export const HEADER_BYTES = 20
export const VERSION = 1

/** Command flags (RFC 6733 section 3); other bits are ignored. */
export const flags = { request: 0x80, proxiable: 0x40, error: 0x20, retransmitted: 0x10 } as const

/** AVP flags (RFC 6733 section 4.1). */
export const avpFlags = { vendor: 0x80, mandatory: 0x40, protected: 0x20 } as const

export const command = {
  capabilitiesExchange: 257,
  reAuth: 258,
  creditControl: 272,
  abortSession: 274,
  sessionTermination: 275,
  watchdog: 280,
  disconnectPeer: 282,
} as const

export const application = { base: 0, creditControl: 4, relay: 0xffffffff } as const

/** AVP codes of vendor 0 that the node itself reads or writes. */
export const avpCode = {
  userName: 1,
  eventTimestamp: 55,
  hostIpAddress: 257,
  authApplicationId: 258,
  acctApplicationId: 259,
  vendorSpecificApplicationId: 260,
  sessionId: 263,
  originHost: 264,
  supportedVendorId: 265,
  vendorId: 266,
  firmwareRevision: 267,
  resultCode: 268,
  productName: 269,
  disconnectCause: 273,
  originStateId: 278,
  failedAvp: 279,
  errorMessage: 281,
  routeRecord: 282,
  destinationRealm: 283,
  proxyInfo: 284,
  reAuthRequestType: 285,
  destinationHost: 293,
  terminationCause: 295,
  originRealm: 296,
  inbandSecurityId: 299,
  ccRequestNumber: 415,
  ccRequestType: 416,
  ratingGroup: 432,
  requestedAction: 436,
  serviceContextId: 461,
} as const

/** RFC 6733 section 7.1, RFC 8506 section 9. */
export const resultCode = {
  success: 2001,
  limitedSuccess: 2002,
  commandUnsupported: 3001,
  unableToDeliver: 3002,
  realmNotServed: 3003,
  tooBusy: 3004,
  loopDetected: 3005,
  applicationUnsupported: 3007,
  invalidHeaderBits: 3008,
  invalidAvpBits: 3009,
  unknownPeer: 3010,
  endUserServiceDenied: 4010,
  creditControlNotApplicable: 4011,
  creditLimitReached: 4012,
  avpUnsupported: 5001,
  unknownSessionId: 5002,
  authorizationRejected: 5003,
  invalidAvpValue: 5004,
  missingAvp: 5005,
  avpOccursTooManyTimes: 5009,
  noCommonApplication: 5010,
  unsupportedVersion: 5011,
  unableToComply: 5012,
  invalidAvpLength: 5014,
  invalidMessageLength: 5015,
  noCommonSecurity: 5017,
  userUnknown: 5030,
  ratingFailed: 5031,
} as const

/** Whether answers with this code have the error bit (RFC 6733 section 7.1.3). */
export function isProtocolError(code: number): boolean {
  return code >= 3000 && code < 4000
}

/** Seconds from 1900 (NTP epoch) to 1970. */
export const NTP_UNIX_SECONDS = 2_208_988_800

/** Diameter identity of the node. */
export interface WireIdentity {
  readonly originHost: string
  readonly originRealm: string
}
