/**
 * Any exchange of prices that fall, refunds, top-ups and changes of plan, by several payers: no
 * money is lost or made, and no report is refused.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Bucket, debtOf, type OwnerState } from '../../src/domain/bucket.ts'
import type { ChargeOutcome } from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { CREDIT, isGroupCounter } from '../../src/domain/counters.ts'
import type { Line } from '../../src/domain/line.ts'
import type { Payment } from '../../src/domain/segment-parts.ts'
import { modelTariff } from '../support/domain/arbitraries.ts'
import { priceOf } from '../support/domain/model-price.ts'
import { bucketOf, ownerOf } from '../support/domain/owners.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import {
  type ExchangeSetUp,
  type ExchangeStep,
  exchangeSetUp,
  exchangeSteps,
} from '../support/rating/falling-exchange.ts'
import { groupOf, serviceOf } from '../support/rating/offers.ts'
import { RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'
import { dataRate, FAR, money } from '../support/rating/refund-scene.ts'

const DAY_MS = 86_400_000
/** Two subscribers of an account, one after the other. */
class Trial extends RatingFixture {
  readonly #drawn: ExchangeSetUp
  readonly #initial: Map<string, Bucket>
  readonly #toppedUp = new Map<string, { credited: number; spent: number }>()
  /** Sessions that were open when the plan changed. */
  readonly #changed = new Set<string>()
  #other = ownerOf([], { sid: 8 })
  #plan: string
  #number = 0

  constructor(drawn: ExchangeSetUp) {
    super(bucketsOf(drawn))
    this.#drawn = drawn
    this.#plan = drawn.plan
    this.#initial = this.#buckets()
    const services = drawn.groups.map(({ total, ...more }, index) => {
      const name = `G${index}`
      return serviceOf(name, { groups: [groupOf(name, total, more)] })
    })
    const plan = { ...FAR, services: services.map(({ name }) => name) }
    this.catalogue = catalogueOf(
      [dataRate(drawn.tariff), rateOf('SMS', 'sms', '3/1', FAR)],
      [planOf('PREPAID', plan), planOf('POSTPAID', { ...plan, connectionType: 'postpaid' })],
      services,
    )
    this.#useProfile()
  }

  step(drawn: ExchangeStep): void {
    const before = unreturned(this.#newest())
    this.#act(drawn)
    this.#checkAmounts()
    this.#checkWorth()
    this.#checkLimits()
    const after = unreturned(this.#newest())
    expect(after.credit).toBeGreaterThanOrEqual(before.credit)
    expect(after.groups).toBeGreaterThanOrEqual(before.groups)
  }

  #act(drawn: ExchangeStep): void {
    const { act } = drawn
    if (act === 'report') this.#report(drawn)
    else if (act === 'release' || act === 'expire') this.#end(this.#idOf(drawn.session), act)
    else if (act === 'event' || act === 'refund') this.#event(drawn)
    else if (act === 'topUp') this.#topUp(drawn)
    else if (act === 'wait') this.nowMs += drawn.days * DAY_MS
    else this.#change(act)
  }

  #change(what: 'plan' | 'other'): void {
    if (what === 'plan') {
      for (const [id, { state }] of this.sessions) if (state === 'open') this.#changed.add(id)
      this.#plan = this.#plan === 'PREPAID' ? 'POSTPAID' : 'PREPAID'
    } else {
      const { subscriber } = this
      this.subscriber = this.#other
      this.#other = subscriber
    }
    this.#useProfile()
  }

  #useProfile(): void {
    const { creditLimit, accountCreditLimit } = this.#drawn
    const { sid } = this.subscriber
    this.profile = profileOf({ ...FAR, sid, plan: this.#plan, creditLimit, accountCreditLimit })
  }

  #idOf(name: string): string {
    return `${name}-${this.subscriber.sid}`
  }

  #report({ session, usaget, used, asked }: Extract<ExchangeStep, { act: 'report' }>): void {
    const sessionId = this.#idOf(session)
    const known = this.sessions.get(sessionId)
    if (known?.state === 'closed') this.nowMs = Math.max(this.nowMs, known.expiresMs)
    const isDropped = known === undefined || this.nowMs >= known.expiresMs
    if (isDropped && known?.state !== 'open') this.#send({ kind: 'start', sessionId, services: [] })
    const before = this.#stateOf(sessionId, usaget)
    const services = [serviceRequest({ usaget, used, requested: asked })]
    const { services: answers } = this.#send({ kind: 'update', sessionId, services })
    if (used > 0) expect(['granted', 'noCredit']).toContain(answers[0]?.reason)
    // Usage within the grant and beyond it is settled one after the other: a fall, then a rise.
    const isOnce = before.reserved === 0 || used <= before.reserved
    if (isOnce) this.#checkReturned(before, this.#stateOf(sessionId, usaget), sessionId)
    this.#checkPrice(sessionId, usaget)
  }

  #end(sessionId: string, how: 'release' | 'expire'): void {
    if (this.sessions.get(sessionId)?.state !== 'open') return
    if (how === 'expire') this.expire(sessionId)
    else this.#send({ kind: 'release', sessionId, services: [] })
  }

  #event({ act, event, usaget, count }: Extract<ExchangeStep, { event: string }>): void {
    const sessionId = event === 'care' ? `care-${this.#number}` : this.#idOf(event)
    const services = [serviceRequest({ usaget, requested: count })]
    this.#send({ kind: 'event', sessionId, refund: act === 'refund', services })
  }

  #topUp({ which, amount }: Extract<ExchangeStep, { act: 'topUp' }>): void {
    const before = this.#buckets()
    this.topUp(which < this.#drawn.money.length ? `M${which}` : 'ALWAYS', amount)
    for (const [key, { credited, spent }] of this.#buckets()) {
      const known = this.#toppedUp.get(key) ?? { credited: 0, spent: 0 }
      const { credited: creditedBefore, spent: spentBefore } = before.get(key) ?? known
      known.credited += credited - (before.has(key) ? creditedBefore : 0)
      known.spent += spent - (before.has(key) ? spentBefore : 0)
      this.#toppedUp.set(key, known)
    }
  }

  /** Sends a request, and again. */
  #send(more: Partial<ChargeRequest>): ChargeOutcome {
    this.#number += 1
    const request = { requestNumber: this.#number, eventTimeMs: this.nowMs, ...more }
    const outcome = this.send(request)
    expect(this.decide(request)).toEqual({ outcome, commit: null })
    return outcome
  }

  #owners(): OwnerState[] {
    return [this.subscriber, this.#other, this.account]
  }

  /** By sid and id. */
  #buckets(): Map<string, Bucket> {
    const all = this.#owners().flatMap(({ sid, buckets }) =>
      buckets.map((bucket) => [`${sid}/${bucket.id}`, bucket] as const),
    )
    return new Map(all)
  }

  #newest(): Line[] {
    return [...new Map(this.lines.map((line) => [line.stamp, line])).values()]
  }

  /** The checks of the commit script; and the lines explain every amount. */
  #checkAmounts(): void {
    const spent = new Map<string, number>()
    const credited = new Map<string, number>()
    const owed = new Map<number, number>()
    for (const {
      session: { sid },
      counts,
    } of this.#newest()) {
      owed.set(sid, (owed.get(sid) ?? 0) + counts.debt - counts.accountDebt)
      owed.set(0, (owed.get(0) ?? 0) + counts.accountDebt)
      for (const { owner, bucketId, kind, amount } of counts.payments) {
        const key = `${owner === 0 ? sid : 0}/${bucketId}`
        const isCredited = kind === 'creditedMoney' || kind === 'creditedUnits'
        const sums = isCredited ? credited : spent
        sums.set(key, (sums.get(key) ?? 0) + (isCredited ? -amount : amount))
      }
    }
    for (const [key, bucket] of this.#buckets()) {
      expect(Math.min(bucket.spent, bucket.reserved)).toBeGreaterThanOrEqual(0)
      if (bucket.limit === 0) expect(bucket.free).toBeGreaterThanOrEqual(0)
      expect(bucket.spent + bucket.reserved + bucket.free).toBe(bucket.credited)
      const topUps = this.#toppedUp.get(key)
      expect(bucket.spent).toBe((spent.get(key) ?? 0) + (topUps?.spent ?? 0))
      const given = (this.#initial.get(key)?.credited ?? 0) + (topUps?.credited ?? 0)
      expect(bucket.credited).toBe(given + (credited.get(key) ?? 0))
    }
    for (const owner of this.#owners()) {
      expect(owner.owed).toBe(owed.get(owner.sid) ?? 0)
      expect(debtOf(owner)).toBeGreaterThanOrEqual(0)
    }
  }

  /** Prepaid money, less debt, falls by what prepaid lines charge; an invoice has the others. */
  #checkWorth(): void {
    const isPrepaidMoney = ({ kind, counter }: Bucket) => kind !== 'units' && counter === ''
    let worth = 0
    for (const [key, bucket] of this.#buckets()) {
      if (!isPrepaidMoney(bucket)) continue
      const given =
        (this.#initial.get(key)?.credited ?? 0) + (this.#toppedUp.get(key)?.credited ?? 0)
      worth += bucket.free + bucket.reserved - given
    }
    for (const owner of this.#owners()) worth -= debtOf(owner)
    const charged = this.#newest().map((line) => {
      const { charged, debt } = line.counts
      if (line.pricing.plan === 'PREPAID') return charged
      return debt + paidBy(line, ({ kind }) => kind === 'creditedMoney')
    })
    expect(0 - worth).toBe(sumOf(charged))
  }

  /** The limit of the account counts what the credit of its subscribers counts. */
  #checkLimits(): void {
    if (this.#drawn.accountCreditLimit === null) return
    const counters = [...this.#buckets()].filter(([, { counter }]) => counter === 'credit')
    for (const [key, { fromMs, spent }] of counters) {
      if (!key.startsWith('0/') || this.nowMs > fromMs + 60 * DAY_MS) continue
      const same = counters.filter(([other, one]) => one.fromMs === fromMs && other !== key)
      expect(spent).toBe(sumOf(same.map(([, one]) => one.spent)))
    }
  }

  #stateOf(sessionId: string, usaget: string) {
    const service = this.sessions
      .get(sessionId)
      ?.services.find((one) => one.identity.usaget === usaget)
    const lines = this.#newest().filter((line) => line.session.sessionId === sessionId)
    return {
      number: service?.segment?.number ?? 0,
      reserved: service?.reservation.units ?? 0,
      ...unreturned(this.#newest()),
      payments: lines.flatMap((line) =>
        line.service.usaget === usaget ? line.counts.payments : [],
      ),
    }
  }

  /** Nothing remains unreturned while a counter that has paid for the service counts anything. */
  #checkReturned(before: Returned, after: Returned, sessionId: string): void {
    if (before.number !== after.number || this.#changed.has(sessionId)) return
    const isEmpty = (ofGroup: boolean) => {
      const paid = after.payments.filter(
        ({ kind, counter }) =>
          kind === 'money' && counter !== '' && isGroupCounter(counter) === ofGroup,
      )
      for (const { owner, bucketId } of paid) {
        const same = paid.filter((one) => one.owner === owner && one.bucketId === bucketId)
        const bucket = this.#buckets().get(`${owner === 0 ? this.subscriber.sid : 0}/${bucketId}`)
        if (sumOf(same.map(({ amount }) => amount)) > 0) expect(bucket?.spent ?? 0).toBe(0)
      }
    }
    if (after.credit > before.credit) isEmpty(false)
    if (after.groups > before.groups) isEmpty(true)
  }

  /** All segments of a service cost what their units cost together. */
  #checkPrice(sessionId: string, usaget: string): void {
    if (usaget !== 'data') return
    const last = this.lines.findLast((line) => line.session.sessionId === sessionId)
    const tag = last?.stamp.replace(/-\d+$/, '')
    if (last?.service.usaget !== 'data') return
    const counts = this.#newest()
      .filter(({ stamp }) => stamp.replace(/-\d+$/, '') === tag)
      .map((line) => line.counts)
    const model = modelTariff(this.#drawn.tariff)
    const price = (units: number, access: boolean) => Number(priceOf(model, BigInt(units), access))
    const charged = sumOf(counts.map((one) => one.charged))
    expect(charged).toBe(price(sumOf(counts.map((one) => one.chargedUnits)), true))
    const included = sumOf(counts.map((one) => one.includedMicros))
    expect(included).toBe(price(sumOf(counts.map((one) => one.includedMoneyUnits)), false))
  }
}

interface Returned {
  number: number
  credit: number
  groups: number
  payments: Payment[]
}

function bucketsOf(drawn: ExchangeSetUp): ConstructorParameters<typeof RatingFixture>[0] {
  const buckets = drawn.money.map(({ slot, amount, priority, days }, index) => {
    const id = index + 2
    const toMs = days === null ? FAR.toMs : START_MS + days * DAY_MS
    return [
      `M${index}`,
      { slot, bucket: money(amount, { id, prepaidIncludeId: id, priority, toMs }) },
    ] as const
  })
  const units = bucketOf({ credited: drawn.units ?? 0, toMs: FAR.toMs, priority: 1 })
  return {
    ...Object.fromEntries(buckets),
    ...(drawn.units === null ? {} : { UNITS: { slot: 0 as const, bucket: units } }),
    // Someone has money for what no payer takes back.
    ALWAYS: { slot: 1, bucket: money(0, { id: 9, prepaidIncludeId: 9 }) },
  }
}

/** Postpaid credit and included money that are counted beyond the prices of the lines. */
function unreturned(lines: readonly Line[]): { credit: number; groups: number } {
  const ofCredit = lines.map((line) => {
    const { charged, debt } = line.counts
    const paid = paidBy(line, ({ kind, counter }) => kind === 'money' && counter === CREDIT)
    if (line.pricing.plan === 'PREPAID') return paid
    return paid + debt + paidBy(line, ({ kind }) => kind === 'creditedMoney') - charged
  })
  const isGroupMoney = ({ kind, counter }: Payment) => kind === 'money' && isGroupCounter(counter)
  const ofGroups = lines.map((line) => paidBy(line, isGroupMoney) - line.counts.includedMicros)
  return { credit: sumOf(ofCredit), groups: sumOf(ofGroups) }
}

function paidBy({ counts: { payments } }: Line, isMeant: (payment: Payment) => boolean): number {
  return sumOf(payments.filter(isMeant).map(({ amount }) => amount))
}

function sumOf(amounts: readonly number[]): number {
  return amounts.reduce((sum, amount) => sum + amount, 0)
}

it('prices that fall, refunds and several payers neither lose money nor make any', () => {
  fc.assert(
    fc.property(exchangeSetUp, exchangeSteps, (drawn, steps) => {
      const trial = new Trial(drawn)
      for (const one of steps) trial.step(one)
    }),
    propertyRuns(400),
  )
})
