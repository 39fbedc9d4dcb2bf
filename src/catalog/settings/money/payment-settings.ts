/** Category `payments` of the stored configuration. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { StoredSetting } from '../current-settings.ts'
import { closed, object, part, storedOrDefaults, webOrigin } from '../settings-schema.ts'

/** Names of sources, and of fields of `uf`. */
export const fieldNames = (description: string) =>
  Type.Array(
    Type.String({
      pattern: '^[A-Za-z][\\w ]{0,63}$',
      description: '1 to 64 letters, digits, _ and spaces, beginning with a letter',
    }),
    { maxItems: 100, default: [], description },
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

export const PaymentsSchema = object(
  'an object with offline, collection, retry_days, gateway and return_origins',
  {
    offline: part('an object with sources and uf', {
      /** Sources of payments in addition to `POS` and `web`. */
      sources: fieldNames('a list'),
      /** Names of fields of `uf`. */
      uf: fieldNames('a list'),
    }),
    collection: part('an object with min_debt and rejection_required', {
      /** Smaller debts are not collected. */
      min_debt: Type.Number({ minimum: 0, default: 10, description: 'a number from 0' }),
      /** The debts of such accounts are collected only if a payment of them was rejected. */
      rejection_required: Type.Array(ConditionSchema, {
        maxItems: 20,
        default: [],
        description: 'a list of conditions with field, op (eq, ne, in, nin, exists) and value',
      }),
    }),
    /** Days after the first rejection on which a charge is repeated. */
    retry_days: Type.Array(
      Type.Integer({ minimum: 1, maximum: 365, description: 'a whole number from 1 to 365' }),
      {
        maxItems: 10,
        uniqueItems: true,
        default: [3, 5, 7],
        description: 'a list of different days',
      },
    ),
    /** The gateway for new cards; the first enabled one if absent. */
    gateway: Type.Optional(
      Type.String({ pattern: GATEWAY_INSTANCE, description: 'the name of a gateway' }),
    ),
    /** Origins of the pages to which a customer may return. */
    return_origins: Type.Array(webOrigin, {
      maxItems: 100,
      default: [],
      description: 'a list of origins',
    }),
  },
)

/** An invalid stored value is replaced by the defaults. */
export const PAYMENTS: StoredSetting<Static<typeof PaymentsSchema>> = {
  category: 'payments',
  read(value) {
    const settings = storedOrDefaults(PaymentsSchema, value)
    return { ...settings, retry_days: settings.retry_days.toSorted((one, other) => one - other) }
  },
}

/** Filter of the accounts for which all conditions hold; null without conditions. */
export function filterOf(
  conditions: readonly Static<typeof ConditionSchema>[],
): Readonly<Record<string, unknown>> | null {
  if (conditions.length === 0) return null
  return { $and: conditions.map(({ field, op, value }) => ({ [field]: { [`$${op}`]: value } })) }
}
