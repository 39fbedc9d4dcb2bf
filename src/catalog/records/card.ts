import type { IndexDescription } from 'mongodb'

/** States of prepaid cards, as they are stored. */
export type CardStatus = 'Idle' | 'Shipped' | 'Active' | 'Used' | 'Expired' | 'Stolen' | 'Cancelled'

/** States of cards that can still be redeemed, now or after their activation. */
export const USABLE_CARDS: readonly CardStatus[] = ['Idle', 'Shipped', 'Active']

/** The subscriber or account that has redeemed a card. */
export interface CardClaim {
  aid: number
  /** 0 if only an account was named. */
  sid: number
  /** Operation id of the call that claimed the card. */
  operation_id: string
  at: Date
  /** The buckets of its charging plan have been loaded. */
  credited?: boolean
  /** The caller has been answered so. */
  answered?: boolean
}

/** A prepaid card. */
export interface CardDocument {
  /** Digest of the secret (sealing/card-secrets.ts); never returned by the API. */
  secret_hmac: string
  batch_number: number
  serial_number: number
  charging_plan_name: string
  service_provider: string
  /** End of validity. */
  to: Date
  status: CardStatus
  creation_time: Date
  additional_information: string
  used_by?: CardClaim
  /** The subscriber that has redeemed it, and when. */
  sid?: number
  activation_datetime?: Date
  expired_on?: Date
}

export const CARD_INDEXES: readonly IndexDescription[] = [
  { key: { batch_number: 1, serial_number: 1 }, unique: true },
  {
    key: { secret_hmac: 1 },
    unique: true,
    partialFilterExpression: { secret_hmac: { $gt: '' } },
  },
  // Cards that end, for the nightly job.
  { key: { status: 1, to: 1 } },
]
