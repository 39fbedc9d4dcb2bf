/** Times of events, in the forms that the wire takes. */
import { parseInstant } from '../../domain/time.ts'

const SECONDS = /^\d{1,11}(?:\.\d+)?$/

/** A date, or unix seconds as number or text; milliseconds, or null if it is neither. */
export function eventTimeOf(value: unknown, zone: string): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const text = String(value)
  return SECONDS.test(text) ? Math.floor(Number(text) * 1000) : parseInstant(text, zone)
}
