/** How often a property is tried: `PROPERTY_RUNS`, or what the test takes for a few seconds. */
export function propertyRuns(usual: number): { numRuns: number } {
  const asked = Number(process.env['PROPERTY_RUNS'] ?? '')
  return { numRuns: Number.isSafeInteger(asked) && asked > 0 ? asked : usual }
}
