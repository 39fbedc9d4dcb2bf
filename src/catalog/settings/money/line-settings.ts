/** Category `lines` of the stored configuration: fields of credits that callers may set (`uf`). */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { flag, object } from '../settings-schema.ts'

const CreditField = object('an object with a field_name', {
  field_name: Type.String({
    pattern: '^[A-Za-z]\\w{0,63}$',
    description: '1 to 64 letters, digits and _, beginning with a letter',
  }),
  mandatory: flag,
  title: Type.Optional(Type.String({ maxLength: 200, description: 'a text' })),
})

export const LinesSchema = object('an object with credit.fields', {
  credit: Type.Optional(
    object('an object with fields', {
      fields: Type.Optional(Type.Array(CreditField, { maxItems: 100, description: 'a list' })),
    }),
  ),
})

export type CreditFields = readonly Static<typeof CreditField>[]

/** The fields of `uf` of credits; none if the stored value is invalid. */
export function creditFieldsOf(value: unknown): CreditFields {
  return Value.Check(LinesSchema, value) ? (value.credit?.fields ?? []) : []
}
