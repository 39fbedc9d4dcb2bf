/** The charges of plans and services that a cycle should have, written or not. Pure. */
import { isEmpty, objectAt, textsAt } from '../../domain/fields.ts'
import { endOfService } from '../../rating/periods.ts'
import { chargesOf, type Held, type TargetInput, type Timing } from './charges.ts'
import { dayOf } from './days.ts'
import type { ChargeLine, CycleSpan } from './lines.ts'
import { offerAt, withEntity } from './offer.ts'
import { endedAt, type Holder, type Holding, instanceId } from './timeline.ts'

/**
 * The charges of a cycle. `holders`: those of the account. Throws `CycleError` for a plan or
 * service that is missing or invalid.
 */
export function dueCharges(
  input: TargetInput,
  holders: readonly Holder[],
  cycle: CycleSpan,
  timing: Timing,
): ChargeLine[] {
  const [charges = []] = chargesByTiming(input, holders, cycle, [timing])
  return charges
}

/** As `dueCharges`, for several timings in their order. */
export function chargesByTiming(
  input: TargetInput,
  holders: readonly Holder[],
  cycle: CycleSpan,
  timings: readonly Timing[],
): ChargeLine[][] {
  const found = timings.map((): ChargeLine[] => [])
  for (const holder of holders) {
    const all = heldIn(input, holder, cycle)
    for (const held of all) {
      const id = instanceId(held.holding)
      const same = all
        .map(({ holding }) => holding)
        .filter((other) => other !== held.holding && instanceId(other) === id)
      for (const [index, timing] of timings.entries()) {
        found[index]?.push(...chargesOf({ input, cycle, timing, held, same }))
      }
    }
  }
  return found
}

/** The plans, booked services and included services of a holder. */
function heldIn(input: TargetInput, { holdings }: Holder, cycle: CycleSpan): Held[] {
  return holdings.flatMap((holding) => {
    const held = heldAt(input, holding, cycle)
    if (held === null) return []
    const included = input.settings.chargeIncludedServices ? includedIn(input, held) : []
    return [held, ...included.flatMap((one) => heldAt(input, one, cycle) ?? [])]
  })
}

/** The services that the plans of a holder include in a cycle, charged or not. */
export function includedServices(
  input: TargetInput,
  { holdings }: Holder,
  cycle: CycleSpan,
): Holding[] {
  return holdings.flatMap((holding) => {
    if (holding.kind !== 'flat') return []
    const held = heldAt(input, holding, cycle)
    const included = held === null ? [] : includedIn(input, held)
    return included.flatMap((one) => heldAt(input, one, cycle)?.holding ?? [])
  })
}

function heldAt(input: TargetInput, holding: Holding, cycle: CycleSpan): Held | null {
  const ended = holding.kind === 'flat' ? holding : withLimit(input, holding)
  if (ended === null || ended.fromMs >= cycle.endMs) return null
  if (ended.toDay <= dayOf(cycle.zone, cycle.startMs)) return null
  const { aid, catalogue } = input
  const offer = offerAt(aid, catalogue, ended, Math.min(ended.toMs, cycle.endMs) - 1)
  return { holding: ended, offer }
}

/** A service ends by the terms at its begin, at the latest. */
export function withLimit(
  { aid, calendar, catalogue }: TargetInput,
  holding: Holding,
): Holding | null {
  const { terms } = offerAt(aid, catalogue, holding, holding.activationMs)
  const { limitMonths, period, proration } = terms
  if (limitMonths === null && period === null) return holding
  const isWholeCycles = holding.sid === 0 || !proration.start
  const endMs = endOfService(
    { limitMonths, period },
    { fromMs: holding.activationMs, toMs: holding.toMs },
    { zone: calendar.zone, cycleDay: isWholeCycles ? calendar.cycleDay : null },
  )
  return endedAt(holding, endMs, calendar.zone)
}

/** Services that a plan includes, from its begin to its end; none of a service. */
export function includedIn(input: TargetInput, { holding, offer }: Held): Holding[] {
  if (holding.kind !== 'flat') return []
  const names = withEntity(input.aid, `plan ${holding.name}`, () => {
    const { include } = offer.document
    if (isEmpty(include)) return []
    return textsAt(objectAt(include, 'include')['services'], 'include.services')
  })
  return names.map((name) => ({
    ...holding,
    kind: 'service' as const,
    name,
    serviceId: holding.name,
    includedIn: holding.name,
  }))
}
