import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assertConserved,
  type Bucket,
  bucketOrder,
  emptyOwner,
  endedOrder,
  type OwnerState,
  paysFor,
} from '../../src/domain/bucket.ts'
import type { PrepaidInclude } from '../../src/domain/catalogue.ts'
import { credit } from '../../src/domain/credit.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { emptyService } from '../../src/domain/segment.ts'
import type { Segment, ServiceSession } from '../../src/domain/session.ts'
import { settle } from '../../src/domain/settle.ts'
import type { Tariff } from '../../src/domain/tariff.ts'
import { modelTariff, SMALL, tariffOf } from '../support/domain/arbitraries.ts'
import { frozen } from '../support/domain/frozen.ts'
import {
  ModelAccount,
  type ModelBucket,
  type ModelSegment,
  type ModelService,
  modelService,
} from '../support/domain/model.ts'
import { priceOf } from '../support/domain/model-price.ts'
import { startOf } from '../support/domain/programs.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'

const SERVICES = ['data', 'data', 'call'] as const

interface DrawnBucket {
  slot: 0 | 1
  kind: ModelBucket['kind']
  usaget: string
  priority: number
  from: number
  days: number
  amount: number
  limit: number
}

interface DrawnStep {
  service: number
  later: number
  /** Part of the grant that is used, in eighths: beyond 8 is over-use. */
  usedEighths: number
  overUse: number
  asked: number
  exact: boolean
  rate: number
  end: 'none' | 'closed'
  topUp: { bucket: number; amount: number } | null
}

interface DrawnLate {
  service: number
  later: number
  used: number
  rate: number
}

const bucketArbitrary: fc.Arbitrary<DrawnBucket> = fc.record({
  slot: fc.constantFrom(0, 0, 1),
  kind: fc.constantFrom('units', 'units', 'cost', 'totalCost', 'totalCost'),
  usaget: fc.constantFrom('data', 'data', 'call'),
  priority: fc.integer({ min: 0, max: 2 }),
  from: fc.constantFrom(0, 0, 0, 20),
  days: fc.constantFrom(10, 40, 200, 200),
  amount: fc.integer({ min: 0, max: 60 }),
  limit: fc.constantFrom(0, 0, 0, 7, 25),
})

const stepArbitrary: fc.Arbitrary<DrawnStep> = fc.record({
  service: fc.nat({ max: SERVICES.length - 1 }),
  later: fc.integer({ min: 0, max: 12 }),
  usedEighths: fc.constantFrom(0, 3, 5, 8, 8),
  overUse: fc.constantFrom(0, 0, 0, 1, 9, 30),
  asked: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 })),
  exact: fc.constantFrom(false, false, false, true),
  rate: fc.constantFrom(0, 0, 0, 1, 2),
  end: fc.constantFrom('none', 'none', 'none', 'closed'),
  topUp: fc.option(
    fc.record({ bucket: fc.nat({ max: 5 }), amount: fc.integer({ min: 1, max: 80 }) }),
    { freq: 6 },
  ),
})

/** Usage reported after the services have expired. */
const lateArbitrary: fc.Arbitrary<DrawnLate> = fc.record({
  service: fc.nat({ max: SERVICES.length - 1 }),
  later: fc.integer({ min: 0, max: 12 }),
  used: fc.integer({ min: 1, max: 40 }),
  rate: fc.constantFrom(0, 1, 2),
})

const series = fc.record({
  buckets: fc.array(bucketArbitrary, { maxLength: 6 }),
  tariffs: fc.tuple(tariffOf(SMALL), tariffOf(SMALL), tariffOf(SMALL)),
  steps: fc.array(stepArbitrary, { minLength: 1, maxLength: 14 }),
  late: fc.array(lateArbitrary, { maxLength: 5 }),
})

interface Series {
  buckets: DrawnBucket[]
  tariffs: Tariff[]
  steps: DrawnStep[]
  late: DrawnLate[]
}

/** Applies the same steps to the product and to the model. */
class Trial {
  #owners: { subscriber: OwnerState; account: OwnerState }
  readonly #services: ServiceSession[] = SERVICES.map((usaget, index) =>
    emptyService(serviceIdentity({ ratingGroup: index, usaget })),
  )
  readonly #model: ModelAccount
  readonly #modelServices: ModelService[] = SERVICES.map((usaget) => modelService(usaget))
  readonly #tariffs: readonly Tariff[]
  #now = 0

  constructor({ buckets, tariffs }: Series) {
    this.#tariffs = tariffs
    const modelBuckets: ModelBucket[] = []
    for (const [index, drawn] of buckets.entries()) {
      const id = modelBuckets.filter(({ slot }) => slot === drawn.slot).length + 1
      modelBuckets.push(modelBucket(drawn, id, index))
    }
    this.#model = new ModelAccount(modelBuckets)
    this.#owners = { subscriber: owner(modelBuckets, 0), account: owner(modelBuckets, 1) }
  }

  step(drawn: DrawnStep): void {
    this.#now += drawn.later
    if (drawn.topUp !== null) this.#topUp(drawn.topUp)
    const service = this.#services[drawn.service]!
    const granted = service.reservation.units
    const used = Math.floor((granted * drawn.usedEighths) / 8) + drawn.overUse
    // A service that ends requests no units, like a release.
    const asked = drawn.end === 'none' ? drawn.asked : 0
    this.#settle(drawn.service, { ...drawn, used, asked })
  }

  close(end: 'closed' | 'expired'): void {
    const silent = { used: 0, asked: 0, exact: false, rate: 0 }
    for (const index of SERVICES.keys()) this.#settle(index, { ...silent, end })
    const { subscriber, account } = this.#owners
    for (const bucket of [...subscriber.buckets, ...account.buckets]) {
      expect(bucket.reserved).toBe(0)
    }
  }

  /** Continues the segment of the service at its price, or begins a new segment. */
  late({ service: index, later, used, rate }: DrawnLate): void {
    this.#now += later
    const kept = this.#services[index]!.segment?.key
    const known = [0, 1, 2].find((candidate) => `rate ${candidate}` === kept)
    const step = { used, asked: 0, exact: false, end: 'expired' as const }
    this.#settle(index, { ...step, rate: known ?? rate }, known !== undefined)
  }

  #settle(index: number, step: SettleStep, isKept = false): void {
    const { used, asked, exact, end } = step
    const usaget = SERVICES[index]!
    const tariff = this.#tariffs[step.rate]!
    const before = this.#services[index]!
    const key = `rate ${step.rate}`
    const order = bucketOrder(
      this.#owners.subscriber,
      this.#owners.account,
      paysFor(usaget),
      this.#now,
    )
    const expectedOrder = this.#model.order(usaget, this.#now)
    expect(order.map(({ owner, id }) => ({ owner, id }))).toEqual(
      expectedOrder.map(({ slot, id }) => ({ owner: slot, id })),
    )
    const next = startOf(tariff, { key, rateKey: key })
    const atMs = this.#now
    const settled = settle(frozen({ ...this.#owners, service: before }), {
      used,
      requested: asked,
      exact,
      order,
      nextOrder: order,
      atMs,
      end,
      ended: endedOrder(this.#owners.subscriber, this.#owners.account, paysFor(usaget), atMs),
      next: isKept ? null : next,
    })
    const modelled = this.#modelServices[index]!
    const modelStep = { used, asked, exact, key, tariff: modelTariff(tariff), at: atMs, end }
    const answer = this.#model.settle(modelled, modelStep)
    expect({
      granted: settled.granted,
      finalUnit: settled.finalUnit,
      endsAt: settled.bucketsEndMs,
      lines: settled.changes.map(({ segment, state }) => {
        checkLine(segment)
        return { number: segment.number, version: segment.version, state }
      }),
    }).toEqual(answer)
    this.#owners = { subscriber: settled.subscriber, account: settled.account! }
    this.#services[index] = settled.service
    checkService(settled.service, modelled)
    this.#checkOwners()
    if (asked > settled.granted && !exact) this.#checkMaximal(settled.service, usaget)
  }

  /** After a grant cut short no units are left, and all money together cannot buy one more unit. */
  #checkMaximal({ segment, reservation }: ServiceSession, usaget: string): void {
    const { pricing, counts } = segment!
    const { access, chargedUnits } = counts
    const held = reservation.slices
      .filter(({ bucket }) => bucket === null)
      .reduce((sum, { units }) => sum + units, 0)
    const price = (units: number) => priceOf(modelTariff(pricing.tariff), BigInt(units), access)
    let pool = 0n
    for (const { kind, free, limit } of this.#model.order(usaget, this.#now)) {
      const available = free + limit > 0n ? free + limit : 0n
      if (kind === 'units') expect(available).toBe(0n)
      else pool += available
    }
    expect(price(chargedUnits + held + 1) - price(chargedUnits + held) > pool).toBe(true)
  }

  #topUp({ bucket: index, amount }: { bucket: number; amount: number }): void {
    const known = this.#model.buckets.find(({ include }) => include === index)
    if (known === undefined) return
    const { slot, kind, usaget, priority } = known
    const toMs = this.#now + 60
    const fresh = { ...known, limit: 0n, credited: 0n, spent: 0n, reserved: 0n, free: 0n }
    this.#model.topUp({ ...fresh, from: this.#now, to: toMs }, BigInt(amount), this.#now)
    const include = { externalId: index, kind, usaget, priority } as PrepaidInclude
    const name = slot === 0 ? 'subscriber' : 'account'
    const operation = { include, amount, fromMs: this.#now, toMs, mode: 'inc' as const }
    this.#owners = {
      ...this.#owners,
      [name]: credit(this.#owners[name], operation, this.#now).owner,
    }
    this.#checkOwners()
  }

  #checkOwners(): void {
    const { subscriber, account } = this.#owners
    for (const [slot, state] of [subscriber, account].entries()) {
      assertConserved(state)
      const expected = this.#model.buckets.filter((bucket) => bucket.slot === slot)
      expect(state.buckets.map(amounts)).toEqual(expected.map(amounts))
      for (const { limit, free } of state.buckets) if (limit === 0) expect(free >= 0).toBe(true)
    }
    const { owed, repaid } = this.#model
    expect([subscriber.owed, account.owed]).toEqual(owed.map(Number))
    expect([subscriber.repaid, account.repaid]).toEqual(repaid.map(Number))
  }
}

interface SettleStep {
  used: number
  asked: number
  exact: boolean
  rate: number
  end: 'none' | 'closed' | 'expired'
}

/** Assertions on every line, whatever came before it. */
function checkLine({ pricing, counts }: Segment): void {
  const { chargedUnits, access, payments } = counts
  const price = Number(priceOf(modelTariff(pricing.tariff), BigInt(chargedUnits), access))
  expect(counts.charged).toBe(price)
  const paid = (kind: 'units' | 'money') =>
    payments.reduce((sum, payment) => sum + (payment.kind === kind ? payment.amount : 0), 0)
  expect(paid('money') + counts.debt).toBe(counts.charged)
  expect(paid('units') + chargedUnits).toBe(counts.used)
}

function checkService(service: ServiceSession, modelled: ModelService): void {
  expect(service.reservation.units).toBe(modelled.units.length)
  expect(service.accessCharged).toBe(modelled.accessCharged)
  expect(service.segment === null ? null : totals(service.segment)).toEqual(
    modelled.segment === null ? null : modelTotals(modelled.segment),
  )
}

function totals({ key, number, version, counts }: Segment) {
  const { access, used, chargedUnits, charged, debt, accountDebt } = counts
  const { forfeitedUnits, forfeitedMicros, late } = counts
  const paid = Object.fromEntries(
    counts.payments.map((payment) => [`${payment.owner}:${payment.bucketId}`, payment.amount]),
  )
  return {
    key,
    number,
    version,
    access,
    used,
    chargedUnits,
    charged,
    debt,
    accountDebt,
    forfeitedUnits,
    forfeitedMicros,
    late,
    paid,
  }
}

function modelTotals(segment: ModelSegment): ReturnType<typeof totals> {
  const { key, number, version, access, late } = segment
  const paid = Object.fromEntries(
    [...segment.paid].map(([bucket, amount]) => [`${bucket.slot}:${bucket.id}`, Number(amount)]),
  )
  return {
    key,
    number,
    version,
    access,
    paid,
    late,
    used: Number(segment.used),
    chargedUnits: Number(segment.chargedUnits),
    charged: Number(segment.charged),
    debt: Number(segment.debt),
    accountDebt: Number(segment.accountDebt),
    forfeitedUnits: Number(segment.forfeitedUnits),
    forfeitedMicros: Number(segment.forfeitedMicros),
  }
}

function amounts(bucket: Bucket | ModelBucket): Record<string, number> {
  const { id, credited, spent, reserved, free } = bucket
  return {
    id,
    credited: Number(credited),
    spent: Number(spent),
    reserved: Number(reserved),
    free: Number(free),
  }
}

function modelBucket(drawn: DrawnBucket, id: number, include: number): ModelBucket {
  const { slot, kind, priority, from, days, amount } = drawn
  const usaget = kind === 'totalCost' ? '' : drawn.usaget
  const credited = BigInt(amount)
  return {
    slot,
    id,
    include,
    kind,
    usaget,
    priority,
    from,
    to: from + days,
    limit: BigInt(drawn.limit),
    credited,
    spent: 0n,
    reserved: 0n,
    free: credited,
  }
}

function owner(buckets: readonly ModelBucket[], slot: 0 | 1): OwnerState {
  const own = buckets.filter((bucket) => bucket.slot === slot)
  return {
    ...emptyOwner(1, slot === 0 ? 7 : 0),
    nextBucketId: own.length + 1,
    buckets: own.map((bucket) => ({
      id: bucket.id,
      prepaidIncludeId: bucket.include,
      kind: bucket.kind,
      usaget: bucket.usaget,
      priority: bucket.priority,
      fromMs: bucket.from,
      toMs: bucket.to,
      credited: Number(bucket.credited),
      spent: 0,
      reserved: 0,
      free: Number(bucket.free),
      limit: Number(bucket.limit),
      counter: '',
    })),
  }
}

describe('settlement against an exact model', () => {
  it('agrees in every amount, grant and line, for any series of requests', () => {
    fc.assert(
      fc.property(series, fc.constantFrom('closed' as const, 'expired' as const), (drawn, end) => {
        const trial = new Trial(drawn)
        for (const step of drawn.steps) trial.step(step)
        trial.close(end)
        if (end === 'expired') for (const report of drawn.late) trial.late(report)
      }),
      propertyRuns(600),
    )
  })
})
