/** Category `payments` of the stored configuration. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { webOrigin } from './settings-schema.ts'

const closed = { additionalProperties: false } as const
/** Names of sources, and of fields of `uf`. */
export const fieldNames = (description: string) =>
  Type.Array(
    Type.String({
      pattern: '^[A-Za-z][\\w ]{0,63}$',
      description: '1 to 64 letters, digits, _ and spaces, beginning with a letter',
    }),
    { maxItems: 100, description },
  )

/** Name of an instance of a payment gateway. */
export const GATEWAY_INSTANCE = '^[a-z]+(#[1-9]\\d{0,2})?$'

const scalar = Type.Union([Type.String({ maxLength: 200 }), Type.Number(), Type.Boolean()])
const condition = (op: string, value: TSchema) => {
  const field = Type.String({ pattern: '^[a-z_]\\w*(\\.[a-z_]\\w*)*$', maxLength: 100 })
  return Type.Object({ field, op: Type.Literal(op), value }, closed)
}

/** A condition on the fields of an account. */
const ConditionSchema = Type.Union([
  condition('eq', scalar),
  condition('ne', scalar),
  condition('in', Type.Array(scalar, { maxItems: 100 })),
  condition('nin', Type.Array(scalar, { maxItems: 100 })),
  condition('exists', Type.Boolean()),
])

export const PaymentsSchema = Type.Object(
  {
    offline: Type.Optional(
      Type.Object(
        { sources: Type.Optional(fieldNames('a list')), uf: Type.Optional(fieldNames('a list')) },
        { ...closed, description: 'an object with sources and uf' },
      ),
    ),
    collection: Type.Optional(
      Type.Object(
        {
          min_debt: Type.Optional(Type.Number({ minimum: 0, description: 'a number from 0' })),
          rejection_required: Type.Optional(
            Type.Array(ConditionSchema, {
              maxItems: 20,
              description:
                'a list of conditions with field, op (eq, ne, in, nin, exists) and value',
            }),
          ),
        },
        { ...closed, description: 'an object with min_debt and rejection_required' },
      ),
    ),
    retry_days: Type.Optional(
      Type.Array(
        Type.Integer({ minimum: 1, maximum: 365, description: 'a whole number from 1 to 365' }),
        { maxItems: 10, uniqueItems: true, description: 'a list of different days' },
      ),
    ),
    gateway: Type.Optional(
      Type.String({ pattern: GATEWAY_INSTANCE, description: 'the name of a gateway' }),
    ),
    return_origins: Type.Optional(
      Type.Array(webOrigin, { maxItems: 100, description: 'a list of origins' }),
    ),
  },
  {
    ...closed,
    description: 'an object with offline, collection, retry_days, gateway and return_origins',
  },
)

export interface PaymentSettings {
  /** Sources of payments besides `POS` and `web`. */
  readonly sources: readonly string[]
  /** Names of fields of `uf`. */
  readonly userFields: readonly string[]
  /** Smaller debts are not collected. */
  readonly debtMin: number
  /**
   * Filter of the accounts whose debts are collected only if a payment of them was rejected; null
   * for none.
   */
  readonly rejectionRequired: Readonly<Record<string, unknown>> | null
}

const DEBT_MIN = 10

/** Defaults if the stored value is invalid. */
export function paymentSettingsOf(value: unknown): PaymentSettings {
  const { offline, collection }: Static<typeof PaymentsSchema> = Value.Check(PaymentsSchema, value)
    ? value
    : {}
  return {
    sources: offline?.sources ?? [],
    userFields: offline?.uf ?? [],
    debtMin: collection?.min_debt ?? DEBT_MIN,
    rejectionRequired: filterOf(collection?.rejection_required ?? []),
  }
}

/** All conditions hold. */
function filterOf(
  conditions: readonly Static<typeof ConditionSchema>[],
): PaymentSettings['rejectionRequired'] {
  if (conditions.length === 0) return null
  return { $and: conditions.map(({ field, op, value }) => ({ [field]: { [`$${op}`]: value } })) }
}
