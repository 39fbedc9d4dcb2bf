/** Results compared with expected ones: a subset, numbers by value. */
import type { QuoteResult } from './case.ts'

/** Less than a micro, and than any step of units: only tax may have more decimals. */
const TOLERANCE = 6e-7

/** The differences, event by event, as `2: aprice is 1, not 2`; empty if the results agree. */
export function differences(
  expected: readonly Partial<QuoteResult>[],
  results: readonly object[],
): string[] {
  const lines = expected.flatMap((model, index) => {
    const result = (results[index] ?? {}) as Record<string, unknown>
    return Object.entries(model)
      .filter(([key, value]) => !isEqual(value, result[key]))
      .map(([key, value]) => `${index + 1}: ${key} is ${String(result[key])}, not ${value}`)
  })
  if (results.length === expected.length) return lines
  return [...lines, `${results.length} results, not ${expected.length}`]
}

function isEqual(model: unknown, found: unknown): boolean {
  if (typeof model !== 'number' || typeof found !== 'number') return model === found
  return Math.abs(model - found) <= TOLERANCE
}
