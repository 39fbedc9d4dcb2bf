/**
 * Keeps the secrets of external customer mode sealed, out of API responses, and from being sent to
 * another server.
 */
import { isDeepStrictEqual } from 'node:util'
import { FieldError, type Fields, isObject } from '../../../domain/fields.ts'
import type { Sealer } from '../../sealing/sealing.ts'
import { addressName, CUSTOMER_CALLS } from './customer-settings.ts'

const SECRETS = ['client_secret', 'password'] as const
const SECRET_LENGTH_MAX = 1024

/** Replaces a secret; undefined removes it. */
type Replace = (text: unknown, place: Place) => unknown

interface Place {
  /** Steps to the object with `data`. */
  readonly steps: readonly string[]
  readonly secret: (typeof SECRETS)[number]
}

const PLACES: readonly (readonly string[])[] = [
  ['external_authentication'],
  ...CUSTOMER_CALLS.map((call) => [call, 'authentication']),
]

/** The value of category `subscribers` without these secrets. Accepts any stored value. */
export function redactCustomers(stored: unknown): unknown {
  return mapped(stored, () => undefined)
}

/** The value with each secret replaced by `visit`, for sealing with another key. */
export function visitCustomerSecrets(
  stored: unknown,
  visit: (name: string, text: string) => string,
): unknown {
  return mapped(stored, (text, { steps, secret }) =>
    typeof text === 'string' ? visit([...steps, secret].join('.'), text) : text,
  )
}

/**
 * The value to store for one sent by a client: secrets are sealed; one that is not sent is kept.
 * Throws `FieldError` if one is not sent although its destination changes: the old secret would be
 * disclosed to the new server.
 */
export function mergeCustomers(
  stored: unknown,
  value: unknown,
  { seal }: Pick<Sealer, 'seal'>,
): unknown {
  return mapped(value, (text, { steps, secret }) => {
    const path = ['subscribers', ...steps, 'data', secret].join('.')
    if (typeof text === 'string' && text !== '') {
      if (text.length > SECRET_LENGTH_MAX) throw new FieldError(path, 'is too long')
      return seal(text)
    }
    if (text !== undefined) return text
    const before = authenticationAt(stored, steps)
    const now = authenticationAt(value, steps)
    const kept = isObject(before['data']) ? before['data'][secret] : undefined
    if (kept === undefined || before['type'] !== now['type']) return undefined
    if (!isDeepStrictEqual(destinationOf(stored, steps), destinationOf(value, steps))) {
      throw new FieldError(path, 'must be sent again: the address or certificate has changed')
    }
    return kept
  })
}

/** Where the secret of a place is sent: the token address, or all calls that use it. */
function destinationOf(value: unknown, steps: readonly string[]): unknown {
  const { type, access_token_url: tokenUrl } = authenticationAt(value, steps)
  const [call] = steps.length > 1 ? steps : []
  const users = CUSTOMER_CALLS.filter((each) =>
    call === undefined ? !('authentication' in sectionAt(value, each)) : each === call,
  ).map((each) => sectionAt(value, each))
  const authorities = users.map((section) => section['external_ca'])
  if (type === 'oauth2') return [tokenUrl, ...authorities]
  const urls = CUSTOMER_CALLS.map((each) => sectionAt(value, each)[addressName(each)])
  return [users.length, ...urls, ...authorities]
}

function sectionAt(value: unknown, name: string): Fields {
  const section = isObject(value) ? value[name] : undefined
  return isObject(section) ? section : {}
}

function authenticationAt(value: unknown, steps: readonly string[]): Fields {
  return steps.reduce<Fields>((part, step) => sectionAt(part, step), sectionAt({ value }, 'value'))
}

function mapped(value: unknown, replace: Replace): unknown {
  return PLACES.reduce((whole, steps) => mappedAt(whole, steps, steps, replace), value)
}

function mappedAt(
  value: unknown,
  steps: readonly string[],
  rest: readonly string[],
  replace: Replace,
): unknown {
  if (!isObject(value)) return value
  const [step, ...further] = rest
  if (step !== undefined) {
    if (!(step in value)) return value
    return { ...value, [step]: mappedAt(value[step], steps, further, replace) }
  }
  const { data } = value
  if (data !== undefined && !isObject(data)) return value
  const replaced: Record<string, unknown> = { ...data }
  for (const secret of SECRETS) {
    const text = replace(replaced[secret], { steps, secret })
    if (text === undefined) delete replaced[secret]
    else replaced[secret] = text
  }
  const isEmpty = data === undefined && Object.keys(replaced).length === 0
  return isEmpty ? value : { ...value, data: replaced }
}
