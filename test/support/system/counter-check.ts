/** Checks of the counters of an owner: of groups, and of postpaid credit. */
import type { Bucket, OwnerState } from '../../../src/domain/bucket.ts'
import type { ExpectedCounter } from './mixed.ts'

/** The credit on lines: micros by cycle, and by how much a limit can be exceeded. */
export interface CreditTruth {
  byCycle: ReadonlyMap<string, number>
  mayExceed: number
}

/** Every difference between the counters of an owner and the `expected` ones. */
export function counterDifferences(
  { aid, sid, buckets }: OwnerState,
  expected: readonly ExpectedCounter[],
  credit: CreditTruth,
): string[] {
  const found: string[] = []
  const owing = new Map<string, number>()
  for (const bucket of buckets) {
    if (bucket.counter === '') continue
    const what = `counter ${aid}:${sid}:${bucket.counter}`
    const known = expected.find(({ counter }) => counter === bucket.counter)
    if (known === undefined) {
      found.push(`${what} is not expected`)
      continue
    }
    const isCredit = bucket.counter === 'credit'
    const most = known.total + (isCredit ? credit.mayExceed : 0)
    if (bucket.kind !== known.kind) found.push(`${what} counts ${bucket.kind}`)
    if (bucket.limit !== known.total) found.push(`${what} limit: ${bucket.limit}`)
    if (bucket.spent > most) found.push(`${what} spent: ${bucket.spent}, at most ${most}`)
    if (isCredit) owing.set(cycleOf(bucket), bucket.spent)
  }
  for (const cycle of new Set([...owing.keys(), ...credit.byCycle.keys()])) {
    const [owed, expectedMicros] = [owing.get(cycle) ?? 0, credit.byCycle.get(cycle) ?? 0]
    if (owed !== expectedMicros)
      found.push(`credit ${aid}:${sid} in ${cycle}: ${owed}, expected ${expectedMicros}`)
  }
  return found
}

/** A cycle is named after the month in which it ends. */
function cycleOf({ toMs }: Bucket): string {
  const end = new Date(toMs)
  return `${end.getUTCFullYear()}${String(end.getUTCMonth() + 1).padStart(2, '0')}`
}
