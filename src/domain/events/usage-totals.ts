/**
 * Totals of usage per usage type and cycle: counters that no usage is paid from. Only those that a
 * rule names are kept.
 */
import { type Bucket, copyBucket, type OwnerState, withBuckets } from '../bucket.ts'
import { openCounters, UNLIMITED_TOTAL, usageTotal } from '../counters.ts'
import type { Cycle } from '../cycle.ts'
import type { Use } from './uses.ts'

export const MEASURES = ['usagev', 'cost', 'over_group', 'out_group'] as const

/** Units, micros, and units beyond groups or without any. */
export type Measure = (typeof MEASURES)[number]

export interface UsageTotal {
  usaget: string
  measure: Measure
}

/**
 * Adds what a request used to the totals of its cycle. Returns the owner as it is if nothing is
 * counted.
 */
export function addToTotals(
  owner: OwnerState,
  totals: readonly UsageTotal[],
  use: Use,
  { fromMs, toMs }: Pick<Cycle, 'fromMs' | 'toMs'>,
  oldestMs: number,
): OwnerState {
  let state = owner
  for (const { usaget, measure } of totals) {
    if (usaget !== use.usaget) continue
    const amount = amountUsed(use, measure)
    if (amount === 0) continue
    const counter = usageTotal(usaget, measure)
    const kind = measure === 'cost' ? 'totalCost' : 'units'
    const total = UNLIMITED_TOTAL
    const required = [{ owner: 0, counter, kind, fromMs, toMs, total } as const]
    const opened = openCounters({ subscriber: state, account: null }, required, oldestMs)
    state = counted(opened.owners.subscriber, opened.ids[0] as number, amount)
  }
  return state
}

function amountUsed({ units, micros, overGroup, outGroup }: Use, measure: Measure): number {
  switch (measure) {
    case 'usagev':
      return units
    case 'cost':
      return micros
    case 'over_group':
      return overGroup
    default:
      return outGroup
  }
}

/** Refunds of usage that was not counted do not lower a total below 0. */
function counted(owner: OwnerState, id: number, amount: number): OwnerState {
  const add = (bucket: Bucket): Bucket => {
    if (bucket.id !== id) return bucket
    const changed = copyBucket(bucket)
    changed.spent = Math.min(Math.max(0, bucket.spent + amount), Number.MAX_SAFE_INTEGER)
    changed.free = 0 - changed.spent
    return changed
  }
  return withBuckets(owner, owner.buckets.map(add))
}
