import { reasons } from '../../domain/charge-outcome.ts'
import type { DecodeError } from './codec.ts'

/** What the answer to a malformed message says to people. */
export function malformedText({ field, why }: DecodeError): string {
  return `${reasons.malformed.text}: ${field} ${why}`
}
