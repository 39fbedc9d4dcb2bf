import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bucket, EMPTY_LIMIT, type OwnerState } from '../../src/domain/bucket.ts'
import type { Line } from '../../src/domain/line.ts'
import type { Payment, Segment, Session } from '../../src/domain/session.ts'
import type { Tariff } from '../../src/domain/tariff.ts'
import { CorruptValueError, packOwner, unpackOwner } from '../../src/ledger/owner-packing.ts'
import {
  packRecord,
  packResult,
  unpackRecord,
  unpackResult,
} from '../../src/ledger/record-packing.ts'
import { packSession, unpackSession } from '../../src/ledger/session-packing.ts'
import { startTestRedis, type TestRedis } from '../support/redis.ts'
import { type OpenLedger, openLedger, operationOf } from './fixture.ts'

const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31)
const RUNS = { seed: SEED, numRuns: 300 }

const amount = fc.integer({ min: 0, max: 2 ** 50 })
const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const instant = fc.integer({ min: 0, max: 2 ** 43 })

/** Longer than a byte can say. */
const counter = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 })

const bucket: fc.Arbitrary<Bucket> = fc
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

const owner: fc.Arbitrary<OwnerState> = fc
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
  alsoIn: fc.option(ref),
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
const tariff: fc.Arbitrary<Tariff> = fc.record({
  tiers: fc.array(
    fc.record({ units: amount, interval: amount, price: amount, ceil: fc.boolean() }),
    { maxLength: 3 },
  ),
  access: amount,
  extraDigits: fc.integer({ min: 0, max: 6 }),
  terms: fc.option(
    fc.record({
      method: fc.constantFrom('tiered' as const, 'volume' as const),
      ...{ unitScale: amount, factor: amount, factorDigits: amount, minimum: amount },
      rounding: fc.option(fc.record({ mode, step: amount })),
    }),
  ),
})

/** What most segments have beside the value that few have. */
const rarely = <T>(usual: T, rare: fc.Arbitrary<T>) => fc.oneof(fc.constant(usual), rare)

/** Of a segment and its line. */
const priced = {
  ...{ rateKey: text, plan: text, cycle: text, version: amount, tariff },
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
  hasGroups: fc.boolean(),
  ...{ access: fc.boolean(), used: amount, priced: amount, charged: amount, debt: amount },
  grouped: rarely(0, amount),
  covered: rarely(0, amount),
  coveredMicros: rarely(0, amount),
  ...{ lapsedUnits: amount, lapsedMicros: amount, firstMs: instant, lastMs: instant },
  payments: fc.array(payment, { maxLength: 3 }),
  late: fc.boolean(),
}

const segment: fc.Arbitrary<Segment> = fc.record({
  ...priced,
  ...{ key: text, number: amount, endMs: instant, isPrepaid: fc.boolean() },
  payers: rarely([], fc.array(payer, { maxLength: 3 })),
})

const slice = fc.oneof(
  fc.record({ bucket: ref, units: amount, isCovered: fc.constant(false) }),
  fc.record({ bucket: fc.constant(null), units: amount, isCovered: fc.boolean() }),
)

const service = fc.record({
  ...{ ratingGroup: fc.integer({ min: -1, max: 2 ** 32 }), usaget: text, calledNumber: text },
  ...{
    accessBorne: fc.boolean(),
    othersBorne: fc.boolean(),
    reportedMs: amount,
    usedTotal: amount,
    endedMicros: amount,
    segmentsEnded: amount,
  },
  segment: fc.option(segment),
  reservation: fc.oneof(
    fc.constant({ units: 0, slices: [], money: [] }),
    fc.record({
      units: fc.integer({ min: 1, max: 2 ** 50 }),
      slices: fc.array(slice, { maxLength: 3 }),
      money: fc.array(fc.record({ payer, micros: amount }), { maxLength: 3 }),
    }),
  ),
})

const outcome = fc.record({
  reason: fc.constantFrom('granted' as const, 'noCredit' as const, 'barred' as const),
  ...{ detail: text, aid: amount, sid: amount, transactionId: text },
  services: fc.array(
    fc.record({
      ...{ ratingGroup: fc.integer({ min: -1 }), usaget: text },
      reason: fc.constantFrom('granted' as const, 'noRate' as const, 'blocked' as const),
      ...{ granted: amount, validityMs: amount, finalUnit: fc.boolean(), cost: amount },
      tariffChangeMs: rarely(0, instant),
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
        ...{ usaget: text, free: amount, reserved: amount, toMs: instant },
        counter: rarely('', counter),
      }),
      { maxLength: 3 },
    ),
  ),
})

const session = fc.record({
  ...{ aid: amount, sid: amount, origin: text, sessionId: text },
  state: fc.constantFrom('open' as const, 'closed' as const, 'expired' as const, 'denied' as const),
  ...{ openedMs: instant, expiresMs: instant, processed: amount },
  lastNumber: fc.integer({ min: -1, max: 2 ** 50 }),
  answered: fc.array(
    fc.record({ requestNumber: fc.integer({ min: -1 }), digest: amount, outcome }),
    { maxLength: 3 },
  ),
  services: fc.array(service, { maxLength: 3 }),
})

const line: fc.Arbitrary<Line> = fc.record({
  ...priced,
  ...{ stamp: text, aid: amount, sid: amount, origin: text, sessionId: text },
  ...{ ratingGroup: fc.integer({ min: -1 }), usaget: text, calledNumber: text },
  state: fc.constantFrom('open' as const, 'ended' as const, 'closed' as const, 'expired' as const),
})

/** Packed bytes with a few of them changed, or cut off, or with something behind. */
function damage(packed: Buffer): fc.Arbitrary<Buffer> {
  const flips = fc.array(fc.tuple(fc.nat(packed.length - 1), fc.nat(255)), {
    minLength: 1,
    maxLength: 4,
  })
  const flipped = flips.map((changes) => {
    const bytes = Buffer.from(packed)
    for (const [at, value] of changes) bytes[at] = value
    return bytes
  })
  const cut = fc.nat(packed.length - 1).map((length) => packed.subarray(0, length))
  const longer = fc.uint8Array({ minLength: 1, maxLength: 9 })
  return fc.oneof(
    flipped,
    cut,
    longer.map((more) => Buffer.concat([packed, more])),
  )
}

/** Reading either works or says that the value is damaged: no other way to end. */
function readable(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof CorruptValueError) return false
    throw error
  }
}

describe(`packed values (seed ${SEED})`, () => {
  it('come back as they were', () => {
    fc.assert(
      fc.property(owner, session, fc.array(line, { maxLength: 3 }), (state, one, lines) => {
        expect(unpackOwner(state.aid, state.sid, packOwner(state))).toEqual(state)
        expect(unpackSession(one.aid, one.sid, packSession(one as Session))).toEqual(one)
        const record = { lines, operations: [operationOf('a', 5)] }
        expect(unpackRecord(packRecord(record))).toEqual(record)
      }),
      RUNS,
    )
    const result = operationOf('b', 2 ** 50)
    expect(unpackResult(packResult(result))).toEqual(result)
  })

  it('are readable or damaged, whatever the bytes, and leave the next reading alone', () => {
    const damaged = fc
      .tuple(owner, session, fc.array(line, { maxLength: 2 }))
      .chain(([state, one, lines]) => {
        const record = packRecord({ lines, operations: [] })
        return fc.record({
          owner: damage(packOwner(state)),
          session: damage(packSession(one as Session)),
          record: damage(record),
          sound: fc.constant(one as Session),
        })
      })
    fc.assert(
      fc.property(damaged, (bytes) => {
        readable(() => unpackOwner(1, 1, bytes.owner))
        readable(() => unpackSession(1, 1, bytes.session))
        readable(() => unpackRecord(bytes.record))
        readable(() => unpackResult(bytes.record))
        const { sound } = bytes
        expect(unpackSession(sound.aid, sound.sid, packSession(sound))).toEqual(sound)
      }),
      RUNS,
    )
  })

  it('of another format, another length or without balance are refused', () => {
    const [state] = fc.sample(owner, { seed: 1, numRuns: 1 }) as [OwnerState]
    const held = { ...state, buckets: fc.sample(bucket, { seed: 1, numRuns: 2 }) }
    const packed = packOwner(held)
    const other = Buffer.from(packed)
    other.writeUInt8(3, 0)
    const unbalanced = Buffer.from(packed)
    unbalanced.writeDoubleLE(1, unbalanced.indexOf(doubleOf(held.buckets[0]?.credited ?? 0), 40))
    for (const bytes of [other, unbalanced, packed.subarray(0, -1), Buffer.alloc(0)]) {
      expect(() => unpackOwner(1, 1, bytes)).toThrow(CorruptValueError)
    }
    const [one] = fc.sample(session, { seed: 1, numRuns: 1 })
    for (const pack of [packSession(one as Session), packRecord({ lines: [], operations: [] })]) {
      // The format is the first element of the array.
      const bytes = Buffer.from(pack)
      bytes.writeUInt8(99, 1)
      expect(() => unpackSession(1, 1, bytes)).toThrow(CorruptValueError)
      expect(() => unpackRecord(bytes)).toThrow(CorruptValueError)
      expect(() => unpackResult(bytes)).toThrow(CorruptValueError)
    }
  })
})

function doubleOf(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

describe('Lua', () => {
  let redis: TestRedis
  let ledger: OpenLedger
  beforeAll(async () => {
    redis = await startTestRedis({ appendfsync: 'everysec' })
    ledger = await openLedger(redis.url)
  })
  afterAll(async () => {
    await ledger.close()
    await redis.close()
  })

  const include = readFileSync(new URL('../../src/ledger/lua/include/owner.lua', import.meta.url))
  const script = `${include}
    local ok, version, credited = pcall(check_owner, ARGV[1])
    if not ok then return tostring(version) end
    return { string.format('%d', version), string.format('%d', credited) }`
  const checkOwner = (packed: Buffer) => ledger.redis.client.eval(script, 0, packed)

  it(`sees the same version and credit in an owner as TypeScript does (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(owner, async (state) => {
        const credited = state.buckets.reduce((sum, { credited }) => sum + credited, 0)
        fc.pre(Number.isSafeInteger(credited))
        const answer = [String(state.version), String(credited)]
        expect(await checkOwner(packOwner(state))).toEqual(answer)
      }),
      { seed: SEED, numRuns: 100 },
    )
  })

  it(`refuses whatever TypeScript refuses for its sums (seed ${SEED})`, async () => {
    const one = { ...ownerWith([]), owed: 1, repaid: 2 }
    expect(await checkOwner(packOwner(one))).toMatch(/repaid/)
    expect(() => unpackOwner(1, 1, packOwner(one))).toThrow(CorruptValueError)
    await fc.assert(
      fc.asyncProperty(bucket, fc.integer({ min: 1, max: 9 }), async (sound, error) => {
        const wrong = { ...sound, spent: sound.spent + error }
        const packed = packOwner(ownerWith([wrong]))
        expect(await checkOwner(packed)).toMatch(/credited is not/)
        expect(() => unpackOwner(1, 1, packed)).toThrow(CorruptValueError)
      }),
      { seed: SEED, numRuns: 50 },
    )
  })
})

function ownerWith(buckets: Bucket[]): OwnerState {
  return { aid: 1, sid: 1, version: 1, nextBucketId: 2, owed: 0, repaid: 0, buckets }
}
