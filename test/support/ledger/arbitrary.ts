/** Arbitrary values of the ledger, and more, for fast-check. */
import fc from 'fast-check'
import { type Bucket, EMPTY_LIMIT, type OwnerState } from '../../../src/domain/bucket.ts'
import { type Counts, newCounts } from '../../../src/domain/counts.ts'
import type { Line } from '../../../src/domain/line.ts'
import { PRICING_METHODS } from '../../../src/domain/pricing/models.ts'
import type { Carried, Payment, Pricing } from '../../../src/domain/segment-parts.ts'
import type { Reservation, Segment, Session } from '../../../src/domain/session.ts'
import type { PricePosition, Tariff } from '../../../src/domain/tariff.ts'

const amount = fc.integer({ min: 0, max: 2 ** 50 })
const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const instant = fc.integer({ min: 0, max: 2 ** 43 })

/** Longer than one byte can express. */
const counter = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 })

export const bucket: fc.Arbitrary<Bucket> = fc
  .record({
    id: fc.integer({ min: 1, max: 1e9 }),
    prepaidIncludeId: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    kind: fc.constantFrom('units' as const, 'cost' as const, 'totalCost' as const),
    usaget: text,
    priority: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    fromMs: instant,
    toMs: instant,
    spent: amount,
    reserved: amount,
    free: amount,
    limit: fc.oneof(fc.constant(EMPTY_LIMIT), amount),
    counter: fc.oneof(fc.constant(''), counter),
  })
  .map((parts) => ({ ...parts, credited: parts.spent + parts.reserved + parts.free }))

export const owner: fc.Arbitrary<OwnerState> = fc
  .record({
    aid: fc.integer({ min: 1, max: 1e9 }),
    sid: fc.integer({ min: 0, max: 1e9 }),
    version: amount,
    nextBucketId: amount,
    owed: amount,
    buckets: fc.array(bucket, { maxLength: 6 }),
  })
  .map((parts) => ({ ...parts, repaid: Math.floor(parts.owed / 3) }))

const ref = fc.record({ owner: fc.constantFrom(0 as const, 1 as const), id: amount })
const payer = fc.record({
  owner: fc.constantFrom(0 as const, 1 as const),
  id: amount,
  isGroup: fc.boolean(),
  limitCounter: fc.option(ref),
})
const paid = fc.record({
  owner: fc.constantFrom(0 as const, 1 as const),
  bucketId: amount,
  prepaidIncludeId: amount,
  kind: fc.constantFrom('units' as const, 'money' as const, 'limit' as const),
  amount,
})
const payment: fc.Arbitrary<Payment> = fc.oneof(
  paid.map((one) => ({ ...one, counter: '', left: 0, total: 0 })),
  fc
    .record({ one: paid, counter, left: amount, total: amount })
    .map(({ one, ...rest }) => ({ ...one, ...rest })),
)

const mode = fc.constantFrom('up' as const, 'down' as const, 'nearest' as const)
export const tariff: fc.Arbitrary<Tariff> = fc.record({
  tiers: fc.array(
    fc.record({ units: amount, interval: amount, price: amount, ceil: fc.boolean() }),
    { maxLength: 3 },
  ),
  access: amount,
  extraDigits: fc.integer({ min: 0, max: 6 }),
  terms: fc.option(
    fc.record({
      method: fc.constantFrom(...PRICING_METHODS),
      unitScale: amount,
      factor: amount,
      factorDigits: amount,
      minimum: amount,
      rounding: fc.option(fc.record({ mode, step: amount })),
    }),
  ),
})

/** The value that most segments have for rarely used fields. */
const rarely = <T>(usual: T, rare: fc.Arbitrary<T>) => fc.oneof(fc.constant(usual), rare)

const course: fc.Arbitrary<PricePosition> = fc.record({
  at: amount,
  ahead: amount,
  before: amount,
  access: fc.boolean(),
  credit: amount,
})

const carried: fc.Arbitrary<Carried | null> = fc.option(
  fc.record({
    priced: course,
    covered: course,
    others: fc.array(course, { maxLength: 2 }),
    pricedSold: amount,
    coveredSold: amount,
    debt: amount,
    accountDebt: amount,
    payments: fc.array(payment, { maxLength: 2 }),
  }),
)

const pricing: fc.Arbitrary<Pricing> = fc.record({
  rateKey: text,
  plan: text,
  cycle: text,
  tariff,
  priceOf: rarely('BASE', text),
  band: rarely('', text),
  others: rarely(
    [],
    fc.array(fc.record({ category: text, rateKey: text, tariff, isAdded: fc.boolean() })),
  ),
  taxes: rarely(
    [],
    fc.array(
      fc.record({ key: text, description: text, type: text, rate: text, isEmbedded: fc.boolean() }),
    ),
  ),
  rounding: fc.option(fc.record({ mode, decimals: fc.integer({ min: 0, max: 10 }) })),
})

/** Any values of all counts, most of which are often 0. */
const counts = fc.record({
  ...Object.fromEntries(
    Object.entries(newCounts(0, false, false, null)).map(([name, value]) => [
      name,
      typeof value === 'number' ? rarely(0, amount) : fc.boolean(),
    ]),
  ),
  ...{ carried, payments: fc.array(payment, { maxLength: 3 }) },
  ...{ firstMs: instant, lastMs: instant },
}) as unknown as fc.Arbitrary<Counts>

export const segment: fc.Arbitrary<Segment> = fc.record({
  key: text,
  pricing,
  fundingSources: rarely([], fc.array(payer, { maxLength: 3 })),
  isPrepaid: fc.boolean(),
  endMs: instant,
  after: fc.option(fc.record({ digest: fc.maxSafeNat(), endMs: instant })),
  number: amount,
  version: amount,
  counts,
})

const slice = fc.oneof(
  fc.record({ bucket: ref, units: amount, isCovered: fc.constant(false) }),
  fc.record({ bucket: fc.constant(null), units: amount, isCovered: fc.boolean() }),
)

const identifier = rarely('', fc.constantFrom('7', '7,4294967295'))

const sessionNames = fc.record({ aid: amount, sid: amount, origin: text, sessionId: text })
const serviceNames = fc.record({
  ratingGroup: fc.integer({ min: -1, max: 2 ** 32 }),
  serviceIdentifier: identifier,
  usaget: text,
  calledNumber: text,
})

const service = fc.record({
  identity: serviceNames,
  accessCharged: fc.boolean(),
  othersAccessCharged: fc.boolean(),
  reportedMs: amount,
  usedTotal: amount,
  endedMicros: amount,
  segmentsEnded: amount,
  segment: fc.option(segment),
  reservation: fc.oneof(
    fc.constant<Reservation>({ units: 0, slices: [], money: [] }),
    fc.record({
      units: fc.integer({ min: 1, max: 2 ** 50 }),
      slices: fc.array(slice, { maxLength: 3 }),
      money: fc.array(fc.record({ source: payer, micros: amount }), { maxLength: 3 }),
    }),
  ),
})

const action = fc.oneof(
  fc.record({ type: fc.constant('redirect' as const), address: text }),
  fc.record({ type: fc.constant('throttle' as const), policy: text }),
)

const outcome = fc.record({
  reason: fc.constantFrom('granted' as const, 'noCredit' as const, 'barred' as const),
  detail: text,
  aid: amount,
  sid: amount,
  transactionId: text,
  services: fc.array(
    fc.record({
      ratingGroup: fc.integer({ min: -1 }),
      usaget: text,
      reason: fc.constantFrom('granted' as const, 'noRate' as const, 'blocked' as const),
      granted: amount,
      validityMs: amount,
      finalUnit: fc.boolean(),
      action: rarely(null, action),
      cost: amount,
      tariffChangeMs: rarely(0, instant),
      serviceIdentifier: identifier,
      parts: rarely(
        null,
        fc.array(fc.record({ usaget: text, granted: amount }), { minLength: 1, maxLength: 2 }),
      ),
      quote: fc.constant(null),
    }),
    { maxLength: 3 },
  ),
  cost: amount,
  balances: fc.option(
    fc.array(
      fc.record({
        prepaidIncludeId: amount,
        kind: fc.constantFrom('units' as const, 'money' as const),
        usaget: text,
        free: amount,
        reserved: amount,
        toMs: instant,
        counter: rarely('', counter),
        debt: rarely(0, amount),
      }),
      { maxLength: 3 },
    ),
  ),
})

export const session: fc.Arbitrary<Session> = fc.record({
  identity: sessionNames,
  state: fc.constantFrom('open' as const, 'closed' as const, 'expired' as const, 'denied' as const),
  openedMs: instant,
  expiresMs: instant,
  processed: amount,
  client: fc.option(fc.record({ name: fc.string(), stateId: fc.nat() })),
  lastNumber: fc.integer({ min: -1, max: 2 ** 50 }),
  answered: fc.array(
    fc.record({
      requestNumber: fc.integer({ min: -1 }),
      digest: amount,
      count: fc.constant(0),
      outcome,
    }),
    { maxLength: 3 },
  ),
  services: fc.array(service, { maxLength: 3 }),
})

export const line: fc.Arbitrary<Line> = fc.record({
  stamp: text,
  version: amount,
  session: sessionNames,
  service: serviceNames,
  pricing,
  counts,
  state: fc.constantFrom('open' as const, 'ended' as const, 'closed' as const, 'expired' as const),
})

/** Words of session keys, as built by sessionKeyOf. */
export const sessionKey = fc
  .uint8Array({ minLength: 17, maxLength: 17 })
  .map((bytes) => Buffer.from(bytes).toString('base64url').slice(0, 22))

/** A session whose answers are those of its services, as rating produces them. */
export const likely: fc.Arbitrary<{ session: Session; sessionKey: string }> = fc
  .record({ session, sessionKey, counts: fc.array(fc.nat(20), { minLength: 3, maxLength: 3 }) })
  .map(({ session: one, sessionKey: key, counts }) => {
    const answered = one.answered.map((answer, index) => {
      const services = one.services.map((service) => ({
        ratingGroup: service.identity.ratingGroup,
        usaget: service.identity.usaget,
        reason: 'granted' as const,
        granted: service.reservation.units,
        validityMs: 3_600_000,
        tariffChangeMs: 0,
        finalUnit: false,
        action: null,
        cost: service.endedMicros + (service.segment?.counts.charged ?? 0),
        serviceIdentifier: service.identity.serviceIdentifier,
        parts: null,
        quote: null,
      }))
      const transactionId = `${key}-${one.openedMs.toString(36)}-${counts[index]}`
      const { aid, sid } = one.identity
      return { ...answer, outcome: { ...answer.outcome, aid, sid, transactionId, services } }
    })
    return { session: { ...one, answered }, sessionKey: key }
  })
