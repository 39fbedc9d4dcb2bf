/**
 * Category `payment_gateways` of the stored configuration, a list of instances with sealed secrets,
 * and what charges need of category `payments`.
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { FieldError, isObject } from '../../domain/fields.ts'
import type { StoredSetting } from './current-settings.ts'
import { GATEWAY_INSTANCE, PaymentsSchema } from './payment-settings.ts'
import { checkAgainstSchema } from './settings-schema.ts'

const closed = { additionalProperties: false } as const

/** Sealed values are longer than the secrets in them. */
const secret = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description }))

const timeout = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 120, description: 'a whole number from 1 to 120' }),
)

const SandboxParams = Type.Object(
  {
    secret: secret('a text'),
    pending_minutes: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100_000, description: 'a whole number of minutes' }),
    ),
    slow_seconds: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 600, description: 'a whole number of seconds' }),
    ),
    timeout_seconds: timeout,
  },
  { ...closed, description: 'an object of secret, pending_minutes, slow_seconds, timeout_seconds' },
)

const StripeParams = Type.Object(
  {
    api_key: Type.String({ minLength: 1, maxLength: 2048, description: 'a text' }),
    webhook_secret: secret('a text'),
    currency: Type.String({ pattern: '^[a-z]{3}$', description: 'three small letters, as eur' }),
    timeout_seconds: timeout,
  },
  { ...closed, description: 'an object of api_key, webhook_secret, currency, timeout_seconds' },
)

/** By type: the parameters of an instance, and which of them are secrets. */
const GATEWAYS = {
  sandbox: { params: SandboxParams, secrets: ['secret'] },
  stripe: { params: StripeParams, secrets: ['api_key', 'webhook_secret'] },
} as const satisfies Record<string, { params: TSchema; secrets: readonly string[] }>

export type GatewayName = keyof typeof GATEWAYS

const INSTANCE = Type.Object(
  {
    name: Type.Union([Type.Literal('sandbox'), Type.Literal('stripe')], {
      description: 'sandbox or stripe',
    }),
    instance_name: Type.Optional(
      Type.String({
        pattern: GATEWAY_INSTANCE,
        description: 'the name, or the name with # and a number',
      }),
    ),
    enabled: Type.Optional(Type.Boolean({ description: 'true or false' })),
    params: Type.Optional(Type.Unknown()),
  },
  { ...closed, description: 'an object with a name' },
)

/** An instance as it is stored: its secrets are sealed. */
export interface StoredGateway {
  readonly name: GatewayName
  readonly instanceName: string
  readonly enabled: boolean
  readonly params: Readonly<Record<string, unknown>>
}

const INSTANCES_MAX = 100

/** Throws `FieldError` with the path of the first mistake. */
export function checkGateways(value: unknown): StoredGateway[] {
  checkAgainstSchema(
    Type.Array(INSTANCE, { maxItems: INSTANCES_MAX, description: 'a list' }),
    value,
    'payment_gateways',
  )
  const found: StoredGateway[] = []
  for (const [index, each] of (value as Static<typeof INSTANCE>[]).entries()) {
    const path = `payment_gateways.${index}`
    const { name, instance_name: instanceName = name, enabled = true, params = {} } = each
    if (instanceName.split('#')[0] !== name) {
      throw new FieldError(`${path}.instance_name`, `must begin with ${name}`)
    }
    if (found.some((other) => other.instanceName === instanceName)) {
      throw new FieldError(`${path}.instance_name`, `'${instanceName}' occurs twice`)
    }
    checkAgainstSchema(GATEWAYS[name].params, params, `${path}.params`)
    found.push({ name, instanceName, enabled, params: params as StoredGateway['params'] })
  }
  return found
}

/** Names of the secret parameters; empty for an unknown gateway. */
export function secretsOf(name: unknown): readonly string[] {
  return typeof name === 'string' && Object.hasOwn(GATEWAYS, name)
    ? GATEWAYS[name as GatewayName].secrets
    : []
}

/** Valid enabled instances; one that is not valid is left out. */
export const PAYMENT_GATEWAYS: StoredSetting<readonly StoredGateway[]> = {
  category: 'payment_gateways',
  read(value) {
    const list: readonly unknown[] = Array.isArray(value) ? value : []
    return list.flatMap((each) => {
      try {
        return checkGateways([each]).filter(({ enabled }) => enabled)
      } catch (error) {
        if (error instanceof FieldError) return []
        throw error
      }
    })
  },
}

interface ChargeSettings {
  /** Days after the first rejection on which a charge is repeated, ascending. */
  readonly retryDays: readonly number[]
  /** The gateway for new cards; null for the first enabled one. */
  readonly gateway: string | null
  /** Origins of the pages to which a customer may return. */
  readonly returnOrigins: readonly string[]
}

const RETRY_DAYS: readonly number[] = [3, 5, 7]

/** A part of category `payments`. */
export const CHARGE_SETTINGS: StoredSetting<ChargeSettings> = {
  category: 'payments',
  read(value) {
    if (!isObject(value) || !Value.Check(PaymentsSchema, value)) {
      return { retryDays: RETRY_DAYS, gateway: null, returnOrigins: [] }
    }
    const { retry_days: days = RETRY_DAYS, gateway = null, return_origins: origins = [] } = value
    const retryDays = [...days].sort((one, other) => one - other)
    return { retryDays, gateway, returnOrigins: origins }
  },
}
