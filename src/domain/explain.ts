/**
 * The computation of a line's price, step by step and in enough detail to repeat it by hand.
 * Amounts are exact: decimal texts, or `a/b` where no decimal is exact. Refunded amounts are
 * negative.
 */
import { RETAIL } from './catalogue.ts'
import { CREDIT, parseGroupCounter, UNLIMITED_TOTAL } from './counters.ts'
import type { Counts } from './counts.ts'
import { exactText, type Fraction, integerFraction, product } from './exact.ts'
import type { Line } from './line.ts'
import { MICROS_DIGITS } from './money.ts'
import { START_POSITION } from './price-continuation.ts'
import type { PricingMethod } from './pricing/models.ts'
import type { Sale } from './pricing/tier.ts'
import { type Payment, RECORD_PRICE } from './segment-parts.ts'
import { charge, type ExactPart, exactPrice, type PricePosition, type Tariff } from './tariff.ts'
import { PLAIN_TERMS } from './tariff-terms.ts'

/** The price of units at one rate; the steps that follow it show its computation. */
export interface PriceStep {
  step: 'price'
  /** Tariff category. */
  category: string
  rate: string
  /** `Pricing.priceOf`. */
  source: string
  /** Time band; empty for the plain price. */
  band: string
  method: PricingMethod
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
 * that was paid for at an earlier price. `credited`: the part of a minimum charge, or
 * the fixed price, that was paid before. `earlier`: preceding units of the run, whose cost is
 * subtracted.
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
  const { counts } = line
  const { rateKey: rate, priceOf: source, band, tariff, others } = line.pricing
  const { access, carried } = counts
  const unit: Fraction = { numerator: 1n, denominator: 10n ** BigInt(unitDigits) }
  const retail = { category: RETAIL, rate, source, band }
  const steps: RatingStep[] = [
    ...priceSteps(
      { ...retail, part: 'charge' },
      tariff,
      counts.chargedUnits,
      access,
      unit,
      carried?.priced,
    ),
  ]
  if (counts.includedMoneyUnits !== 0) {
    const what = { ...retail, part: 'included' } as const
    steps.push(
      ...priceSteps(what, tariff, counts.includedMoneyUnits, false, unit, carried?.covered),
    )
  }
  for (const [index, other] of others.entries()) {
    const { category, rateKey, isAdded } = other
    const part = isAdded ? 'charge' : 'shown'
    const what = { category, rate: rateKey, source: 'BASE', band: '', part } as const
    const position = carried?.others[index]
    steps.push(...priceSteps(what, other.tariff, counts.used, access, unit, position))
  }
  for (const payment of counts.payments) steps.push(paymentStep(payment, unit))
  steps.push(...debtSteps(counts))
  return steps
}

/** Unpaid amounts: the debt of the subscriber, then that of the account. */
function debtSteps({ debt, accountDebt }: Counts): PaymentStep[] {
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
  const steps = what.source === RECORD_PRICE ? [] : made.steps
  const { method } = tariff.terms ?? PLAIN_TERMS
  const amount = microsText(made.micros)
  const head: PriceStep = { step: 'price', ...what, method, units: made.lineUnits(units), amount }
  return [head, ...steps]
}

const HALF_EVEN = { mode: 'half-even', step: 1 } as const

class Computation {
  readonly steps: RatingStep[] = []
  micros = 0n
  readonly #tariff: Tariff
  /** Units of this line, and of the whole run; the run is priced as one. */
  readonly #units: number
  readonly #whole: number
  readonly #position: PricePosition
  readonly #unit: Fraction
  /** Number of tier units per base unit. */
  readonly #scale: number

  constructor(tariff: Tariff, units: number, unit: Fraction, position: PricePosition) {
    this.#tariff = tariff
    this.#units = units
    this.#whole = units + position.before
    this.#position = position
    this.#unit = unit
    this.#scale = tariff.terms?.unitScale ?? 1
  }

  /** Units of the line in base units. */
  lineUnits(units: number): number {
    return Number(exactText(product(integerFraction(units), this.#unit)))
  }

  run(access: boolean): void {
    if (this.#units === 0) return
    const isBorne = access || this.#position.access
    const size = Math.abs(this.#whole)
    const price = exactPrice(this.#tariff, size, isBorne, this.#position, (part) => {
      this.steps.push(this.#stepOf(part))
    })
    this.micros = this.#units < 0 ? -price : price
    this.#subtractEarlier(isBorne)
  }

  /** Subtracts the part of the run's price that was paid before. */
  #subtractEarlier(access: boolean): void {
    const { before, credit } = this.#position
    if (credit > 0) {
      const paid = this.micros < BigInt(credit) ? this.micros : BigInt(credit)
      this.micros -= paid
      this.steps.push({ step: 'credited', amount: microsText(-paid) })
    }
    if (before === 0) return
    const cost = charge(this.#tariff, before, access, { ...this.#position, before: 0 })
    this.micros -= BigInt(cost)
    this.steps.push({ step: 'earlier', units: this.lineUnits(before), amount: microsText(-cost) })
  }

  #stepOf(part: ExactPart): RatingStep {
    switch (part.part) {
      case 'tier':
        return this.#tierStep(part.sale, part.amount)
      case 'access':
        return { step: 'access', amount: this.#amount(integerFraction(this.#tariff.access)) }
      case 'percentage': {
        const factor = exactText(part.factor)
        return { step: 'percentage', factor, amount: this.#amount(part.sum) }
      }
      case 'minimum':
        return { step: 'minimum', amount: this.#amount(part.sum) }
      case 'rounding': {
        const { mode, step: to } = this.#tariff.terms?.rounding ?? HALF_EVEN
        const amount = exactText(this.#signed(microsOf(part.micros)))
        return { step: 'rounding', mode, to: microsText(to), amount }
      }
      default:
        return { step: part.part, units: this.#tierUnits(part.units), amount: '0' }
    }
  }

  #tierStep({ tier, units, interval, intervals }: Sale, amount: Fraction): TierStep {
    return {
      step: 'tier',
      tier: tier + 1,
      units: this.#tierUnits(units),
      interval: Number(exactText(this.#baseUnits(interval))),
      intervals: exactText(this.#signed(intervals)),
      price: exactText(this.#money(integerFraction(this.#tariff.tiers[tier]!.price))),
      amount: this.#amount(amount),
    }
  }

  #amount(priced: Fraction): string {
    return exactText(this.#signed(this.#money(priced)))
  }

  /** An amount in the scale of the prices, in the currency. */
  #money(priced: Fraction): Fraction {
    return product(priced, {
      numerator: 1n,
      denominator: 10n ** BigInt(MICROS_DIGITS + this.#tariff.extraDigits),
    })
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

function microsText(micros: number | bigint): string {
  return exactText(microsOf(micros))
}

function microsOf(micros: number | bigint): Fraction {
  return { numerator: BigInt(micros), denominator: 10n ** BigInt(MICROS_DIGITS) }
}
