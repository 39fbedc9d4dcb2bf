/**
 * Called numbers that are always granted free of charge (`rating.freeNumbers`): exact numbers, or
 * all that begin with the digits before a `*`.
 */
export function createFreeNumbers(list: readonly string[]): (calledNumber: string) => boolean {
  // Most installations have no free numbers.
  if (list.length === 0) return () => false
  const exact = new Set(list.filter((number) => !number.endsWith('*')))
  const prefixes = list.filter((number) => number.endsWith('*')).map((n) => n.slice(0, -1))
  return (number) => exact.has(number) || prefixes.some((prefix) => number.startsWith(prefix))
}
