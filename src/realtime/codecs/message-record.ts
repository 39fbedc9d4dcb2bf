import type { ParsedMessage } from './encoder.ts'

/** A record that has nothing but what the message gave it. */
export type MessageRecord = Record<string, unknown>

/** A record with nothing in it and nothing behind it. */
export function emptyRecord(): MessageRecord {
  // Object.create(null) makes a hash table, which costs a message a tenth of its time.
  return Object.setPrototypeOf({}, null) as MessageRecord
}

/** A message that cannot be read; `field` is `body` where it is not about one of them. */
export function refused(why: string, field = 'body'): ParsedMessage {
  return { ok: false, error: { field, why }, form: null }
}
