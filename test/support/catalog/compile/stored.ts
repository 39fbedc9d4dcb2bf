/** Stored documents, and the error message of a compiler that refuses them. */
import { ObjectId } from 'mongodb'
import type { RawDocument } from '../../../../src/catalog/compile/document.ts'
import { FieldError } from '../../../../src/domain/fields.ts'

export const FROM = new Date('2026-01-01T00:00:00Z')
export const TO = new Date('2027-01-01T00:00:00Z')
export const ID = '65f0c0ffee0123456789abcd'

/** The result of `revisionOf` for `stored`. */
export const REVISION = { id: `${ID}.7`, fromMs: +FROM, toMs: +TO }

export const stored = (fields: object): RawDocument => ({
  _id: new ObjectId(ID),
  rev: 7,
  from: FROM,
  to: TO,
  ...fields,
})

/** One tier of a price. */
export const tier = (fields: object = {}) => ({
  from: 0,
  to: 'UNLIMITED',
  interval: 60,
  price: 0.1,
  ...fields,
})

/** The text of the `FieldError`. */
export function refusal(compile: () => unknown): string {
  try {
    compile()
  } catch (error) {
    if (error instanceof FieldError) return error.message
    throw error
  }
  throw new Error('it compiled')
}
