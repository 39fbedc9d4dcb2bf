/** The header `Idempotency-Key`. */
import type { FastifyRequest } from 'fastify'
import { EntityRuleError } from '../../requests/errors.ts'

/** Limit on ids of balance operations. */
export const OPERATION_ID_LENGTH_MAX = 128

/** Null if it was not sent. Throws `EntityRuleError`. */
export function idempotencyKeyOf(
  { headers }: Pick<FastifyRequest, 'headers'>,
  lengthMax: number,
): string | null {
  const value = headers['idempotency-key']
  if (value === undefined) return null
  const text = String(value)
  if (/^[\x21-\x7e]+$/.test(text) && text.length <= lengthMax) return text
  throw new EntityRuleError(
    `Idempotency-Key must have 1 to ${lengthMax} visible characters of ASCII`,
    'request',
  )
}
