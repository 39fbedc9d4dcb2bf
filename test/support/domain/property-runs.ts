/**
 * The number of runs of a property: `PROPERTY_RUNS` if it is set; `usual` in `npm run test:full`
 * and before a landing (`TEST_SET`); a sixth of it, at least 50, in `npm test`.
 */
export function propertyRuns(usual: number): { numRuns: number } {
  const asked = Number(process.env['PROPERTY_RUNS'] ?? '')
  if (Number.isSafeInteger(asked) && asked > 0) return { numRuns: asked }
  return { numRuns: isFull() ? usual : Math.min(usual, Math.max(50, Math.ceil(usual / 6))) }
}

/** Whether properties are checked at full length. */
export function isFull(): boolean {
  return process.env['TEST_SET'] !== undefined
}
