/** All charges, discounts and conditional charges of an account in a cycle, before tax. Pure. */
import type { Fields } from '../../domain/fields.ts'
import { moneyFormat } from '../currency.ts'
import { type Adjuster, adjusterOf } from './adjuster.ts'
import { periodEnding } from './cycle-key.ts'
import { dayOf } from './days.ts'
import {
  addGrant,
  type Grants,
  type GrantsByKey,
  grantKey,
  type Limits,
  RunLimits,
} from './discount/limits.ts'
import type { AccountCycle } from './input.ts'
import type { AdjustmentLine, ChargeLine, CycleSpan } from './lines.ts'
import { offerAt } from './offer.ts'
import { revisionBefore } from './overrides.ts'
import { type PeriodCharge, type PeriodCharges, periodCharges } from './periods.ts'
import { termsOf } from './price.ts'
import { correctedAdjustments, correctedCharges, creditedCharge } from './reconcile.ts'
import { adjustmentParts, supplyParts } from './supply-parts.ts'
import { chargesByTiming, dueCharges } from './target.ts'
import { type Holder, holdersOf } from './timeline.ts'
import {
  chargeKey,
  grantedBy,
  type PriorCharge,
  type PriorLines,
  PriorPeriods,
  priorLinesFor,
} from './written.ts'
import { type TaxChange, taxChangesOf, withPriorTaxes } from './written-taxes.ts'

export interface AccountCharges {
  readonly charges: readonly ChargeLine[]
  readonly adjustments: readonly AdjustmentLine[]
  /** The charges that adjustments apply to, by id; some are of the previous run. */
  readonly subjects: ReadonlyMap<string, ChargeLine>
  /** Stamps of charges of the previous run, by id of their due or credited line. */
  readonly formerStamps: ReadonlyMap<string, string>
  /** Corrected charges that keep other taxes than those at the end of their supply. */
  readonly taxChanges: readonly TaxChange[]
}

/** Throws `CycleError`, or `FieldError` for an invalid field of a revision or line. */
export function accountCharges(input: AccountCycle, holders: readonly Holder[]): AccountCharges {
  const { cycle, next } = input
  const limits = new RunLimits()
  const adjust = adjusterOf(input, holders)
  const [arrears = [], due = []] = chargesByTiming(input, holders, cycle, ['arrears', 'due'])
  const longer = longerCharges(input)
  const parts = [
    ownPart(arrears, adjust, limits, cycle),
    ownPart(longer.own, longer.adjust, limits),
    ...(reconciles(input) ? [correctedCycle(input, holders, due, adjust, limits)] : []),
    ...longer.changed.map((change) => correctedPart(input, change, longer.adjust, limits)),
    ownPart(dueCharges(input, holders, next, 'ahead'), adjust, limits),
    ownPart(longer.ahead, longer.adjust, limits),
  ]
  return {
    charges: parts.flatMap(({ charges }) => charges),
    adjustments: parts.flatMap(({ adjustments }) => adjustments),
    subjects: new Map(parts.flatMap(({ subjects }) => subjects.map((line) => [line.id, line]))),
    formerStamps: new Map(parts.flatMap(({ formerStamps }) => [...formerStamps])),
    taxChanges: parts.flatMap(({ taxChanges }) => taxChanges),
  }
}

function reconciles({ settings, hasPreviousRun }: AccountCycle): boolean {
  return hasPreviousRun || !settings.reconcileRequiresPreviousRun
}

interface Part extends Omit<AccountCharges, 'subjects'> {
  readonly subjects: readonly ChargeLine[]
}

/** `general`: also conditional charges that apply to no single line. */
function ownPart(
  charges: readonly ChargeLine[],
  adjust: Adjuster,
  limits: Limits,
  general: CycleSpan | null = null,
): Part {
  const adjustments = adjust(charges, limits, general)
  return { charges, adjustments, subjects: charges, formerStamps: new Map(), taxChanges: [] }
}

/** Charges that a cycle or period should have, and those that were written for it. */
interface Change extends PriorLines {
  readonly cycle: CycleSpan
  readonly due: readonly ChargeLine[]
  readonly holders: readonly Holder[]
  /** Other grants of the run that wrote them; null if they are not known. */
  readonly otherGrants: GrantsByKey | null
}

/** The cycle that was paid ahead. */
function correctedCycle(
  input: AccountCycle,
  holders: readonly Holder[],
  due: readonly ChargeLine[],
  adjust: Adjuster,
  limits: RunLimits,
): Part {
  const { cycle } = input
  const change = { cycle, due, holders, ...priorLinesFor(input.prior, cycle) }
  return correctedPart(input, change, adjust, limits)
}

/** Due charges and discounts minus those written before. */
function correctedPart(
  input: AccountCycle,
  change: Change,
  adjust: Adjuster,
  limits: RunLimits,
): Part {
  const { cycle, holders, charges, adjustments, otherGrants } = change
  const { aid, settings } = input
  const corrections = {
    aid,
    cycle,
    keepsZero: settings.generateZeroRefunds,
    money: moneyFormat(settings.currencyCode),
    entityOf: (charge: PriorCharge) => entityOf(input, holders, charge),
  }
  const whole = withPriorTaxes(input, change.due, charges)
  const parts = supplyParts(input, whole, charges)
  const due = whole.flatMap((line) => parts.get(line.id) ?? [line])
  const credited = charges.map((charge) => creditedCharge(charge, corrections))
  const subjects = [...due, ...credited]
  const stamps = new Map(charges.map(({ key, stamp }) => [key, stamp]))
  const granted = new Map<string, Grants>()
  for (const line of adjustments) {
    const amount = grantedBy(line)
    if (amount.greaterThan(0)) addGrant(granted, grantKey(line.kind, line.name), amount)
  }
  const adjusted = adjustmentParts(
    parts,
    adjust(whole, limits.corrections({ granted, otherGrants })),
  )
  return {
    charges: correctedCharges(due, charges, corrections),
    adjustments: correctedAdjustments(adjusted, adjustments, {
      ...corrections,
      charges: new Map(subjects.map((line) => [line.id, line])),
    }),
    subjects,
    formerStamps: new Map(
      subjects.flatMap((line) => {
        const stamp = stamps.get(chargeKey(line))
        return stamp === undefined || stamp === '' ? [] : [[line.id, stamp] as const]
      }),
    ),
    taxChanges: taxChangesOf(input, due, adjusted),
  }
}

/** The plan or service of a written charge, for its taxes; its name alone if it is gone. */
function entityOf(
  { aid, catalogue }: AccountCycle,
  holders: readonly Holder[],
  prior: PriorCharge,
): Fields {
  const { key, sid, span } = prior
  const holder = holders.find((one) => one.sid === sid)
  const holding = holder?.holdings.find((one) => chargeKey(one) === key)
  if (holding !== undefined) return offerAt(aid, catalogue, holding, span.endMs - 1).document
  return revisionOf(catalogue, prior) ?? { name: prior.name }
}

function revisionOf(
  { plans, services }: AccountCycle['catalogue'],
  { kind, name, span }: PriorCharge,
) {
  return revisionBefore(kind === 'flat' ? plans : services, name, span.endMs - 1)
}

interface LongerCharges {
  /** Charged for the first time. */
  readonly own: readonly ChargeLine[]
  readonly changed: readonly Change[]
  readonly ahead: readonly ChargeLine[]
  readonly adjust: Adjuster
}

/** Charges of the periods that are longer than a cycle. */
function longerCharges(input: AccountCycle): LongerCharges {
  const { periods, calendar, cycle } = input
  if (periods === undefined) return { own: [], changed: [], ahead: [], adjust: () => [] }
  const holders = holdersOf(periods, calendar.zone)
  const charges = periodCharges(input, holders)
  const prior = new PriorPeriods(periods.prior, cycle)
  const groups = new Map<string, PeriodCharge[]>()
  for (const charge of charges.due) {
    const id = `${chargeKey(charge.line)}/${charge.line.cycle.key}`
    groups.set(id, [...(groups.get(id) ?? []), charge])
  }
  const own: ChargeLine[] = []
  const changed: Change[] = []
  for (const group of groups.values()) {
    const due = group.map(({ line }) => line)
    const [{ cycle: period }] = due as [ChargeLine]
    const former = prior.of(chargeKey(due[0] as ChargeLine), period)
    if (former.charges.length === 0) {
      own.push(...group.filter((one) => isMissed(input, one)).map(({ line }) => line))
    } else changed.push({ cycle: period, due, holders, ...former, otherGrants: null })
  }
  changed.push(...neverHeld(input, holders, charges, prior))
  return { own, changed, ahead: charges.ahead, adjust: adjusterOf(input, holders) }
}

/**
 * Whether a charge that no run has written is charged now: if it is due, or was due with a run that
 * did not know it. What fell due before the first run was charged by another system.
 */
function isMissed(input: AccountCycle, { dueKey, isAdvance }: PeriodCharge): boolean {
  if (dueKey === input.cycle.key) return !isAdvance || reconciles(input)
  return input.periods?.runs.includes(dueKey) === true
}

/** Periods that were charged for a plan or service that was not held in them after all. */
function neverHeld(
  { catalogue, calendar, cycle }: AccountCycle,
  holders: readonly Holder[],
  { holdings }: PeriodCharges,
  prior: PriorPeriods,
): Change[] {
  return prior.all().flatMap(({ charge, key }) => {
    const { sid, serviceId } = charge
    const revision = revisionOf(catalogue, charge)
    // An included service follows the terms of its plan.
    const isIncluded = serviceId !== undefined && catalogue.plans.has(serviceId)
    // Nothing is known of a subscriber without any revision.
    const isKnown = holders.some((one) => one.sid === sid && one.pieces.length > 0)
    if (revision === null || isIncluded || !isKnown || key < cycle.key) return []
    const { months } = termsOf(revision).recurrence
    const period = periodEnding(key, months, calendar)
    const isHeld = holdings.some(
      (one) =>
        chargeKey(one) === charge.key &&
        one.fromMs < period.endMs &&
        one.toDay > dayOf(period.zone, period.startMs),
    )
    if (months === 1 || isHeld || period.startMs > cycle.startMs) return []
    const former = prior.of(charge.key, period)
    return [{ cycle: period, due: [], holders, ...former, otherGrants: null }]
  })
}
