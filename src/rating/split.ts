/**
 * Splits units over the parts of a period in proportion to their length. Of two parts, the earlier
 * one is rounded down; more parts are rounded by largest remainder, the later one first on a tie.
 * `instants`: begin, boundaries and end, epoch ms, ascending. If the period is empty, the last part
 * has all units.
 */
export function splitByTime(used: number, instants: readonly number[]): number[] {
  const parts = instants.length - 1
  const spans = instants.slice(1).map((toMs, index) => {
    return BigInt(Math.max(0, toMs - (instants[index] as number)))
  })
  const whole = spans.reduce((sum, span) => sum + span, 0n)
  if (whole === 0n) return spans.map((_, index) => (index === parts - 1 ? used : 0))
  const quotas = spans.map((span) => BigInt(used) * span)
  const shares = quotas.map((quota) => Number(quota / whole))
  let left = used - shares.reduce((sum, share) => sum + share, 0)
  const order = quotas.map((quota, index) => ({ index, rest: quota % whole })).reverse()
  if (parts > 2) order.sort((a, b) => (a.rest === b.rest ? 0 : a.rest > b.rest ? -1 : 1))
  for (const { index } of order) {
    if (left === 0) break
    shares[index] = (shares[index] as number) + 1
    left -= 1
  }
  return shares
}
