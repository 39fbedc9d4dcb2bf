/** Compares results with expectations: expected fields are a subset, numbers compare by value. */
import { decimalOf, type Fields } from '../../domain/fields.ts'
import type { EventResult } from './event-result.ts'

/** A difference from the expectation; `actual` is absent if the result has no such field. */
export interface Mismatch {
  /** Counts from 0. */
  event: number
  /** Dotted path within the result. */
  field: string
  expected: unknown
  actual?: unknown
}

/**
 * The differences, in order; empty if all events match. Events beyond `expected` are not compared.
 */
export function mismatches(
  expected: readonly Fields[],
  results: readonly EventResult[],
): Mismatch[] {
  return expected.flatMap((expectedFields, event) =>
    differencesOf(expectedFields, results[event], '').map((difference) => ({
      event,
      ...difference,
    })),
  )
}

type Difference = Omit<Mismatch, 'event'>

function differencesOf(expected: unknown, actual: unknown, field: string): Difference[] {
  if (isObject(expected) && isObject(actual) && Array.isArray(expected) === Array.isArray(actual)) {
    return Object.entries(expected).flatMap(([name, value]) =>
      differencesOf(value, actual[name], field === '' ? name : `${field}.${name}`),
    )
  }
  if (isEqual(expected, actual)) return []
  return [{ field, expected, ...(actual === undefined ? {} : { actual }) }]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Numbers also equal their decimal text. */
function isEqual(expected: unknown, actual: unknown): boolean {
  if (expected === actual) return true
  const [one, other] = [decimalOf(expected), decimalOf(actual)]
  if (one === null || other === null) return false
  return one.digits === other.digits && one.scale === other.scale
}
