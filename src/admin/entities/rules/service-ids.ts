/** Numbers that identify the services of a holder. */

let last = 0

/** Microseconds of the clock, 16 digits; unique within this process. */
export function nextServiceId(nowMs: number): number {
  last = Math.max(last + 1, Math.trunc(nowMs) * 1000)
  return last
}
