/** The number of runs of a property: `PROPERTY_RUNS`, or the default for a few seconds. */
export function propertyRuns(usual: number): { numRuns: number } {
  const asked = Number(process.env['PROPERTY_RUNS'] ?? '')
  return { numRuns: Number.isSafeInteger(asked) && asked > 0 ? asked : usual }
}
