/** Numbers that tell the services of a holder apart (spec/entity-api.md 3.2). */

let last = 0

/** Microseconds of the clock: 16 digits, and no number is given twice by this process. */
export function nextServiceId(nowMs: number): number {
  last = Math.max(last + 1, Math.trunc(nowMs) * 1000)
  return last
}
