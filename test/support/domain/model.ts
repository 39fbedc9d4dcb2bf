/**
 * The model of the property tests: the rules of buckets, grants and settlement, unit by unit and in
 * exact fractions. Slow on purpose, and written from the rules, not from the code under test.
 */
import { type ModelTariff, priceOf } from './model-price.ts'

export interface ModelBucket {
  slot: 0 | 1
  id: number
  include: number
  kind: 'units' | 'cost' | 'totalCost'
  usaget: string
  priority: number
  from: number
  to: number
  limit: bigint
  credited: bigint
  spent: bigint
  reserved: bigint
  free: bigint
}

export interface ModelSegment {
  key: string
  number: number
  version: number
  tariff: ModelTariff
  access: boolean
  used: bigint
  chargedUnits: bigint
  charged: bigint
  debt: bigint
  accountDebt: bigint
  forfeitedUnits: bigint
  forfeitedMicros: bigint
  late: boolean
  paid: Map<ModelBucket, bigint>
}

export interface ModelService {
  usaget: string
  accessCharged: boolean
  segmentsEnded: number
  segment: ModelSegment | null
  /** Whether any unit of it was ever used. */
  wasUsed?: boolean
  /** One entry for each granted unit: the bucket that holds it, or money. */
  units: Payer[]
  money: { bucket: ModelBucket; micros: bigint }[]
}

export interface ModelStep {
  used: number
  asked: number
  exact: boolean
  key: string
  tariff: ModelTariff
  at: number
  end: 'none' | 'closed' | 'expired'
}

export interface ModelAnswer {
  granted: number
  finalUnit: boolean
  /** Earliest end of the buckets that hold the grant. */
  endsAt: number
  lines: { number: number; version: number; state: string }[]
}

type Payer = ModelBucket | 'money'

export function modelService(usaget: string): ModelService {
  return { usaget, accessCharged: false, segmentsEnded: 0, segment: null, units: [], money: [] }
}

/** A subscriber with the shared buckets of its account. */
export class ModelAccount {
  readonly buckets: ModelBucket[]
  /** Debt of the subscriber, and of the account. */
  readonly owed: [bigint, bigint] = [0n, 0n]
  readonly repaid: [bigint, bigint] = [0n, 0n]

  constructor(buckets: readonly ModelBucket[]) {
    this.buckets = buckets.map((bucket) => ({ ...bucket }))
  }

  /** The buckets that may pay, in order of payment. */
  order(usaget: string, at: number): ModelBucket[] {
    const may = this.buckets.filter(
      (bucket) =>
        (bucket.kind === 'totalCost' || bucket.usaget === usaget) &&
        bucket.from <= at &&
        at < bucket.to,
    )
    return may.sort((one, other) => {
      if (one.priority !== other.priority) return one.priority > other.priority ? -1 : 1
      if (one.to !== other.to) return one.to < other.to ? -1 : 1
      if (one.id !== other.id) return one.id < other.id ? -1 : 1
      return one.slot - other.slot
    })
  }

  settle(service: ModelService, step: ModelStep): ModelAnswer {
    const answer: ModelAnswer = {
      granted: 0,
      finalUnit: false,
      endsAt: Number.POSITIVE_INFINITY,
      lines: [],
    }
    const isUngranted = step.used > 0 && service.units.length === 0
    if (isUngranted && service.segment !== null && service.segment.key !== step.key) {
      finish(service, 'ended', answer)
    }
    if (step.used > 0) service.wasUsed = true
    if (service.segment === null && step.used > 0) begin(service, step)
    if (service.segment !== null) this.#use(service, service.segment, step)
    if (step.used > 0) grow(service.segment!, 'open', answer)
    if (step.asked > 0) {
      if (service.segment !== null && service.segment.key !== step.key) {
        finish(service, 'ended', answer)
      }
      if (service.segment === null) begin(service, step)
      this.#grant(service, service.segment!, step, answer)
    }
    const last = service.segment
    if (last !== null && step.end === 'closed') finish(service, 'closed', answer)
    if (last !== null && step.end === 'expired') {
      if (step.used > 0) last.late = true
      conclude(last, 'expired', answer)
    }
    return answer
  }

  topUp(credited: Omit<ModelBucket, 'id'>, amount: bigint, at: number): void {
    let bucket = this.buckets.find(
      ({ slot, include, from, to }) =>
        slot === credited.slot && include === credited.include && from <= at && at < to,
    )
    if (bucket === undefined) {
      const ids = this.buckets.filter(({ slot }) => slot === credited.slot).map(({ id }) => id)
      bucket = { ...credited, id: Math.max(0, ...ids) + 1 }
      this.buckets.push(bucket)
    }
    bucket.to = Math.max(bucket.to, credited.to)
    bucket.credited += amount
    bucket.free += amount
    if (bucket.kind === 'units') return
    const { slot } = bucket
    const repaid = least(this.owed[slot] - this.repaid[slot], amount, most(0n, bucket.free))
    bucket.free -= repaid
    bucket.spent += repaid
    this.repaid[slot] += repaid
  }

  /**
   * All reserved units are returned; then the used units are debited permanently, one after the
   * other.
   */
  #use(service: ModelService, segment: ModelSegment, step: ModelStep): void {
    const { units, money } = service
    service.units = []
    service.money = []
    for (const payer of units) if (payer !== 'money') release(payer, 1n)
    for (const { bucket, micros } of money) release(bucket, micros)
    const within = units.slice(0, step.used)
    for (const payer of within) {
      if (payer === 'money') segment.chargedUnits += 1n
      else spend(segment, payer, 1n)
    }
    let cost = this.#chargeUpTo(segment)
    for (const { bucket, micros } of money) {
      const part = least(cost, micros)
      cost -= part
      spend(segment, bucket, part)
      if (bucket.to <= step.at) segment.forfeitedMicros += micros - part
    }
    for (const payer of units.slice(step.used)) {
      if (payer !== 'money' && payer.to <= step.at) segment.forfeitedUnits += 1n
    }
    this.#overUse(service, segment, step, step.used - within.length)
    segment.used += BigInt(step.used)
  }

  #overUse(service: ModelService, segment: ModelSegment, step: ModelStep, units: number) {
    if (units === 0) return
    const order = this.order(service.usaget, step.at)
    const payers = this.#payers(segment, order, units)
    for (const payer of payers) if (payer !== 'money') spend(segment, payer, 1n)
    const bought = payers.filter((payer) => payer === 'money').length
    segment.chargedUnits += BigInt(bought + units - payers.length)
    let cost = this.#chargeUpTo(segment)
    const moneyBuckets = order.filter(({ kind }) => kind !== 'units')
    for (const moneyBucket of moneyBuckets) {
      const part = least(cost, most(0n, moneyBucket.free + moneyBucket.limit))
      cost -= part
      spend(segment, moneyBucket, part)
    }
    const onCredit = moneyBuckets.find(({ limit }) => limit > 0n)
    if (onCredit !== undefined) {
      spend(segment, onCredit, cost)
    } else {
      segment.debt += cost
      const slot = this.#debtor(service.usaget, order, step.at)
      if (slot === 1) segment.accountDebt += cost
      this.owed[slot] += cost
    }
  }

  /** The owner of the last source, by preference: money or units, valid or ended. */
  #debtor(usaget: string, order: readonly ModelBucket[], at: number): 0 | 1 {
    const past = this.buckets
      .filter((bucket) => bucket.kind === 'totalCost' || bucket.usaget === usaget)
      .filter(({ to }) => to <= at)
      .sort((one, other) => one.to - other.to || one.slot - other.slot || one.id - other.id)
    const money = (all: readonly ModelBucket[]) => all.filter(({ kind }) => kind !== 'units')
    const sources = [money(order), money(past), order, past].find(({ length }) => length > 0)
    return sources?.at(-1)?.slot ?? 0
  }

  #grant(service: ModelService, segment: ModelSegment, step: ModelStep, into: ModelAnswer) {
    const order = this.order(service.usaget, step.at)
    const payers = this.#payers(segment, order, step.asked)
    if (step.exact && payers.length < step.asked) {
      into.finalUnit = true
      return
    }
    const held = new Set<ModelBucket>()
    for (const payer of payers) {
      if (payer === 'money') continue
      hold(payer, 1n)
      held.add(payer)
    }
    const chargedUnits =
      segment.chargedUnits + BigInt(payers.filter((payer) => payer === 'money').length)
    const charged = priceOf(segment.tariff, chargedUnits, segment.access)
    let cost = charged - segment.charged
    for (const moneyBucket of order.filter(({ kind }) => kind !== 'units')) {
      const micros = least(cost, most(0n, moneyBucket.free + moneyBucket.limit))
      if (micros === 0n) continue
      cost -= micros
      hold(moneyBucket, micros)
      held.add(moneyBucket)
      service.money.push({ bucket: moneyBucket, micros })
    }
    if (cost !== 0n) throw new Error('the model grants what nobody can pay')
    service.units = payers
    into.granted = payers.length
    into.endsAt = Math.min(...[...held].map(({ to }) => to))
    const further = this.#payers({ ...segment, chargedUnits, charged }, order, 1)
    into.finalUnit = payers.length < step.asked || further.length === 0
  }

  /** For each unit the first bucket in order that can pay it; ends if none can. */
  #payers(segment: ModelSegment, order: readonly ModelBucket[], units: number): Payer[] {
    const payers: Payer[] = []
    const taken = new Map<ModelBucket, bigint>()
    let chargedUnits = segment.chargedUnits
    while (payers.length < units) {
      const cost = priceOf(segment.tariff, chargedUnits + 1n, segment.access) - segment.charged
      const payer = isFree(segment.tariff) ? 'money' : firstThatCanPay(order, taken, cost)
      if (payer === null) break
      payers.push(payer)
      if (payer === 'money') chargedUnits += 1n
      else taken.set(payer, (taken.get(payer) ?? 0n) + 1n)
    }
    return payers
  }

  #chargeUpTo(segment: ModelSegment): bigint {
    const charged = priceOf(segment.tariff, segment.chargedUnits, segment.access)
    const cost = charged - segment.charged
    segment.charged = charged
    return cost
  }
}

/** Money pays together with all money before it; free units need none. */
function firstThatCanPay(
  order: readonly ModelBucket[],
  taken: ReadonlyMap<ModelBucket, bigint>,
  cost: bigint,
): Payer | null {
  let pool = 0n
  for (const bucket of order) {
    const available = most(0n, bucket.free + bucket.limit)
    if (bucket.kind === 'units') {
      if (available > (taken.get(bucket) ?? 0n)) return bucket
    } else {
      pool += available
      if (cost <= pool) return 'money'
    }
  }
  return cost <= pool ? 'money' : null
}

function isFree({ tiers, access }: ModelTariff): boolean {
  return access.over === 0n && tiers.every(({ price }) => price.over === 0n)
}

function begin(service: ModelService, step: ModelStep): void {
  service.segment = {
    key: step.key,
    number: service.segmentsEnded + 1,
    version: 0,
    tariff: step.tariff,
    access: !service.accessCharged,
    used: 0n,
    chargedUnits: 0n,
    charged: 0n,
    debt: 0n,
    accountDebt: 0n,
    forfeitedUnits: 0n,
    forfeitedMicros: 0n,
    late: false,
    paid: new Map(),
  }
}

function grow(segment: ModelSegment, state: string, answer: ModelAnswer): void {
  segment.version += 1
  answer.lines.push({ number: segment.number, version: segment.version, state })
}

/**
 * A segment without used or forfeited units leaves no line, except for the last one of a service
 * that was never used; one whose line was written in this step only ends it.
 */
function finish(service: ModelService, state: string, answer: ModelAnswer): void {
  const segment = service.segment!
  service.segment = null
  service.segmentsEnded += 1
  if (segment.access && segment.chargedUnits > 0n) service.accessCharged = true
  conclude(segment, state, answer, state === 'closed' && service.wasUsed !== true)
}

function conclude(
  segment: ModelSegment,
  state: string,
  answer: ModelAnswer,
  isOfUnused = false,
): void {
  const isNothing = segment.used + segment.forfeitedUnits + segment.forfeitedMicros === 0n
  if (isNothing && !isOfUnused) return
  const written = answer.lines.find(({ number }) => number === segment.number)
  if (written === undefined) grow(segment, state, answer)
  else written.state = state
}

function hold(bucket: ModelBucket, amount: bigint): void {
  bucket.free -= amount
  bucket.reserved += amount
}

function release(bucket: ModelBucket, amount: bigint): void {
  bucket.reserved -= amount
  bucket.free += amount
}

function spend(segment: ModelSegment, bucket: ModelBucket, amount: bigint): void {
  if (amount === 0n) return
  bucket.free -= amount
  bucket.spent += amount
  segment.paid.set(bucket, (segment.paid.get(bucket) ?? 0n) + amount)
}

function least(...values: bigint[]): bigint {
  return values.toSorted((a, b) => Number(a - b))[0]!
}

function most(...values: bigint[]): bigint {
  return values.toSorted((a, b) => Number(b - a))[0]!
}
