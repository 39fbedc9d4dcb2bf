/** The counters that pay for a service: groups that include it, then credit. */
import type { Payer } from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import {
  type CountedOwners,
  type CounterWanted,
  CREDIT,
  openCounters,
  UNLIMITED_TOTAL,
} from '../domain/counters.ts'
import type { Cycle } from '../domain/cycle.ts'
import type { SegmentStart } from '../domain/session.ts'

/** The counters that pay, in order: those of groups, then credit. */
export interface WantedPayers {
  groups: readonly CounterWanted[]
  /** The cycle whose credit pays, within the limits of whoever asks; null: none does. */
  credit: Cycle | null
  oldestMs: number
}

export function wantsNone({ groups, credit }: WantedPayers): boolean {
  return groups.length === 0 && credit === null
}

/** What is owed in the cycle: by the subscriber, and by the account if that has a limit. */
function creditCounters(profile: SubscriberProfile, { fromMs, toMs }: Cycle): CounterWanted[] {
  const period = { counter: CREDIT, kind: 'totalCost', fromMs, toMs } as const
  const { creditLimit, accountCreditLimit } = profile
  const own: CounterWanted = { ...period, owner: 0, total: creditLimit ?? UNLIMITED_TOTAL }
  if (accountCreditLimit === null) return [own]
  return [own, { ...period, owner: 1, total: accountCreditLimit }]
}

/** Opens the counters that pay, and names them in the segment. */
export function openPayers(
  owners: CountedOwners,
  { start, wanted }: { start: SegmentStart; wanted: WantedPayers },
  profile: SubscriberProfile,
): { owners: CountedOwners; start: SegmentStart } {
  if (wantsNone(wanted)) return { owners, start }
  const { groups, credit, oldestMs } = wanted
  const counters = credit === null ? groups : [...groups, ...creditCounters(profile, credit)]
  const opened = openCounters(owners, counters, oldestMs)
  const payers: Payer[] = groups.map(({ owner }, index) => ({
    owner,
    id: opened.ids[index] as number,
    isGroup: true,
    alsoIn: null,
  }))
  const [own, account] = opened.ids.slice(groups.length)
  if (own !== undefined) {
    const alsoIn = account === undefined ? null : ({ owner: 1, id: account } as const)
    payers.push({ owner: 0, id: own, isGroup: false, alsoIn })
  }
  return { owners: opened.owners, start: withPayers(start, payers) }
}

function withPayers(start: SegmentStart, payers: Payer[]): SegmentStart {
  return {
    key: start.key,
    rateKey: start.rateKey,
    plan: start.plan,
    cycle: start.cycle,
    tariff: start.tariff,
    priceOf: start.priceOf,
    band: start.band,
    others: start.others,
    taxes: start.taxes,
    rounding: start.rounding,
    hasGroups: start.hasGroups,
    payers,
    isPrepaid: start.isPrepaid,
    endMs: start.endMs,
  }
}
