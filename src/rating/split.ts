/**
 * Units of the part of a span that lies before a boundary, if they were used evenly over it:
 * rounded down, so that the remainder falls to the later part. 0 ≤ result ≤ `used`. Instants in
 * epoch ms.
 */
export function splitByTime(
  used: number,
  fromMs: number,
  boundaryMs: number,
  toMs: number,
): number {
  const before = Math.min(boundaryMs, toMs) - fromMs
  const span = toMs - fromMs
  if (before <= 0 || span <= 0) return 0
  return Number((BigInt(used) * BigInt(before)) / BigInt(span))
}
