/**
 * A refund without an earlier event: credits the current price of such usage. Reduces the usage of
 * groups that have counted any, then credits a bucket of units or money.
 */
import {
  type Bucket,
  type BucketRef,
  copyOwner,
  debtOf,
  type FundingSource,
  type OwnerSlot,
  type OwnerState,
} from '../domain/bucket.ts'
import type { SubscriberProfile } from '../domain/catalogue.ts'
import type { Reason } from '../domain/charge-outcome.ts'
import { MONEY_USAGE, type ServiceRequest } from '../domain/charge-request.ts'
import type { CounterOwners } from '../domain/counters.ts'
import { newCounts } from '../domain/counts.ts'
import { addCredit, BalanceRangeError } from '../domain/credit.ts'
import { ownerAt } from '../domain/debt.ts'
import { serviceIdentity } from '../domain/identity.ts'
import { emptyService, priceOf, startedService } from '../domain/segment.ts'
import { type Payment, plainPricing } from '../domain/segment-parts.ts'
import type { Segment, SegmentStart } from '../domain/session.ts'
import { affordable, charge, isFree, PriceRangeError } from '../domain/tariff.ts'
import { activeProductsAt } from './active-products.ts'
import { begunBy, type ChargeContext } from './decision.ts'
import { openFundingSources } from './funding-sources.ts'
import { buildProgram, rateService } from './program.ts'
import type { RatedService } from './rated-service-cache.ts'
import { moneyStart } from './refund-parts.ts'
import type { Usage } from './usage-fields.ts'

export interface Credited {
  owners: CounterOwners
  /** The refunded usage; its line is recorded with reversed signs. */
  segment: Segment
  /** The price of all units, including those paid by groups or buckets of units. */
  micros: number
}

/** `microsMax`: the remaining limit of the request. Returns a reason if it is denied. */
export function creditRefund(
  owners: CounterOwners,
  serviceRequest: ServiceRequest,
  usage: Omit<Usage, 'service'>,
  context: ChargeContext,
  profile: SubscriberProfile,
  microsMax: number,
): Credited | Reason {
  const { requested: units, usaget } = serviceRequest
  const { refundMicrosMax, refundUnitsMax } = context.settings
  const isMoney = usaget === MONEY_USAGE
  if (units <= 0) return 'nothingToRefund'
  const isTooMany = !isMoney && units > refundUnitsMax
  if (isTooMany || refundMicrosMax === 0) return 'refundLimit'
  // A barred subscriber may not use services, but is still refunded.
  const served = { ...profile, barred: false }
  const rated = rateService(context, served, { ...usage, service: serviceRequest })
  const terms = isMoney ? moneyTerms(rated, usage, context, served) : rated
  if (typeof terms === 'string') return terms
  const micros = priceOfAll(terms.start, units)
  if (micros > microsMax) return 'refundLimit'
  const opened = openFundingSources(owners, terms, served)
  const { atMs } = usage
  const begunMs = begunBy(atMs, context)
  const usageAt = { usaget, used: 0, requested: units, atMs, begunMs }
  const request = { ...usageAt, end: 'none', exact: true } as const
  const { catalogue } = context
  const { nextOrder } = buildProgram(catalogue, opened.owners, null, opened.start, request)
  const work = new CreditWork(opened.owners, opened.start, serviceRequest, atMs)
  try {
    if (!work.run(units, nextOrder)) return micros > 0 ? 'noCredit' : 'nothingToRefund'
  } catch (error) {
    if (!(error instanceof BalanceRangeError)) throw error
    return 'refundLimit'
  }
  return { owners: work.owners, segment: work.segment, micros }
}

/** Infinity if the price is out of range. */
function priceOfAll({ pricing, fundingSources, isPrepaid }: SegmentStart, units: number): number {
  const counts = newCounts(0, false, true, null)
  try {
    return priceOf({ pricing, fundingSources, isPrepaid, counts }, units, units)
  } catch (error) {
    if (error instanceof PriceRangeError) return Number.POSITIVE_INFINITY
    throw error
  }
}

/** An amount of money is credited unchanged; the rate only determines its taxes. */
function moneyTerms(
  rated: RatedService | Reason,
  { atMs, nowMs }: Omit<Usage, 'service'>,
  context: ChargeContext,
  profile: SubscriberProfile,
): RatedService | Reason {
  if (typeof rated !== 'string') {
    const { start, funding, untilMs } = rated
    return { start: moneyStart(start), funding: { ...funding, groups: [] }, untilMs }
  }
  const products = activeProductsAt(context.catalogue, profile, atMs, context.calendar)
  if (products === null) return 'unknownSubscriber'
  const { cycle, oldestMs } = context.cycleAt(atMs, nowMs)
  const isPrepaid = products.plan.connectionType === 'prepaid'
  const start = {
    key: '',
    pricing: plainPricing({
      rateKey: '',
      plan: products.plan.name,
      cycle: cycle.key,
      tariff: FREE,
    }),
    hasGroups: false,
    fundingSources: [],
    isPrepaid,
    endMs: cycle.toMs,
  }
  const credit = isPrepaid ? null : cycle
  return {
    start: moneyStart(start),
    funding: { groups: [], credit, oldestMs },
    untilMs: cycle.toMs,
  }
}

const FREE = { tiers: [], access: 0, extraDigits: 0, terms: null }

class CreditWork {
  owners: CounterOwners
  readonly segment: Segment

  constructor(
    owners: CounterOwners,
    start: SegmentStart,
    serviceRequest: ServiceRequest,
    atMs: number,
  ) {
    const { subscriber, account } = owners
    this.owners = {
      subscriber: copyOwner(subscriber),
      account: account === null ? null : copyOwner(account),
    }
    const service = emptyService(serviceIdentity(serviceRequest))
    this.segment = startedService(service, start, atMs).segment as Segment
  }

  /** Returns false if no bucket can be credited. Throws `BalanceRangeError`. */
  run(units: number, order: readonly FundingSource[]): boolean {
    const { segment } = this
    const { counts } = segment
    counts.used = units
    let left = units
    for (const source of segment.fundingSources) {
      if (source.isGroup) left -= this.#uncount(source, left)
    }
    if (left > 0 && segment.isPrepaid && !this.#creditPrepaid(left, order)) return false
    // For a postpaid subscriber the line is a credit on the invoice, even if the counter is lower.
    if (left > 0 && !segment.isPrepaid) this.#creditPostpaid(left)
    return counts.payments.length > 0 || counts.charged > 0
  }

  /** Reduces the counted usage of a group. Returns the number of units. */
  #uncount(source: FundingSource, left: number): number {
    const bucket = this.#bucketOf(source)
    if (bucket === undefined || bucket.spent === 0) return 0
    const { pricing, counts } = this.segment
    if (bucket.kind === 'units') {
      const units = Math.min(left, bucket.spent)
      counts.includedUnits += units
      this.#giveBack(source, bucket, units, 'units')
      return units
    }
    const { tariff } = pricing
    const { includedMoneyUnits, includedMicros } = counts
    if (isFree(tariff)) return 0
    const units = affordable(tariff, false, includedMoneyUnits, includedMicros, bucket.spent, left)
    counts.includedMoneyUnits += units
    counts.includedMicros = charge(tariff, counts.includedMoneyUnits, false)
    this.#giveBack(source, bucket, counts.includedMicros - includedMicros, 'money')
    return units
  }

  #creditPostpaid(units: number): void {
    const { segment } = this
    const micros = this.#priced(units)
    const credit = segment.fundingSources.find(({ isGroup }) => !isGroup)
    if (credit === undefined) return
    const { limitCounter } = credit
    let left = micros
    for (const [ref, kind] of [[credit, 'money'] as const, [limitCounter, 'limit'] as const]) {
      const bucket = ref === null ? undefined : this.#bucketOf(ref)
      if (ref === null || bucket === undefined) continue
      left = Math.min(left, bucket.spent)
      this.#giveBack(ref, bucket, left, kind)
    }
  }

  /**
   * Credits the bucket that pays last: buckets of units before money, those of the subscriber
   * before those of the account. Money pays the subscriber's debt first.
   */
  #creditPrepaid(units: number, order: readonly FundingSource[]): boolean {
    const ofUnits = this.#last(order, true)
    if (ofUnits !== undefined) this.#credit(ofUnits, units, 'creditedUnits')
    const micros = this.#priced(ofUnits === undefined ? units : 0)
    const ofMoney = this.#last(order, false)
    let left = micros - this.#repay(0, micros)
    // Like a top-up, money of the account repays the debt of the account.
    if (ofMoney?.owner === 1) left -= this.#repay(1, left)
    if (left === 0) return true
    if (ofMoney === undefined) return false
    this.#credit(ofMoney, left, 'creditedMoney')
    return true
  }

  /** Reduces the debt of an owner. Returns the amount. */
  #repay(slot: OwnerSlot, micros: number): number {
    const { counts } = this.segment
    const owner = ownerAt(this.owners, slot)
    if (owner === null) return 0
    const paid = Math.min(micros, debtOf(owner))
    owner.owed -= paid
    counts.debt += paid
    if (slot === 1) counts.accountDebt += paid
    return paid
  }

  #priced(units: number): number {
    const { segment } = this
    const { counts } = segment
    counts.chargedUnits = units
    counts.charged = priceOf(segment, units, counts.used)
    return counts.charged
  }

  #last(order: readonly FundingSource[], isUnits: boolean): FundingSource | undefined {
    const fitting = order.filter((source) => (this.#bucketOf(source)?.kind === 'units') === isUnits)
    return fitting.findLast(({ owner }) => owner === 0) ?? fitting.at(-1)
  }

  #giveBack(ref: BucketRef, bucket: Bucket, amount: number, kind: Payment['kind']): void {
    if (amount === 0) return
    bucket.spent -= amount
    bucket.free += amount
    this.#note(ref, bucket, amount, kind)
  }

  #credit(ref: BucketRef, amount: number, kind: Payment['kind']): void {
    const owner = this.#ownerOf(ref)
    const bucket = this.#bucketOf(ref)
    if (owner === null || bucket === undefined || amount === 0) return
    addCredit(owner, bucket, amount, 0)
    this.#note(ref, bucket, amount, kind)
  }

  #note(ref: BucketRef, bucket: Bucket, amount: number, kind: Payment['kind']): void {
    const isCounter = bucket.counter !== ''
    this.segment.counts.payments.push({
      owner: ref.owner,
      bucketId: bucket.id,
      prepaidIncludeId: bucket.prepaidIncludeId,
      kind,
      amount,
      counter: bucket.counter,
      left: isCounter ? Math.max(0, bucket.limit - bucket.spent) : 0,
      total: isCounter ? Math.max(0, bucket.limit) : 0,
    })
  }

  #ownerOf({ owner }: BucketRef): OwnerState | null {
    return owner === 0 ? this.owners.subscriber : this.owners.account
  }

  #bucketOf(ref: BucketRef): Bucket | undefined {
    return this.#ownerOf(ref)?.buckets.find(({ id }) => id === ref.id)
  }
}
