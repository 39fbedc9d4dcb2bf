const DELAY_MS_MAX = 3_600_000

/**
 * Time before the attempt after the failed one of this number (from 1), in ms. It doubles up to an
 * hour; `random` (from 0 to below 1) takes away up to half of it, so that events that failed
 * together are not repeated together.
 */
export function retryDelayMs(attempt: number, firstMs: number, random: number): number {
  const fullMs = Math.min(firstMs * 2 ** (attempt - 1), DELAY_MS_MAX)
  return Math.round(fullMs * (1 - random / 2))
}
