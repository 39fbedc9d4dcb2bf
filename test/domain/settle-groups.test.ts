/**
 * Groups, credit with limits and prices with terms: after any series of requests the reports add
 * up, no grant exceeds a limit, and any split into reports costs what the total costs.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assertConserved,
  type Bucket,
  bucketOrder,
  copyOwner,
  type FundingSource,
  type OwnerSlot,
  type OwnerState,
  paysFor,
} from '../../src/domain/bucket.ts'
import type { Settlement } from '../../src/domain/charge-program.ts'
import { openCounters, UNLIMITED_TOTAL } from '../../src/domain/counters.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { emptyService, startedService } from '../../src/domain/segment.ts'
import type { CategoryPrice, Payment } from '../../src/domain/segment-parts.ts'
import type { Segment, ServiceSession } from '../../src/domain/session.ts'
import { settle } from '../../src/domain/settle.ts'
import { charge, type Tariff } from '../../src/domain/tariff.ts'
import { PLAIN_TERMS } from '../../src/domain/tariff-terms.ts'
import { modelTariff, SMALL, tariffOf, tariffWithTerms } from '../support/domain/arbitraries.ts'
import { frozen } from '../support/domain/frozen.ts'
import { priceOf } from '../support/domain/model-price.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { startOf } from '../support/domain/programs.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'

interface Drawn {
  tariff: Tariff
  wholesale: Tariff | null
  groups: { kind: 'units' | 'totalCost'; owner: 0 | 1; total: number }[]
  /** Null if prepaid, with these buckets. */
  credit: { own: number; account: number | null } | null
  units: number
  money: number
  steps: { service: 0 | 1; usedEighths: number; over: number; asked: number }[]
}

const drawn: fc.Arbitrary<Drawn> = fc.record({
  tariff: fc.oneof(tariffOf(SMALL), tariffWithTerms(SMALL)),
  wholesale: fc.option(tariffOf(SMALL), { freq: 1 }),
  groups: fc.array(
    fc.record({
      kind: fc.constantFrom('units' as const, 'totalCost' as const),
      owner: fc.constantFrom(0 as const, 1 as const),
      total: fc.nat({ max: 60 }),
    }),
    { maxLength: 3 },
  ),
  credit: fc.option(
    fc.record({
      own: fc.oneof(fc.nat({ max: 400 }), fc.constant(UNLIMITED_TOTAL)),
      account: fc.option(fc.nat({ max: 300 })),
    }),
  ),
  units: fc.nat({ max: 40 }),
  money: fc.nat({ max: 300 }),
  steps: fc.array(
    fc.record({
      service: fc.constantFrom(0 as const, 1 as const),
      usedEighths: fc.integer({ min: 0, max: 8 }),
      over: fc.oneof(fc.constant(0), fc.nat({ max: 12 })),
      asked: fc.nat({ max: 60 }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
})

const PLAIN = tariffFrom('1/1')
const PERIOD = { fromMs: 0, toMs: 1000 }

class Trial {
  subscriber: OwnerState
  account: OwnerState
  readonly services: ServiceSession[] = [0, 1].map((group) =>
    emptyService(serviceIdentity({ ratingGroup: group, usaget: 'data' })),
  )
  readonly used = [0, 0]
  readonly ended: Segment[] = []
  /** By slot and id of the counter. */
  readonly #refunds = new Map<string, number>()
  readonly #drawn: Drawn
  readonly #payers: FundingSource[]
  #hasOverUse = false

  constructor(scenario: Drawn) {
    this.#drawn = scenario
    const { groups, credit, units, money } = scenario
    const own = [bucketOf({ credited: units, priority: 2 }), moneyOf(money, { id: 2 })]
    const counters = groups.map(({ kind, owner, total }, index) => ({
      owner,
      counter: `group/PLAN/0/G${index}`,
      kind,
      ...PERIOD,
      total,
    }))
    const credits = credit === null ? [] : creditsOf(credit)
    const opened = openCounters(
      { subscriber: ownerOf(own), account: ownerOf([], { sid: 0 }) },
      [...counters, ...credits],
      0,
    )
    this.subscriber = opened.owners.subscriber
    this.account = opened.owners.account!
    this.#payers = counters.map(({ owner }, index) => ({
      owner,
      id: opened.ids[index]!,
      isGroup: true,
      limitCounter: null,
    }))
    const [ownId, accountId] = opened.ids.slice(counters.length)
    if (ownId === undefined) return
    const limitCounter = accountId === undefined ? null : ({ owner: 1, id: accountId } as const)
    this.#payers.push({ owner: 0, id: ownId, isGroup: false, limitCounter: limitCounter })
  }

  step(index: 0 | 1, used: number, asked: number, end: 'none' | 'closed', key = 'a'): Settlement {
    const { tariff, wholesale, credit } = this.#drawn
    const others: CategoryPrice[] =
      wholesale === null
        ? []
        : [{ category: 'wholesale', rateKey: 'W', tariff: wholesale, isAdded: true }]
    const funding = { fundingSources: this.#payers, isPrepaid: credit === null, hasGroups: true }
    const next = startOf(tariff, { key, others, ...funding })
    const { subscriber, account } = this
    const order = credit === null ? bucketOrder(subscriber, account, paysFor('data'), 0) : []
    const service = this.services[index]!
    this.#hasOverUse ||= used > service.reservation.units
    const settled = settle(frozen({ subscriber, account, service }), {
      used,
      requested: asked,
      exact: false,
      next,
      atMs: 0,
      end,
      order,
      nextOrder: order,
    })
    this.subscriber = settled.subscriber
    this.account = settled.account!
    this.services[index] = settled.service
    this.used[index] = this.used[index]! + used
    for (const { segment, state } of settled.changes) if (state !== 'open') this.ended.push(segment)
    this.#check()
    return settled
  }

  /** Lowers every counter, as refunds without an event do. */
  lowerCounters(amount: number): void {
    this.subscriber = this.#lowered(this.subscriber, 0, amount)
    this.account = this.#lowered(this.account, 1, amount)
  }

  #lowered(owner: OwnerState, slot: OwnerSlot, amount: number): OwnerState {
    const lowered = copyOwner(owner)
    for (const bucket of lowered.buckets) {
      const part = bucket.counter === '' ? 0 : Math.min(amount, bucket.spent)
      bucket.spent -= part
      bucket.free += part
      const key = `${slot}/${bucket.id}`
      this.#refunds.set(key, (this.#refunds.get(key) ?? 0) + part)
    }
    return lowered
  }

  /** Every bucket has spent what the lines and the refunds say. */
  checkSums(): void {
    const open = this.services.flatMap(({ segment }) => (segment === null ? [] : [segment]))
    const payments = [...this.ended, ...open].flatMap(({ counts }) => counts.payments)
    for (const [slot, { buckets }] of [this.subscriber, this.account].entries()) {
      for (const { id, spent } of buckets) {
        const own = payments.filter(({ owner, bucketId }) => owner === slot && bucketId === id)
        const paid = own.reduce((sum, { amount }) => sum + amount, 0)
        expect(paid - (this.#refunds.get(`${slot}/${id}`) ?? 0)).toBe(spent)
      }
    }
  }

  /** Conservation at every step; no group is overdrawn, and without over-use no credit is. */
  #check(): void {
    assertConserved(this.subscriber)
    assertConserved(this.account)
    for (const bucket of [...this.subscriber.buckets, ...this.account.buckets]) {
      const held = bucket.spent + bucket.reserved
      const isCredit = bucket.counter === 'credit'
      if (bucket.counter === '') expect(bucket.free).toBeGreaterThanOrEqual(0)
      else if (!isCredit || !this.#hasOverUse) expect(held).toBeLessThanOrEqual(totalOf(bucket))
    }
  }
}

function totalOf({ limit }: Bucket): number {
  return Math.max(0, limit)
}

function creditsOf({ own, account }: NonNullable<Drawn['credit']>) {
  const credit = { counter: 'credit', kind: 'totalCost' as const, ...PERIOD }
  const first = { ...credit, owner: 0 as const, total: own }
  return account === null ? [first] : [first, { ...credit, owner: 1 as const, total: account }]
}

/** Assertions on every finished line, whatever came before it. */
function checkLine(segment: Segment, { tariff, wholesale }: Drawn): void {
  const {
    counts: { used, includedUnits, includedMoneyUnits, chargedUnits, access, payments },
  } = segment
  const price = (of: Tariff, units: number, withAccess: boolean) =>
    Number(priceOf(modelTariff(of), BigInt(units), withAccess))
  const paid = (kind: Payment['kind'], isGroup: boolean) =>
    payments
      .filter((one) => one.kind === kind && one.counter.startsWith('group/') === isGroup)
      .reduce((sum, { amount }) => sum + amount, 0)
  const added = wholesale === null ? 0 : price(wholesale, used, access)
  expect(segment.counts.charged).toBe(price(tariff, chargedUnits, access) + added)
  expect(segment.counts.includedMicros).toBe(price(tariff, includedMoneyUnits, false))
  expect(paid('money', false) + segment.counts.debt).toBe(segment.counts.charged)
  expect(paid('money', true)).toBe(segment.counts.includedMicros)
  expect(paid('units', true)).toBe(includedUnits)
  expect(paid('units', false) + includedUnits + includedMoneyUnits + chargedUnits).toBe(used)
  const counted = payments.filter(({ kind }) => kind === 'limit')
  if (counted.length > 0) expect(paid('limit', false)).toBe(paid('money', false))
}

describe('groups, limits and prices with terms', () => {
  it('add up, respect every limit, and leave nothing reserved in the end', () => {
    fc.assert(
      fc.property(drawn, (scenario) => {
        const trial = new Trial(scenario)
        for (const { service, usedEighths, over, asked } of scenario.steps) {
          const granted = trial.services[service]!.reservation.units
          trial.step(service, Math.floor((granted * usedEighths) / 8) + over, asked, 'none')
        }
        for (const index of [0, 1] as const) trial.step(index, 0, 0, 'closed')
        for (const bucket of [...trial.subscriber.buckets, ...trial.account.buckets]) {
          expect(bucket.reserved).toBe(0)
        }
        const reported = trial.ended.reduce((sum, { counts: { used } }) => sum + used, 0)
        expect(reported).toBe(trial.used[0]! + trial.used[1]!)
        for (const segment of trial.ended) checkLine(segment, scenario)
      }),
      propertyRuns(1500),
    )
  })

  it('never lower a counter below 0, although refunds without an event have reduced it', () => {
    const step = fc.record({
      service: fc.constantFrom(0 as const, 1 as const),
      used: fc.nat({ max: 40 }),
      lowered: fc.oneof(fc.constant(0), fc.nat({ max: 300 })),
      key: fc.constantFrom('a', 'a', 'b'),
    })
    const refunded = fc.tuple(drawn, fc.array(step, { minLength: 2, maxLength: 8 }))
    fc.assert(
      fc.property(refunded, ([scenario, steps]) => {
        const terms = { ...PLAIN_TERMS, method: 'volume' as const }
        const trial = new Trial({ ...scenario, tariff: { ...scenario.tariff, terms } })
        for (const { service, used, lowered, key } of steps) {
          trial.step(service, used, used, 'none', key)
          trial.lowerCounters(lowered)
          trial.checkSums()
        }
      }),
      propertyRuns(1500),
    )
  })

  it('cost the same however the usage is split into reports', () => {
    const split = fc.tuple(drawn, fc.array(fc.nat({ max: 25 }), { minLength: 1, maxLength: 6 }))
    fc.assert(
      fc.property(split, ([scenario, parts]) => {
        const plenty: Drawn = { ...scenario, credit: { own: UNLIMITED_TOTAL, account: null } }
        const total = parts.reduce((sum, part) => sum + part, 0)
        const inParts = new Trial(plenty)
        for (const part of parts) {
          inParts.step(0, 0, part, 'none')
          inParts.step(0, part, 0, 'none')
        }
        inParts.step(0, 0, 0, 'closed')
        const atOnce = new Trial(plenty)
        atOnce.step(0, 0, total, 'none')
        atOnce.step(0, total, 0, 'closed')
        const summaryOf = ({ ended }: Trial) =>
          ended.map(
            ({
              counts: {
                used,
                includedUnits,
                includedMoneyUnits,
                chargedUnits,
                charged,
                includedMicros,
              },
            }) => ({
              used,
              includedUnits,
              includedMoneyUnits,
              chargedUnits,
              charged,
              includedMicros,
            }),
          )
        // Money of a group buys whole intervals: an interval begun by one report is continued by
        // another.
        expect(summaryOf(inParts)).toEqual(summaryOf(atOnce))
        for (const {
          counts: { chargedUnits, charged },
        } of plenty.wholesale === null ? atOnce.ended : []) {
          expect(charged).toBe(charge(plenty.tariff, chargedUnits, true))
        }
      }),
      propertyRuns(1500),
    )
  })
})

it('over-use of an old cycle is charged, although the limit of its account is gone', () => {
  const credit = moneyOf(0, { limit: 100, counter: 'credit' })
  const limitCounter = { owner: 1, id: 9 } as const
  const payers: FundingSource[] = [{ owner: 0, id: 1, isGroup: false, limitCounter: limitCounter }]
  const next = startOf(PLAIN, { isPrepaid: false, fundingSources: payers })
  const service = startedService(
    emptyService(serviceIdentity({ ratingGroup: 0, usaget: 'data' })),
    next,
    0,
  )
  const program = { used: 30, requested: 0, exact: false, order: [], nextOrder: [], next: null }
  const account = ownerOf([], { sid: 0 })
  const settled = settle(
    { subscriber: ownerOf([credit]), account, service },
    { ...program, atMs: 1, end: 'closed' },
  )
  expect(settled.subscriber.buckets[0]).toMatchObject({ spent: 30, free: -30 })
})
