/**
 * The computation of a line's price, step by step and in enough detail to repeat it by hand.
 * Amounts are exact: decimal texts, or `a/b` where no decimal is exact. Refunded amounts are
 * negative.
 */
import { RETAIL } from './catalogue.ts'
import { CREDIT, parseGroupCounter, UNLIMITED_TOTAL } from './counters.ts'
import { exactText, type Fraction, integerFraction, plus, product } from './exact.ts'
import type { Line } from './line.ts'
import { MICROS_DIGITS } from './money.ts'
import { START_POSITION } from './price-continuation.ts'
import type { Payment } from './segment-parts.ts'
import { charge, type PricePosition, type Tariff, type Tier, UNLIMITED } from './tariff.ts'

/** The price of units at one rate; the steps that follow it show its computation. */
export interface PriceStep {
  step: 'price'
  /** Tariff category. */
  category: string
  rate: string
  /** `BASE`, `plan NAME`, `service NAME` or `rate NAME`. */
  source: string
  /** Time band; empty for the plain price. */
  band: string
  method: 'tiered' | 'volume'
  units: number
  amount: string
  /** Whether it is part of the charge, paid by included money, or only informational. */
  part: 'charge' | 'included' | 'shown'
}

/** `amount` = `intervals` × `price`. Tiers count from 1. */
export interface TierStep {
  step: 'tier'
  tier: number
  units: number
  interval: number
  intervals: string
  price: string
  amount: string
}

/**
 * A change of the sum of the tiers, in this order; `amount` is added. `begun`: units in an interval
 * that was paid for at an earlier price. `credited`: the part of a minimum charge that was paid
 * before. `earlier`: preceding units of the run, whose cost is subtracted.
 */
export type ChangeStep =
  | { step: 'begun'; units: number; amount: string }
  | { step: 'beyond'; units: number; amount: string }
  | { step: 'access'; amount: string }
  | { step: 'percentage'; factor: string; amount: string }
  | { step: 'minimum'; amount: string }
  | { step: 'rounding'; mode: RoundingMode; to: string; amount: string }
  | { step: 'credited'; amount: string }
  | { step: 'earlier'; units: number; amount: string }

export type RoundingMode = 'half-even' | 'up' | 'down' | 'nearest'

/** Payment of one source, in `units` or `money`. */
export interface PaymentStep {
  /** `limit`: counted against the account limit in addition to the payment. */
  step: 'group' | 'bucket' | 'credit' | 'limit' | 'debt'
  owner?: 'subscriber' | 'account'
  bucket?: number
  /** `external_id` of the prepaid include. */
  include?: number
  /** For a group: its name, and its plan or service. */
  group?: string
  holder?: string
  units?: number
  money?: string
  /** For a group: its remaining amount and its total. */
  left?: string
  total?: string
}

export type RatingStep = PriceStep | TierStep | ChangeStep | PaymentStep

/** `unitDigits`: units of the line are 10^-unitDigits base units. */
export function explain(line: Line, unitDigits = 0): RatingStep[] {
  const { rateKey: rate, priceOf: source, band, tariff, access, carried } = line
  const unit: Fraction = { numerator: 1n, denominator: 10n ** BigInt(unitDigits) }
  const retail = { category: RETAIL, rate, source, band }
  const steps: RatingStep[] = [
    ...priceSteps(
      { ...retail, part: 'charge' },
      tariff,
      line.chargedUnits,
      access,
      unit,
      carried?.priced,
    ),
  ]
  if (line.includedMoneyUnits !== 0) {
    const what = { ...retail, part: 'included' } as const
    steps.push(...priceSteps(what, tariff, line.includedMoneyUnits, false, unit, carried?.covered))
  }
  for (const [index, other] of line.others.entries()) {
    const { category, rateKey, isAdded } = other
    const part = isAdded ? 'charge' : 'shown'
    const what = { category, rate: rateKey, source: 'BASE', band: '', part } as const
    const position = carried?.others[index]
    steps.push(...priceSteps(what, other.tariff, line.used, access, unit, position))
  }
  for (const payment of line.payments) steps.push(paymentStep(payment, unit))
  steps.push(...debtSteps(line))
  return steps
}

/** Unpaid amounts: the debt of the subscriber, then that of the account. */
function debtSteps({ debt, accountDebt }: Line): PaymentStep[] {
  const own = debt - accountDebt
  const steps: PaymentStep[] = own === 0 ? [] : [{ step: 'debt', money: microsText(own) }]
  if (accountDebt === 0) return steps
  return [...steps, { step: 'debt', owner: 'account', money: microsText(accountDebt) }]
}

type PriceOf = Pick<PriceStep, 'category' | 'rate' | 'source' | 'band' | 'part'>

function priceSteps(
  what: PriceOf,
  tariff: Tariff,
  units: number,
  access: boolean,
  unit: Fraction,
  position: PricePosition = START_POSITION,
): RatingStep[] {
  const made = new Computation(tariff, units, unit, position)
  made.run(access)
  const method = tariff.terms?.method ?? 'tiered'
  const amount = exactText(made.sum)
  const head: PriceStep = { step: 'price', ...what, method, units: made.lineUnits(units), amount }
  return [head, ...made.steps]
}

class Computation {
  readonly steps: RatingStep[] = []
  /** Sum in the currency, exact until it is rounded. */
  sum: Fraction = integerFraction(0)
  readonly #tariff: Tariff
  /** Units of this line, and of the whole run; the run is priced as one. */
  readonly #units: number
  readonly #whole: number
  readonly #position: PricePosition
  readonly #unit: Fraction
  /** The unit of prices, in the currency. */
  readonly #money: Fraction
  /** Number of tier units per base unit. */
  readonly #scale: number

  constructor(tariff: Tariff, units: number, unit: Fraction, position: PricePosition) {
    this.#tariff = tariff
    this.#units = units
    this.#whole = units + position.before
    this.#position = position
    this.#unit = unit
    this.#money = { numerator: 1n, denominator: 10n ** BigInt(MICROS_DIGITS + tariff.extraDigits) }
    this.#scale = tariff.terms?.unitScale ?? 1
  }

  /** Units of the line in base units. */
  lineUnits(units: number): number {
    return Number(exactText(product(integerFraction(units), this.#unit)))
  }

  run(access: boolean): void {
    if (this.#units === 0) return
    this.#addTiers()
    const { access: accessPrice, terms } = this.#tariff
    const isBorne = access || this.#position.access
    if (isBorne && accessPrice > 0) {
      const amount = this.#signed(this.#moneyOf(accessPrice))
      this.sum = plus(this.sum, amount)
      this.steps.push({ step: 'access', amount: exactText(amount) })
    }
    if (terms !== null) this.#applyPercentage(terms.factor, terms.factorDigits)
    if (isBorne && terms !== null) this.#applyMinimum(this.#moneyOf(terms.minimum))
    this.#round()
    this.#subtractEarlier(isBorne)
  }

  /** Subtracts the part of the run's price that was paid before. */
  #subtractEarlier(access: boolean): void {
    const { before, credit } = this.#position
    if (credit > 0) {
      const paid = microsOf(-credit)
      const isAll =
        this.sum.numerator * paid.denominator + paid.numerator * this.sum.denominator <= 0n
      const amount = isAll
        ? { numerator: -this.sum.numerator, denominator: this.sum.denominator }
        : paid
      this.sum = plus(this.sum, amount)
      this.steps.push({ step: 'credited', amount: exactText(amount) })
    }
    if (before === 0) return
    const cost = charge(this.#tariff, before, access, { ...this.#position, before: 0 })
    this.sum = plus(this.sum, microsOf(-cost))
    this.steps.push({ step: 'earlier', units: this.lineUnits(before), amount: microsText(-cost) })
  }

  #addTiers(): void {
    const { tiers, terms } = this.#tariff
    const { at, ahead } = this.#position
    const end = BigInt(Math.abs(this.#whole) + at) * BigInt(this.#scale)
    const all = BigInt(Math.abs(this.#whole)) * BigInt(this.#scale)
    const begun = all < BigInt(ahead) ? all : BigInt(ahead)
    let left = all - begun
    if (begun > 0n) this.steps.push({ step: 'begun', units: this.#tierUnits(begun), amount: '0' })
    if (left === 0n) return
    if (terms?.method === 'volume') {
      const index = tierOfVolume(tiers, end)
      if (index >= 0) this.#addTier(index, left)
      return
    }
    let skipped = end - left
    for (const [index, { units }] of tiers.entries()) {
      const room = units === UNLIMITED ? left : BigInt(units) - skipped
      skipped = units === UNLIMITED || room > 0n ? 0n : skipped - BigInt(units)
      const taken = left < room ? left : room
      if (taken <= 0n) continue
      this.#addTier(index, taken)
      left -= taken
    }
    if (left > 0n) {
      this.steps.push({ step: 'beyond', units: this.#tierUnits(left), amount: '0' })
    }
  }

  #addTier(index: number, taken: bigint): void {
    const { interval, price, ceil } = this.#tariff.tiers[index]!
    const size = BigInt(interval)
    const exact: Fraction = { numerator: taken, denominator: size }
    const begun = ceil ? integerFraction((taken + size - 1n) / size) : exact
    const intervals = this.#signed(begun)
    const amount = product(intervals, this.#moneyOf(price))
    this.sum = plus(this.sum, amount)
    this.steps.push({
      step: 'tier',
      tier: index + 1,
      units: this.#tierUnits(taken),
      interval: Number(exactText(this.#baseUnits(size))),
      intervals: exactText(intervals),
      price: exactText(this.#moneyOf(price)),
      amount: exactText(amount),
    })
  }

  #applyPercentage(factor: number, digits: number): void {
    const part: Fraction = { numerator: BigInt(factor), denominator: 10n ** BigInt(digits) }
    if (part.numerator === part.denominator) return
    this.sum = product(this.sum, part)
    const amount = exactText(this.sum)
    this.steps.push({ step: 'percentage', factor: exactText(part), amount })
  }

  #applyMinimum(minimum: Fraction): void {
    const { numerator, denominator } = this.#signed(this.sum)
    if (numerator * minimum.denominator >= minimum.numerator * denominator) return
    this.sum = this.#signed(minimum)
    this.steps.push({ step: 'minimum', amount: exactText(this.sum) })
  }

  #round(): void {
    const rounding = this.#tariff.terms?.rounding ?? null
    const to: Fraction = {
      numerator: BigInt(rounding?.step ?? 1),
      denominator: 10n ** BigInt(MICROS_DIGITS),
    }
    const { numerator, denominator } = this.#signed(this.sum)
    const mode = rounding?.mode ?? 'half-even'
    const steps = rounded(numerator * to.denominator, denominator * to.numerator, mode)
    const sum = this.#signed(product(integerFraction(steps), to))
    const isExact = sum.numerator * this.sum.denominator === this.sum.numerator * sum.denominator
    this.sum = sum
    if (isExact) return
    this.steps.push({ step: 'rounding', mode, to: exactText(to), amount: exactText(sum) })
  }

  #moneyOf(price: number): Fraction {
    return product(integerFraction(price), this.#money)
  }

  #baseUnits(tierUnits: bigint): Fraction {
    return product({ numerator: tierUnits, denominator: BigInt(this.#scale) }, this.#unit)
  }

  #tierUnits(taken: bigint): number {
    return Number(exactText(this.#signed(this.#baseUnits(taken))))
  }

  #signed(amount: Fraction): Fraction {
    return this.#units < 0
      ? { numerator: -amount.numerator, denominator: amount.denominator }
      : amount
  }
}

/** -1 if there are no tiers. */
function tierOfVolume(tiers: readonly Tier[], volume: bigint): number {
  let end = 0n
  const found = tiers.findIndex(({ units }) => {
    end += BigInt(units)
    return volume <= end
  })
  return found < 0 ? tiers.length - 1 : found
}

function rounded(numerator: bigint, denominator: bigint, mode: RoundingMode): bigint {
  const below = numerator / denominator
  const rest = numerator % denominator
  if (mode === 'down' || rest === 0n) return below
  if (mode === 'up') return below + 1n
  const isHalf = rest * 2n === denominator
  if (isHalf && mode === 'half-even') return below + (below % 2n)
  return rest * 2n >= denominator ? below + 1n : below
}

function paymentStep(payment: Payment, unit: Fraction): PaymentStep {
  const { owner, bucketId: bucket, prepaidIncludeId: include, kind, amount } = payment
  const isUnits = kind === 'units' || kind === 'creditedUnits'
  const text = (count: number) =>
    isUnits ? exactText(product(integerFraction(count), unit)) : microsText(count)
  const paid = isUnits ? { units: Number(text(amount)) } : { money: text(amount) }
  const from = { owner: owner === 0 ? 'subscriber' : 'account', bucket } as const
  const group = parseGroupCounter(payment.counter)
  if (group !== null) {
    const [left, total] = [payment.left, payment.total].map((count) =>
      payment.total >= UNLIMITED_TOTAL ? 'UNLIMITED' : text(count),
    ) as [string, string]
    const { name, holder } = group
    return { step: 'group', group: name, holder, ...from, ...paid, left, total }
  }
  if (kind === 'limit') return { step: 'limit', ...from, ...paid }
  if (payment.counter === CREDIT) return { step: 'credit', ...from, ...paid }
  return { step: 'bucket', ...from, include, ...paid }
}

function microsText(micros: number): string {
  return exactText(microsOf(micros))
}

function microsOf(micros: number): Fraction {
  return { numerator: BigInt(micros), denominator: 10n ** BigInt(MICROS_DIGITS) }
}
