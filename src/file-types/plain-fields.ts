/** Limits of the plain JSON format (docs/WIRE.md), for its codec and its description. */
import type { RequestKind } from '../domain/charge-request.ts'

export const SESSION_ID_CHARS_MAX = 256
/** Limit for identifiers of the subscriber and for called numbers. */
export const SUBSCRIBER_CHARS_MAX = 64
export const USAGET_CHARS_MAX = 64
export const RATING_GROUP_MAX = 2 ** 32 - 1
export const SERVICE_IDENTIFIER_MAX = 2 ** 32 - 1
/** Limit per service. */
export const SERVICE_IDENTIFIERS_MAX = 16

/** Names and codes of `record_type`, including those of older network elements. */
export const PLAIN_RECORD_TYPES: ReadonlyMap<unknown, RequestKind> = new Map<unknown, RequestKind>([
  ['start_request', 'start'],
  ['update_request', 'update'],
  ['release_request', 'release'],
  ['event_request', 'event'],
  ['initial_request', 'start'],
  ['final_request', 'release'],
  ['postpay_charge_request', 'event'],
  [1, 'start'],
  [2, 'update'],
  [3, 'release'],
  [4, 'event'],
  ['1', 'start'],
  ['2', 'update'],
  ['3', 'release'],
  ['4', 'event'],
])
