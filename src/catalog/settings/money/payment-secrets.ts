/** Keeps the secrets of payment gateways sealed, and out of API responses. */
import { randomBytes } from 'node:crypto'
import { FieldError, isObject } from '../../../domain/fields.ts'
import { GATEWAYS } from '../../../external/payment/gateways.ts'
import type { Sealer } from '../../sealing/sealing.ts'
import { checkGateways, secretsOf } from './gateway-settings.ts'

/** The list without secrets, for any reader. Accepts any stored value. */
export function redactGateways(stored: unknown): unknown {
  if (!Array.isArray(stored)) return []
  return stored.map((each: unknown) => {
    if (!isObject(each) || !isObject(each['params'])) return each
    const hidden = secretsOf(each['name'])
    const visible = Object.entries(each['params']).filter(([name]) => !hidden.includes(name))
    return { ...each, params: Object.fromEntries(visible) }
  })
}

/**
 * The list to store for one sent by a client: secrets are sealed, and one that is not sent is kept
 * from the stored instance of the same name. Throws `FieldError`.
 */
export function mergeGateways(
  stored: unknown,
  value: unknown,
  { seal }: Pick<Sealer, 'seal'>,
): unknown {
  if (!Array.isArray(value)) return checkGateways(value)
  const before: readonly unknown[] = Array.isArray(stored) ? stored : []
  const merged = value.map((each: unknown, index) => {
    if (!isObject(each)) return each
    const same = before.find((other) => isObject(other) && nameOf(other) === nameOf(each))
    const kept = isObject(same) && isObject(same['params']) ? same['params'] : {}
    const params: Record<string, unknown> = isObject(each['params']) ? { ...each['params'] } : {}
    for (const name of secretsOf(each['name'])) {
      const value = params[name]
      if (typeof value === 'string' && value !== '') {
        if (value.length > SECRET_LENGTH_MAX) {
          throw new FieldError(`payment_gateways.${index}.params.${name}`, 'is too long')
        }
        params[name] = seal(value)
      } else if (value === undefined && kept[name] !== undefined) {
        params[name] = kept[name]
      }
    }
    for (const name of GATEWAYS.get(each['name'])?.generated ?? []) {
      if (params[name] !== undefined) continue
      params[name] = seal(randomBytes(SECRET_BYTES).toString('base64url'))
    }
    return { ...each, params }
  })
  checkGateways(merged)
  return merged
}

const SECRET_LENGTH_MAX = 1024
const SECRET_BYTES = 32

export function nameOf(gateway: Readonly<Record<string, unknown>>): unknown {
  return gateway['instance_name'] ?? gateway['name']
}
