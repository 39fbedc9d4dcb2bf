/**
 * The model of the rating engine: the rules of prices, included units, funding sources and tax, in
 * exact fractions on the unchanged documents of a case. Slow and plain on purpose, and written from
 * the rules, not from the code under test. It covers the cases of `generate.ts`: no time bands, no
 * matching, no second tariff category, no free numbers, no refunds.
 */
import { fraction } from '../../domain/fraction.ts'
import { instantOf } from './calendar.ts'
import type { QuoteCase, QuoteEvent, QuoteResult, SubscriberDocument } from './case.ts'
import { exact, leastOf, MICROS, product, shown } from './exact.ts'
import type { Usage } from './groups.ts'
import { type Counters, countingCycle, covered, groupsInOrder, isGrouped } from './groups.ts'
import { chosenPrice, type Offer, offerOf, validAt, zoneOf } from './offer.ts'
import {
  bucketsInOrder,
  type ModelBucket,
  modelBuckets,
  type Payment,
  paidByBuckets,
  paidByCredit,
} from './pay.ts'
import { type ModelTariff, priceOf, tariffOf } from './price.ts'
import { stepsPerUnitOf } from './steps.ts'
import { taxed, taxOf } from './tax.ts'

/** A denied event reports only the return code: all amounts are 0. */
export type ModelResult = Pick<QuoteResult, 'returnCode' | 'granted' | 'aprice'> &
  Partial<QuoteResult>

/**
 * One result for each event. An event is a session: it requests `usagev`, uses all granted units,
 * and ends. The clock of a case is the latest event time so far.
 */
export function modelCase(testCase: QuoteCase): ModelResult[] {
  const trial = new Trial(testCase)
  return testCase.events.map((event) => trial.session(event))
}

class Trial {
  readonly #testCase: QuoteCase
  readonly #subscribers: SubscriberDocument[]
  readonly #stepsPerUnit: bigint
  readonly #zone: string
  readonly #buckets: ModelBucket[]
  /** Counters of groups: steps or micros used. */
  readonly #counters: Counters = new Map()
  /** Counters of postpaid credit: micros used in a cycle. */
  readonly #credit: Counters = new Map()
  #nowMs = Number.NEGATIVE_INFINITY

  constructor(testCase: QuoteCase) {
    const subscribers = testCase.subscribers ?? (testCase.subscriber ? [testCase.subscriber] : [])
    this.#testCase = testCase
    this.#subscribers = subscribers.map((one) => ({ ...one, sid: one.sid ?? 1 }))
    this.#zone = zoneOf(testCase)
    this.#stepsPerUnit = stepsPerUnitOf(testCase)
    this.#buckets = modelBuckets(testCase, this.#zone, this.#stepsPerUnit)
  }

  session(event: QuoteEvent): ModelResult {
    const testCase = this.#testCase
    const zone = this.#zone
    const stepsPerUnit = this.#stepsPerUnit
    const atMs = instantOf(event.urt, zone)
    this.#nowMs = Math.max(this.#nowMs, atMs)
    const subscriber = this.#subscribers.find(({ sid }) => (event.sid ?? sid) === sid)
    const offer = subscriber === undefined ? null : offerOf(testCase, subscriber, atMs)
    if (subscriber === undefined || offer === null) return denied(-2)
    if (!this.#isActive(subscriber, atMs)) return denied(-11)
    const rate = validAt(testCase.catalogue.rates, atMs, zone).find(({ key }) => key === event.rate)
    const price = rate === undefined ? null : chosenPrice(offer, rate, event.usaget)
    if (rate === undefined || price === null) return denied(-3)
    const tax = taxOf(testCase, rate, atMs)
    if (tax === 'missing') return denied(-5)
    const tariff = tariffOf(rate, price.base, price.override, stepsPerUnit)
    const cycle = countingCycle(atMs, this.#nowMs, zone, testCase.config?.cycle_day ?? 1)
    const { usaget } = event
    const usage = {
      testCase,
      subscriber,
      offer,
      rateKey: rate.key,
      usaget,
      atMs,
      cycle,
      stepsPerUnit,
    }
    const amounts = this.#charge(usage, tariff, event)
    if (amounts === null) return denied(-1)
    const { granted, inGroup, chargedMicros } = amounts
    const rest = this.#units(granted - inGroup)
    const isOver = isGrouped(usage)
    return {
      returnCode: 1,
      granted: this.#units(granted),
      in_group: this.#units(inGroup),
      over_group: isOver ? rest : 0,
      out_group: isOver ? 0 : rest,
      arate_key: rate.key,
      ...taxed(chargedMicros, tax, rate),
    }
  }

  /** Null if none of it, or of an `event_request` not all, can be paid; then nothing moves. */
  #charge(usage: Usage, tariff: ModelTariff, { usagev, record_type }: QuoteEvent) {
    const { over, under } = product(exact(usagev), fraction(this.#stepsPerUnit))
    const asked = over / under
    const coverage = covered(groupsInOrder(usage, this.#counters), tariff, asked)
    const payment = this.#pay(usage, tariff, asked - coverage.covered)
    const granted = coverage.covered + payment.steps
    const least = record_type === 'event_request' ? asked : leastOf(asked, 1n)
    if (granted < least) return null
    const chargedMicros = priceOf(tariff, payment.priced, true)
    for (const { counter, amount } of coverage.taken) count(this.#counters, counter, amount)
    for (const { bucket, amount } of payment.taken) bucket.free -= amount
    if (isPostpaid(usage.offer)) {
      for (const { counter } of this.#limits(usage)) count(this.#credit, counter, chargedMicros)
    }
    return { granted, inGroup: coverage.covered, chargedMicros }
  }

  #pay(usage: Usage, tariff: ModelTariff, asked: bigint): Payment {
    const { offer, rateKey, usaget, atMs } = usage
    if (isPostpaid(offer)) {
      const limits = this.#limits(usage).map(({ left }) => left)
      return paidByCredit(limits, tariff, asked)
    }
    const sid = usage.subscriber.sid!
    const purchase = { sid, plan: offer.plan.name, rateKey, usaget, atMs }
    return paidByBuckets(bucketsInOrder(this.#buckets, purchase), tariff, asked)
  }

  /** The subscriber's credit and, if that has a limit, the account's. */
  #limits({ subscriber, cycle }: Usage): { counter: string; left: bigint | null }[] {
    const limits = [
      { owner: `sid ${subscriber.sid}`, limit: subscriber.credit_limit },
      { owner: 'account', limit: this.#testCase.account?.credit_limit },
    ]
    return limits.map(({ owner, limit }) => {
      const counter = `${owner} ${cycle.fromMs}`
      if (limit === undefined) return { counter, left: null }
      const { over, under } = product(exact(limit), fraction(MICROS))
      return { counter, left: over / under - (this.#credit.get(counter) ?? 0n) }
    })
  }

  #isActive({ activation_date, deactivation_date }: SubscriberDocument, atMs: number) {
    const zone = this.#zone
    if (activation_date !== undefined && instantOf(activation_date, zone) > atMs) return false
    return deactivation_date === undefined || atMs < instantOf(deactivation_date, zone)
  }

  #units(steps: bigint): number {
    return shown(fraction(steps, this.#stepsPerUnit))
  }
}

function isPostpaid({ plan }: Offer): boolean {
  return plan.connection_type === 'postpaid'
}

function count(counters: Counters, counter: string, amount: bigint): void {
  counters.set(counter, (counters.get(counter) ?? 0n) + amount)
}

function denied(returnCode: number): ModelResult {
  return { returnCode, granted: 0, aprice: 0 }
}
