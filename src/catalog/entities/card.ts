import type { IndexDescription } from 'mongodb'

/** A prepaid card. */
export interface CardDocument {
  /** SHA-512 of the 12 digits, in hexadecimal; never returned by the API. */
  secret: string
  batch_number: number
  serial_number: number
  charging_plan_name: string
  service_provider: string
  to: Date
  status: 'Idle' | 'Active' | 'Cancelled' | 'Used'
  creation_time: Date
  additional_information?: string
  [field: string]: unknown
}

export const CARD_INDEXES: readonly IndexDescription[] = [
  { key: { batch_number: 1, serial_number: 1 }, unique: true },
  { key: { secret: 1 } },
]
