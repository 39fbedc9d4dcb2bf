/** The counters that are funding sources of a service: groups that include it, then credit. */
import type { FundingSource } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import { findBucket } from '../domain/copy-on-write.ts'
import {
  type CounterOwners,
  CREDIT,
  limitOf,
  openCounters,
  type RequiredCounter,
  UNLIMITED_TOTAL,
} from '../domain/counters.ts'
import type { Cycle } from '../domain/cycle.ts'
import type { SegmentStart } from '../domain/session.ts'

/** The counters that fund a service, in order: those of groups, then credit. */
export interface FundingCounters {
  groups: readonly RequiredCounter[]
  /**
   * The cycle whose credit pays, within the limits of the subscriber; null if credit does not pay.
   */
  credit: Cycle | null
  oldestMs: number
}

export function needsNoCounters({ groups, credit }: FundingCounters): boolean {
  return groups.length === 0 && credit === null
}

/**
 * Counters of the credit used in the cycle: of the subscriber, and of the account if it has a
 * limit.
 */
function creditCounters(profile: SubscriberProfile, { fromMs, toMs }: Cycle): RequiredCounter[] {
  const period = { counter: CREDIT, kind: 'totalCost', fromMs, toMs } as const
  const { creditLimit, accountCreditLimit } = profile
  const own: RequiredCounter = { ...period, owner: 0, total: creditLimit ?? UNLIMITED_TOTAL }
  if (accountCreditLimit === null) return [own]
  return [own, { ...period, owner: 1, total: accountCreditLimit }]
}

/** Whether these sources, which are open, are those counters. */
export function isFundedBy(
  owners: CounterOwners,
  sources: readonly FundingSource[],
  { groups, credit }: FundingCounters,
): boolean {
  if (sources.length !== groups.length + (credit === null ? 0 : 1)) return false
  return groups.every(({ owner, counter, fromMs, total }, index) => {
    const source = sources[index] as FundingSource
    const bucket = findBucket(owners, source)
    if (!source.isGroup || source.owner !== owner || bucket === undefined) return false
    return bucket.counter === counter && bucket.fromMs === fromMs && bucket.limit === limitOf(total)
  })
}

/** Opens the counters and adds them to the segment start. */
export function openFundingSources(
  owners: CounterOwners,
  { start, funding }: { start: SegmentStart; funding: FundingCounters },
  profile: SubscriberProfile,
): { owners: CounterOwners; start: SegmentStart } {
  if (needsNoCounters(funding)) return { owners, start }
  const { groups, credit, oldestMs } = funding
  const counters = credit === null ? groups : [...groups, ...creditCounters(profile, credit)]
  const opened = openCounters(owners, counters, oldestMs)
  const sources: FundingSource[] = groups.map(({ owner }, index) => ({
    owner,
    id: opened.ids[index] as number,
    isGroup: true,
    limitCounter: null,
  }))
  const [own, account] = opened.ids.slice(groups.length)
  if (own !== undefined) {
    const limitCounter = account === undefined ? null : ({ owner: 1, id: account } as const)
    sources.push({ owner: 0, id: own, isGroup: false, limitCounter: limitCounter })
  }
  return { owners: opened.owners, start: withSources(start, sources) }
}

function withSources(start: SegmentStart, sources: FundingSource[]): SegmentStart {
  return {
    key: start.key,
    pricing: start.pricing,
    hasGroups: start.hasGroups,
    fundingSources: sources,
    isPrepaid: start.isPrepaid,
    endMs: start.endMs,
  }
}
