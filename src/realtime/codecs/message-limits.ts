import type { ParsedMessage } from './encoder.ts'

/** What a message may be, whatever its syntax; more of it is a mistake or an attack. */
export const DEPTH_MAX = 32
export const MEMBERS_MAX = 4096
export const NAME_CHARS_MAX = 256

export const TOO_DEEP = `is nested deeper than ${DEPTH_MAX}`
export const TOO_MANY = `has more than ${MEMBERS_MAX} fields`
export const NAME_TOO_LONG = `has a name of more than ${NAME_CHARS_MAX} characters`

/** A record that has nothing but what the message gave it. */
export type MessageRecord = Record<string, unknown>

/** A record with nothing in it and nothing behind it. */
export function emptyRecord(): MessageRecord {
  // Object.create(null) makes a hash table, which costs a message some tenth of its time.
  return Object.setPrototypeOf({}, null) as MessageRecord
}

/** A message that cannot be read; `field` is `body` where it is not about one of them. */
export function refused(why: string, field = 'body'): ParsedMessage {
  return { ok: false, error: { field, why }, form: null }
}
