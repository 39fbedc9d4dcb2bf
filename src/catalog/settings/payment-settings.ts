/** Category `payments` of the stored configuration. */
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

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

const FLAG_NAME = '^[A-Za-z]\\w{0,63}$'

/** Name of an instance of a payment gateway. */
export const GATEWAY_INSTANCE = '^[a-z]+(#[1-9]\\d{0,2})?$'

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
            Type.Union([Type.Boolean(), Type.String({ pattern: FLAG_NAME })], {
              description: 'true, false, or the name of a field of accounts',
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
  },
  { ...closed, description: 'an object with offline, collection, retry_days and gateway' },
)

export interface PaymentSettings {
  /** Sources of payments besides `POS` and `web`. */
  readonly sources: readonly string[]
  /** Names of fields of `uf`. */
  readonly userFields: readonly string[]
  /** Smaller debts are not collected. */
  readonly debtMin: number
  /**
   * Whether only bills with a rejected payment are collected: of all accounts, or of those in which
   * this field is true.
   */
  readonly rejectionRequired: boolean | string
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
    rejectionRequired: collection?.rejection_required ?? false,
  }
}
