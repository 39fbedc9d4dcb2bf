/** Charges of plans and services whose period is longer than a cycle. Pure. */
import { periodLines } from './charges.ts'
import { cycleSpan, keyAt, periodOf } from './cycle-key.ts'
import { dayOf } from './days.ts'
import type { AccountCycle } from './input.ts'
import type { ChargeLine, CycleSpan } from './lines.ts'
import { offerAt } from './offer.ts'
import { includedIn, withLimit } from './target.ts'
import { type Holder, type Holding, instanceId } from './timeline.ts'

/** A charge that a period should have. */
export interface PeriodCharge {
  readonly line: ChargeLine
  /**
   * Key of the cycle with which it is charged: the last one of the period or the holding; if it is
   * paid ahead, the first one.
   */
  readonly dueKey: string
  /** The run before that cycle should have charged it. */
  readonly isAdvance: boolean
}

export interface PeriodCharges {
  /** Charges of the periods that contain the cycle, as far as they are due. */
  readonly due: readonly PeriodCharge[]
  /** Charges of the periods that begin with the next cycle. */
  readonly ahead: readonly ChargeLine[]
  /** All plans and services, whatever their period. */
  readonly holdings: readonly Holding[]
}

/** `holders`: with their revisions in these periods. Throws `CycleError`. */
export function periodCharges(input: AccountCycle, holders: readonly Holder[]): PeriodCharges {
  const { cycle, next } = input
  const due: PeriodCharge[] = []
  const ahead: ChargeLine[] = []
  const all: Holding[] = []
  for (const { holdings } of holders) {
    const now = holdings.flatMap((holding) => withIncluded(input, holding, cycle))
    const then = holdings.flatMap((holding) => withIncluded(input, holding, next))
    for (const found of longerIn(input, now, cycle)) due.push(...dueOf(input, found))
    for (const found of longerIn(input, then, next)) ahead.push(...aheadOf(input, found))
    all.push(...now)
  }
  return { due, ahead, holdings: all }
}

/** A holding with a part in a longer period. */
interface Longer {
  readonly holding: Holding
  readonly period: CycleSpan
  readonly isUpfront: boolean
  /** Further holdings of the same plan or service instance. */
  readonly same: readonly Holding[]
}

/** Holdings whose period contains the cycle, by their terms then. */
function longerIn(input: AccountCycle, all: readonly Holding[], cycle: CycleSpan): Longer[] {
  const { aid, calendar, catalogue } = input
  return all.flatMap((holding) => {
    const { toMs, toDay, activationMs } = holding
    const { terms } = offerAt(aid, catalogue, holding, Math.min(toMs, cycle.endMs) - 1)
    const { recurrence, isUpfront } = terms
    if (recurrence.months === 1 || terms.period !== null) return []
    const period = periodOf(cycle.key, recurrence, activationMs, calendar)
    if (toDay <= dayOf(period.zone, period.startMs)) return []
    const id = instanceId(holding)
    const same = all.filter((other) => other !== holding && instanceId(other) === id)
    return [{ holding, period, isUpfront, same }]
  })
}

/**
 * A holding as far as its own terms allow, and the services that it includes. One that ended long
 * ago may be of a plan that does not exist any more.
 */
function withIncluded(input: AccountCycle, holding: Holding, { endMs }: CycleSpan): Holding[] {
  const { aid, catalogue, settings } = input
  const offers = holding.kind === 'flat' ? catalogue.plans : catalogue.services
  if (holding.fromMs >= endMs || !offers.has(holding.name)) return []
  if (holding.kind === 'service') return ownTime(input, holding)
  if (!settings.chargeIncludedServices) return [holding]
  const offer = offerAt(aid, catalogue, holding, Math.min(holding.toMs, endMs) - 1)
  const included = includedIn(input, { holding, offer })
  return [holding, ...included.flatMap((one) => ownTime(input, one))]
}

function ownTime(input: AccountCycle, holding: Holding): Holding[] {
  const ended = withLimit(input, holding)
  return ended === null ? [] : [ended]
}

function dueOf(input: AccountCycle, { holding, period, isUpfront, same }: Longer): PeriodCharge[] {
  const { aid, calendar, catalogue, cycle } = input
  const atMs = isUpfront
    ? Math.max(period.startMs, holding.fromMs)
    : Math.min(period.endMs, holding.toMs) - 1
  const dueCycle = cycleSpan(keyAt(atMs, calendar), calendar)
  if (dueCycle.endMs > cycle.endMs) return []
  const offer = offerAt(aid, catalogue, holding, Math.min(holding.toMs, dueCycle.endMs) - 1)
  // A period keeps the terms with which it began.
  if (offer.terms.isUpfront !== isUpfront || offer.terms.recurrence.months === 1) return []
  const held = { holding, offer }
  const lines = periodLines({ input, cycle: dueCycle, timing: 'due', held, same }, period)
  const isBegin = holding.fromDay >= dayOf(cycle.zone, dueCycle.startMs)
  return lines.map((line) => ({ line, dueKey: dueCycle.key, isAdvance: isUpfront && !isBegin }))
}

function aheadOf(input: AccountCycle, { holding, period, isUpfront, same }: Longer): ChargeLine[] {
  const { aid, catalogue, next } = input
  if (!isUpfront || period.startMs !== next.startMs || !isKnown(input, holding)) return []
  const offer = offerAt(aid, catalogue, holding, Math.min(holding.toMs, next.endMs) - 1)
  const held = { holding, offer }
  return periodLines({ input, cycle: next, timing: 'ahead', held, same }, period)
}

/** As for cycles: revisions that begin in the next one are followed only if that is configured. */
function isKnown({ cycle, next, settings }: AccountCycle, { pieces }: Holding): boolean {
  const { endMs } = settings.billableNextCycle === true ? next : cycle
  const first = pieces[0]?.subscriber ?? pieces[0]?.account
  return first !== null && first !== undefined && first.from.getTime() < endMs
}
