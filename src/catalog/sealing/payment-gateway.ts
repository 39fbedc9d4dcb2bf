/** `payment_gateway` of accounts: which of its fields are secret, and how they are stored. */
import { type Fields, isObject } from '../../domain/fields.ts'
import { isSealed, type Sealer } from './sealing.ts'

/** Fields that are shown; all others give access to a card, or are card data. */
const SHOWN: ReadonlySet<string> = new Set([
  'name',
  'instance_name',
  'transaction_exhausted',
  'generate_token_time',
  'card_expiration',
  'four_digits',
  'card_brand',
])

/** Whether a dotted path of an account leads to secrets of its cards, or to an object of them. */
export function isGatewaySecret(path: string): boolean {
  const steps = path.split('.')
  return steps[0] === 'payment_gateway' && !SHOWN.has(steps.at(-1) ?? '')
}

/**
 * A copy in which every secret text and number is sealed. `known`: sealed texts that are stored
 * already and kept as they are.
 */
export function sealGatewayFields(
  value: unknown,
  known: ReadonlySet<string>,
  sealer: Pick<Sealer, 'seal'>,
): unknown {
  if (Array.isArray(value)) return value.map((each) => sealGatewayFields(each, known, sealer))
  if (isPlainObject(value)) {
    const members = Object.entries(value).map(([name, member]) => {
      const isShown = SHOWN.has(name) && !isObject(member) && !Array.isArray(member)
      return [name, isShown ? member : sealGatewayFields(member, known, sealer)]
    })
    return Object.fromEntries(members)
  }
  if (typeof value === 'number' || typeof value === 'bigint') return sealer.seal(String(value))
  if (typeof value !== 'string' || value === '' || known.has(value)) return value
  return sealer.seal(value)
}

/** The members of a stored card with its secrets opened; null if one cannot be opened. */
export function openGatewayFields(active: Fields, sealer: Pick<Sealer, 'open'>): Fields | null {
  const opened: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(active)) {
    if (typeof value !== 'string' || !isSealed(value)) {
      opened[name] = value
      continue
    }
    const text = sealer.open(value)
    if (text === null) return null
    opened[name] = text
  }
  return opened
}

/** All sealed texts in a value. */
export function sealedTextsIn(value: unknown): string[] {
  if (typeof value === 'string') return isSealed(value) ? [value] : []
  if (Array.isArray(value)) return value.flatMap(sealedTextsIn)
  return isPlainObject(value) ? Object.values(value).flatMap(sealedTextsIn) : []
}

/** A copy in which every text that is not shown is replaced. */
export function mapGatewaySecrets(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return value === '' ? value : replace(value)
  if (Array.isArray(value)) return value.map((each) => mapGatewaySecrets(each, replace))
  if (!isPlainObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => {
    const isShown = SHOWN.has(name) && !isObject(member) && !Array.isArray(member)
    return [name, isShown ? member : mapGatewaySecrets(member, replace)]
  })
  return Object.fromEntries(members)
}

/**
 * A card as a client sends it back after reading it: the secrets, which it was not shown, are kept
 * from the stored card if everything shown is the same.
 */
export function withKeptSecrets(value: unknown, stored: unknown): unknown {
  if (!isPlainObject(value) || !isPlainObject(stored)) return value
  const kept: Record<string, unknown> = { ...value }
  for (const [name, before] of Object.entries(stored)) {
    const now = value[name]
    if (isPlainObject(before) && isPlainObject(now) && isSameCard(now, before)) {
      const secrets = Object.entries(before).filter(([field, text]) => {
        return !Object.hasOwn(now, field) && typeof text === 'string' && isSealed(text)
      })
      kept[name] = { ...now, ...Object.fromEntries(secrets) }
    }
  }
  return kept
}

function isSameCard(fields: Fields, stored: Fields): boolean {
  return [...SHOWN].every((name) => textOf(fields[name]) === textOf(stored[name]))
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : JSON.stringify(value ?? null)
}

/** Neither a BSON type of the driver nor a date. */
function isPlainObject(value: unknown): value is Fields {
  return isObject(value) && !(value instanceof Date) && !('_bsontype' in value)
}
