import { reasons } from '../../domain/charge-outcome.ts'
import type { DecodeError } from './codec.ts'

/** Description in the answer to a malformed message. */
export function malformedText({ field, why }: DecodeError): string {
  return `${reasons.malformed.text}: ${field} ${why}`
}
