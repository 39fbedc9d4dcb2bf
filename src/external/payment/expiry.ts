/** When cards expire: at the end of a month. */

/** End of the month `MM/YY` or `MM/YYYY`, epoch ms; null if it is not one. */
export function expiryOf(text: string): number | null {
  const match = /^\s*(0?[1-9]|1[0-2])\s*\/\s*(?:20)?(\d\d)\s*$/.exec(text)
  if (match === null) return null
  return endOfMonthMs(2000 + Number(match[2]), Number(match[1]))
}

/** `month`: 1 to 12. */
export function endOfMonthMs(year: number, month: number): number {
  return Date.UTC(year, month, 1) - 1000
}
