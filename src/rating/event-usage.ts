/** Services and usage of a subscriber, as event rules read them (domain/events). */
import type { OwnerState } from '../domain/bucket.ts'
import { revisionAt, type SubscriberProfile } from '../domain/catalogue.ts'
import type { ChargeRequest } from '../domain/charge-request.ts'
import { type Cycle, cycleAt, cycleEndMs } from '../domain/cycle.ts'
import { addToTotals, type UsageTotal } from '../domain/events/usage-totals.ts'
import type { Use } from '../domain/events/uses.ts'
import { activeProductsAt } from './active-products.ts'
import type { ChargeContext } from './decision.ts'

interface DatedRequest {
  request: Pick<ChargeRequest, 'eventTimeMs'>
}

/** Names of the services that the subscriber has at the event time; none without a profile. */
export function* activeServices(
  { catalogue, calendar }: ChargeContext,
  { request }: DatedRequest,
  profile: SubscriberProfile | null,
): Iterable<string> {
  if (profile === null) return
  const products = activeProductsAt(catalogue, profile, request.eventTimeMs, calendar)
  for (const { kind, name, isActive } of products?.offers ?? []) {
    if (kind === 'service' && isActive) yield name
  }
}

/** Adds usage to the totals of its cycle. Prepaid balances have no cycle, and no totals. */
export function withUsageTotals(
  context: ChargeContext,
  subscriber: OwnerState,
  totals: readonly UsageTotal[],
  uses: readonly Use[],
  { request }: DatedRequest,
): OwnerState {
  if (totals.length === 0) return subscriber
  let owner = subscriber
  const { cycleAt: openCycleAt, nowMs } = context
  const { eventTimeMs } = request
  const { cycle, oldestMs } = openCycleAt(eventTimeMs, nowMs)
  for (const use of uses) {
    if (!isPostpaid(context, use.plan, eventTimeMs)) continue
    const itsCycle = use.cycle === cycle.key ? cycle : cycleOf(context, use.cycle)
    // The totals of closed cycles have been dropped.
    if (itsCycle === null || itsCycle.toMs <= oldestMs) continue
    owner = addToTotals(owner, totals, use, itsCycle, oldestMs)
  }
  return owner
}

function isPostpaid({ catalogue }: ChargeContext, plan: string, atMs: number): boolean {
  return revisionAt(catalogue.plans.get(plan), atMs)?.connectionType === 'postpaid'
}

function cycleOf({ calendar }: ChargeContext, key: string): Cycle | null {
  const { zone, cycleDay } = calendar
  const endMs = cycleEndMs(key, zone, cycleDay)
  return endMs === null ? null : cycleAt(endMs - 1, zone, cycleDay)
}
