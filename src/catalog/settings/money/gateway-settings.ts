/**
 * Category `payment_gateways` of the stored configuration, a list of instances with sealed secrets.
 */
import { type Static, Type } from '@sinclair/typebox'
import { assert } from '../../../domain/assert.ts'
import { FieldError } from '../../../domain/fields.ts'
import {
  GATEWAYS,
  type GatewayParams,
  type GatewayType,
} from '../../../external/payment/gateways.ts'
import type { StoredSetting } from '../current-settings.ts'
import { checkAgainstSchema, flag, object } from '../settings-schema.ts'
import { GATEWAY_INSTANCE } from './payment-settings.ts'

const TYPES = [...GATEWAYS.keys()].map(String)

const INSTANCE = object('an object with a name', {
  name: Type.Union(
    TYPES.map((type) => Type.Literal(type)),
    { description: TYPES.join(' or ') },
  ),
  instance_name: Type.Optional(
    Type.String({
      pattern: GATEWAY_INSTANCE,
      description: 'the name, or the name with # and a number',
    }),
  ),
  enabled: flag,
  params: Type.Optional(Type.Unknown()),
})

/** An instance as it is stored: its secrets are sealed. */
export interface StoredGateway {
  readonly name: string
  readonly type: GatewayType
  readonly instanceName: string
  readonly enabled: boolean
  /** Parameters, defaults filled in. */
  readonly params: GatewayParams
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
    const type = GATEWAYS.get(name)
    assert(type !== undefined, `the schema has only names of gateways, not ${name}`)
    const checked = checkAgainstSchema(type.schema, params, `${path}.params`)
    found.push({ name, type, instanceName, enabled, params: checked })
  }
  return found
}

/** Names of the secret parameters; empty for an unknown gateway. */
export function secretsOf(name: unknown): readonly string[] {
  return GATEWAYS.get(name)?.secrets ?? []
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
