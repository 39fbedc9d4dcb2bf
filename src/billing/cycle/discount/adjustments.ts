/**
 * Discounts and conditional charges on the charges of an account. Whole days count: a discount for
 * a whole cycle is granted in full, for a part of it by days / days of the cycle. Pure; throws
 * `FieldError` for an invalid definition of a subscriber or account.
 */
import type {
  AdjustmentKind,
  AdjustmentTerms,
  SubjectValue,
} from '../../../catalog/compile/discount.ts'
import type { LineExplanation } from '../../../catalog/records/money/cycle-line.ts'
import { Exact } from '../../../catalog/records/money/exact-amount.ts'
import { least, ZERO } from '../../amount.ts'
import type { MoneyFormat } from '../../currency.ts'
import { dateText, dayAfter, dayOf } from '../days.ts'
import {
  type AdjustmentLine,
  type ChargeLine,
  type CycleSpan,
  LINE_DIGITS,
  type Span,
} from '../lines.ts'
import { adjustmentAmount, type PartAmount, type TakenPart } from './amount.ts'
import {
  countOf,
  type DaySet,
  daysOf,
  difference,
  intersection,
  NO_DAYS,
  spanOf,
  union,
} from './days.ts'
import { type Definition, definedEligibility, definitionsOf } from './definitions.ts'
import { type DiscountHolders, type Eligibility, NOT_ELIGIBLE, without } from './eligibility.ts'
import type { Limits } from './limits.ts'

export interface AdjustmentInput extends DiscountHolders {
  readonly aid: number
  /** Definitions in force in the cycles of the lines. */
  readonly discounts: readonly AdjustmentTerms[]
  readonly charges: readonly AdjustmentTerms[]
  /** In the order in which limits are used up. */
  readonly lines: readonly ChargeLine[]
  /** The cycle of charges that apply to no single line. */
  readonly cycle: CycleSpan
  /** Limits that the run has left. */
  readonly limits: Limits
  readonly money: MoneyFormat
}

export function adjustmentsOf(input: AdjustmentInput): AdjustmentLine[] {
  const run = new AdjustmentRun(input)
  return [...run.discounts(), ...run.charges()]
}

/** A value that applies to a charge on some days. */
interface Candidate {
  readonly subject: SubjectValue
  readonly days: DaySet
  /** For services of an account: the eligible subscriber, 0 for the account. */
  readonly causeSid?: number
  /** Such as `plan.GOLD` or `monthly_fees`. */
  readonly name: string
}

/** One calculation: the charges become smaller with each discount. */
class AdjustmentRun {
  readonly #input: AdjustmentInput
  readonly #taken = new Map<string, TakenPart[]>()
  readonly #used = new Map<string, DaySet>()

  constructor(input: AdjustmentInput) {
    this.#input = input
  }

  discounts(): AdjustmentLine[] {
    return this.#onCharges('discount', this.#input.discounts)
  }

  charges(): AdjustmentLine[] {
    const { charges } = this.#input
    const onCharges = charges.filter((terms) => !isGeneral(terms))
    return [
      ...this.#onCharges('conditional_charge', onCharges),
      ...this.#generalLines(charges.filter(isGeneral)),
    ]
  }

  #onCharges(kind: AdjustmentKind, terms: readonly AdjustmentTerms[]): AdjustmentLine[] {
    const cycles = uniqueCycles(this.#input.lines.map(({ cycle }) => cycle))
    return cycles.flatMap((cycle) => this.#cycleLines(kind, terms, cycle))
  }

  #cycleLines(
    kind: AdjustmentKind,
    terms: readonly AdjustmentTerms[],
    cycle: CycleSpan,
  ): AdjustmentLine[] {
    const charges = this.#input.lines.filter(
      (line) =>
        cycleId(line.cycle) === cycleId(cycle) &&
        line.op === 'charge' &&
        line.amount.greaterThan(0),
    )
    const definitions = definitionsOf(kind, terms, this.#input, cycle).filter(
      ({ terms: one }) => one.excludes.size > 0 || concerns(one, charges),
    )
    const eligibilities = this.#eligibilities(definitions, cycle)
    return definitions.flatMap((definition, index) =>
      charges.flatMap((line) =>
        this.#linesOf(definition, line, eligibilities[index] ?? NOT_ELIGIBLE),
      ),
    )
  }

  /** In the order of the definitions, reduced by exclusions. */
  #eligibilities(definitions: readonly Definition[], cycle: CycleSpan): Eligibility[] {
    const all = definitions.map((one) => definedEligibility(one, this.#input, cycle))
    for (const [index, { terms }] of definitions.entries()) {
      if (terms.excludes.size === 0) continue
      const excluding = all[index] ?? NOT_ELIGIBLE
      for (const [position, other] of definitions.entries()) {
        const isExcluded = terms.excludes.has(other.terms.key) && position !== index
        if (isExcluded) all[position] = without(all[position] ?? NOT_ELIGIBLE, excluding, cycle)
      }
    }
    return all
  }

  #linesOf(definition: Definition, line: ChargeLine, eligibility: Eligibility): AdjustmentLine[] {
    const found: AdjustmentLine[] = []
    const candidates = candidatesOf(definition.terms, line, eligibility)
    for (const candidate of candidates) {
      for (const window of this.#windows(definition, line, candidate)) {
        const adjustment = this.#adjustment(definition, line, candidate, window)
        if (adjustment !== null) found.push(adjustment)
      }
    }
    return found
  }

  /** Periods in which the definition applies to the charge and has not done so already. */
  #windows(
    { key, terms }: Definition,
    line: ChargeLine,
    { days, causeSid }: Candidate,
  ): readonly DaySet[] {
    const id = `${terms.kind}/${key}/${line.id}/${causeSid ?? ''}`
    const lineDays = daysOf(line.span, line.cycle)
    const { isStart, isEnd } = prorationOf(terms, line)
    const windows: DaySet[] = []
    const eligible = intersection(days, lineDays)
    for (const range of eligible) {
      const used = this.#used.get(id) ?? NO_DAYS
      const from = isStart ? range.from : 0
      const to = isEnd ? range.to : line.cycle.days
      const window = difference([{ from, to }], used)
      if (intersection(window, [range]).length === 0) continue
      windows.push(window)
      this.#used.set(id, union(used, window))
    }
    return windows
  }

  /** Null if there is nothing to grant, or no more of it. */
  #adjustment(
    definition: Definition,
    line: ChargeLine,
    candidate: Candidate,
    window: DaySet,
  ): AdjustmentLine | null {
    const { terms, key } = definition
    const { limits, money } = this.#input
    const allowed = limits.left(terms, key)
    if (allowed.lines === 0) return null
    const taken = this.#taken.get(line.id) ?? []
    const granted = adjustmentAmount(terms, candidate.subject, line, window, taken)
    const uncapped = toLineDigits(granted.amount)
    const isDiscount = terms.kind === 'discount'
    const left = isDiscount ? leftOf(line, taken) : null
    const capped = cappedAmount(uncapped, allowed.money, left)
    if (!capped.greaterThan(0)) return null
    limits.use(terms, key, capped)
    if (isDiscount) this.#taken.set(line.id, [...taken, { days: window, amount: capped }])
    const cause = candidate.causeSid
    const first = window[0]?.from ?? 0
    const id = [terms.kind, key, line.id, ...(cause === undefined ? [] : [cause]), first].join('/')
    return {
      ...this.#common(definition, id, isDiscount ? capped.negated() : capped),
      sid: line.sid,
      eligibleLine: line.id,
      ...(cause !== undefined && { causeSid: cause }),
      span: spanOf(window, line.cycle),
      cycle: line.cycle,
      isUpfront: line.isUpfront,
      ...(isReduced(uncapped, capped) && {
        uncappedAmount: isDiscount ? uncapped.negated() : uncapped,
      }),
      explain: explanationOf(definition, line, candidate, window, granted, {
        uncapped,
        capped,
        money,
      }),
    }
  }

  #common({ terms, key }: Definition, id: string, amount: Exact) {
    const { kind, description, type, document } = terms
    const { aid } = this.#input
    return { id, aid, kind, key, description, type, amount, entity: document }
  }

  #generalLines(terms: readonly AdjustmentTerms[]): AdjustmentLine[] {
    const { cycle } = this.#input
    const definitions = definitionsOf('conditional_charge', terms, this.#input, cycle)
    return definitions.flatMap((definition) => {
      const { account, subscribers } = definedEligibility(definition, this.#input, cycle)
      const eligible: readonly (readonly [number, DaySet])[] =
        account.length > 0 ? [[0, account]] : [...subscribers]
      return eligible.flatMap(([sid, days]) => this.#generalLine(definition, sid, days) ?? [])
    })
  }

  /** A charge that applies to no single line. */
  #generalLine(definition: Definition, sid: number, days: DaySet): AdjustmentLine | null {
    const { cycle, limits } = this.#input
    const { terms, key } = definition
    const value = terms.subjects.general?.value ?? ZERO
    const allowed = limits.left(terms, key)
    const capped = cappedAmount(toLineDigits(value), allowed.money, null)
    if (allowed.lines === 0 || !capped.greaterThan(0)) return null
    limits.use(terms, key, capped)
    const span = spanOf(days, cycle)
    const notes = [`subject general: ${this.#input.money(value)}`]
    return {
      ...this.#common(definition, `${terms.kind}/${key}/${sid}/${cycle.key}`, capped),
      sid,
      eligibleLine: null,
      span,
      cycle,
      isUpfront: false,
      ...(isReduced(value, capped) && { uncappedAmount: value }),
      explain: { rule: 'amount', entity: entityOf(definition), ...datesOf(span, cycle), notes },
    }
  }
}

/** A charge that applies to no single line. */
function isGeneral({ kind, type, subjects }: AdjustmentTerms): boolean {
  return kind === 'conditional_charge' && type === 'monetary' && subjects.general !== null
}

function concerns({ subjects }: AdjustmentTerms, lines: readonly ChargeLine[]): boolean {
  const { plans, services, customerServices, matchedPlans, matchedServices, monthlyFees } = subjects
  if (matchedPlans !== null || matchedServices !== null || monthlyFees !== null) return true
  return lines.some(({ kind, sid, name }) => {
    if (kind === 'flat') return plans.has(name)
    return (sid === 0 ? customerServices : services).has(name)
  })
}

function uniqueCycles(cycles: readonly CycleSpan[]): readonly CycleSpan[] {
  return [...new Map(cycles.map((cycle) => [cycleId(cycle), cycle])).values()]
}

/** The period of an offer that is charged less often ends with a cycle, and has its key. */
function cycleId({ startMs, endMs }: CycleSpan): string {
  return `${startMs}-${endMs}`
}

/** The highest value comes first. */
function candidatesOf(
  { subjects }: AdjustmentTerms,
  line: ChargeLine,
  eligibility: Eligibility,
): Candidate[] {
  const { sid, kind, name } = line
  const own = eligibility.subscribers.get(sid) ?? NO_DAYS
  if (sid === 0) return accountCandidates(subjects.customerServices.get(name), name, eligibility)
  const isPlan = kind === 'flat'
  const subjectName = isPlan ? 'plan' : 'service'
  const found: Candidate[] = []
  const add = (subject: SubjectValue | null | undefined, days: DaySet, what: string) => {
    if (subject && days.length > 0) found.push({ subject, days, name: what })
  }
  const named = isPlan ? subjects.plans : subjects.services
  add(named.get(name), own, `${subjectName}.${name}`)
  const matched = (isPlan ? eligibility.plans : eligibility.services).get(sid)?.get(name)
  const matchedValue = isPlan ? subjects.matchedPlans : subjects.matchedServices
  add(matchedValue, matched ?? NO_DAYS, `matched_${subjectName}s`)
  add(subjects.monthlyFees, own, 'monthly_fees')
  return found.toSorted((a, b) => b.subject.value.comparedTo(a.subject.value))
}

/** Once for the account itself, and once for each eligible subscriber. */
function accountCandidates(
  subject: SubjectValue | undefined,
  name: string,
  { account, subscribers }: Eligibility,
): Candidate[] {
  if (subject === undefined) return []
  const causes: [number, DaySet][] = [[0, account], ...subscribers]
  return causes
    .filter(([, { length }]) => length > 0)
    .map(([causeSid, days]) => ({ subject, days, causeSid, name: `customer_service.${name}` }))
}

function prorationOf(terms: AdjustmentTerms, line: ChargeLine) {
  switch (terms.proration) {
    case 'no':
      return { isStart: false, isEnd: false }
    case 'yes':
      return { isStart: terms.isProratedStart, isEnd: terms.isProratedEnd }
    default:
      return { isStart: line.isProratedStart, isEnd: line.isProratedEnd }
  }
}

/** Amounts have that many decimals; the difference that rounding makes is below. */
const NEGLIGIBLE = new Exact(10).pow(1 - LINE_DIGITS)

function toLineDigits(amount: Exact): Exact {
  return amount.toDecimalPlaces(LINE_DIGITS, Exact.ROUND_HALF_UP)
}

function leftOf(line: ChargeLine, taken: readonly TakenPart[]): Exact {
  return taken.reduce((left, { amount }) => left.minus(amount), new Exact(line.amount))
}

/** At most what is left of the limit, and of the charge; exactly that if it differs by rounding. */
function cappedAmount(uncapped: Exact, limit: Exact, left: Exact | null): Exact {
  const ofLimit = least(uncapped, limit)
  if (left === null) return ofLimit
  const isRest = left.minus(ofLimit).abs().lessThanOrEqualTo(NEGLIGIBLE)
  return isRest ? left : least(ofLimit, left)
}

function isReduced(uncapped: Exact, capped: Exact): boolean {
  return uncapped.minus(capped).greaterThan(NEGLIGIBLE)
}

function datesOf({ startMs, endMs }: Span, { zone }: CycleSpan) {
  return { from: dateText(dayOf(zone, startMs)), to: dateText(dayAfter(zone, endMs)) }
}

function entityOf({ terms }: Definition): LineExplanation['entity'] {
  const { kind, key, document } = terms
  const { _id: id } = document
  const named = { kind: kind === 'discount' ? 'discount' : 'charge', key }
  return id === undefined ? named : { ...named, revision: String(id) }
}

function explanationOf(
  definition: Definition,
  line: ChargeLine,
  { subject, name, causeSid }: Candidate,
  window: DaySet,
  { part }: PartAmount,
  { uncapped, capped, money }: { uncapped: Exact; capped: Exact; money: MoneyFormat },
): LineExplanation {
  const { terms, sid, forced } = definition
  const isPercentage = terms.type === 'percentage'
  const ofWhat = terms.percentageOn === 'aprice' ? 'the charge' : 'the price of a cycle'
  const notes = [
    `subject ${name}: ${isPercentage ? subject.value : money(subject.value)}`,
    ...(isPercentage && subject.isSequential ? ['of what earlier discounts have left'] : []),
    ...subject.quantities.map((quantity) => `for every ${quantity} units of ${line.quantity}`),
    ...(sid === undefined ? [] : [`definition of subscriber ${sid}`]),
    ...(forced.has(line.sid) ? ['assigned to the subscriber'] : []),
    ...(causeSid ? [`for subscriber ${causeSid}`] : []),
    ...(countOf(window) < line.cycle.days ? [`${countOf(window)} days`] : []),
    ...(isReduced(uncapped, capped)
      ? [`${money(uncapped)} is reduced to what is left: ${money(capped)}`]
      : []),
  ]
  return {
    rule: isPercentage ? `fraction of ${ofWhat}` : 'amount',
    entity: entityOf(definition),
    ...datesOf(spanOf(window, line.cycle), line.cycle),
    ...(part !== null && { factor: `${part.days}/${part.of}` }),
    fullPrice: line.fullPrice.toString(),
    notes,
  }
}
