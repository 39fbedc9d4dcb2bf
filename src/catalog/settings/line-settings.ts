/** Category `lines` of the stored configuration: fields of credits that callers may set (`uf`). */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const closed = { additionalProperties: false } as const

const CreditField = Type.Object(
  {
    field_name: Type.String({
      pattern: '^[A-Za-z]\\w{0,63}$',
      description: '1 to 64 letters, digits and _, beginning with a letter',
    }),
    mandatory: Type.Optional(Type.Boolean({ description: 'true or false' })),
    title: Type.Optional(Type.String({ maxLength: 200, description: 'a text' })),
  },
  { ...closed, description: 'an object with a field_name' },
)

export const LinesSchema = Type.Object(
  {
    credit: Type.Optional(
      Type.Object(
        {
          fields: Type.Optional(Type.Array(CreditField, { maxItems: 100, description: 'a list' })),
        },
        { ...closed, description: 'an object with fields' },
      ),
    ),
  },
  { ...closed, description: 'an object with credit.fields' },
)

export type CreditFields = readonly Static<typeof CreditField>[]

/** The fields of `uf` of credits; none if the stored value is invalid. */
export function creditFieldsOf(value: unknown): CreditFields {
  return Value.Check(LinesSchema, value) ? (value.credit?.fields ?? []) : []
}
