import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Bucket, OwnerState } from '../../src/domain/bucket.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import { emptyService } from '../../src/domain/segment.ts'
import { type Payment, type Pricing, plainPricing } from '../../src/domain/segment-parts.ts'
import type { Segment, Session } from '../../src/domain/session.ts'
import type { Tariff } from '../../src/domain/tariff.ts'
import { CorruptValueError, packOwner, unpackOwner } from '../../src/ledger/owner-packing.ts'
import { writeLinePricing } from '../../src/ledger/pricing-packing.ts'
import { packResult, unpackRecord, unpackResult } from '../../src/ledger/record-packing.ts'
import { writeSegment } from '../../src/ledger/segment-packing.ts'
import { unpackSession } from '../../src/ledger/session-packing.ts'
import { Writer } from '../../src/ledger/writer.ts'
import { lineOf, withFields } from '../support/domain/lines.ts'
import { bucket, likely, line, owner, segment, session } from '../support/ledger/arbitrary.ts'
import { openLedger, operationOf, sessionOf } from '../support/ledger/fixture.ts'
import { useOpened } from '../support/opened.ts'
import { packRecord, packSession } from '../support/packing.ts'
import { withExchangedBytes } from '../support/realtime/codecs/fuzz-inputs.ts'
import { startTestRedis } from '../support/redis.ts'

const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31)
const ROUNDED = { mode: 'up', step: 10_000 } as const
const RUNS = { seed: SEED, numRuns: 300 }

/** Packed bytes with some changed, cut off, or appended. */
function damage(packed: Buffer): fc.Arbitrary<Buffer> {
  const cut = fc.nat(packed.length - 1).map((length) => packed.subarray(0, length))
  const longer = fc.uint8Array({ minLength: 1, maxLength: 9 })
  return fc.oneof(
    withExchangedBytes(packed, 4),
    cut,
    longer.map((more) => Buffer.concat([packed, more])),
  )
}

/** Reading either succeeds or reports the value as damaged. */
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
  it('are unchanged by packing and unpacking', () => {
    fc.assert(
      fc.property(owner, session, fc.array(line, { maxLength: 3 }), (state, one, lines) => {
        expect(unpackOwner(state.aid, state.sid, packOwner(state))).toEqual(state)
        expect(repacked(one)).toEqual(one)
        const record = { lines, operations: [operationOf('a', 5)] }
        expect(unpackRecord(packRecord(record))).toEqual(record)
      }),
      RUNS,
    )
    const result = operationOf('b', 2 ** 50)
    expect(unpackResult(packResult(result))).toEqual(result)
  })

  it('are unchanged by packing with events', () => {
    const events = [{ stamp: 'e', before: 0.5, after: 'prepaid', row: { usagev: 2 ** 50 } }]
    const record = { lines: [], operations: [operationOf('a', 5)], events } as never
    expect(unpackRecord(packRecord(record))).toEqual(record)
  })

  it('are unchanged by packing if a refund has credited an amount', () => {
    const kinds = ['creditedUnits', 'creditedMoney', 'limit', 'money', 'units'] as const
    const payment = { prepaidIncludeId: 3, counter: '', left: 0, total: 0 }
    fc.assert(
      fc.property(line, (one) => {
        const payments = kinds.map((kind, bucketId) => ({
          ...payment,
          kind,
          bucketId,
          amount: -bucketId - 1,
          owner: bucketId % 2 === 0 ? 0 : 1,
        })) as Payment[]
        const record = { lines: [withFields(one, { payments })], operations: [] }
        expect(unpackRecord(packRecord(record))).toEqual(record)
      }),
      RUNS,
    )
  })

  it('are unchanged by packing if an answer repeats fields of the session', () => {
    fc.assert(
      fc.property(likely, ({ session: one, sessionKey: key }) => {
        expect(repacked(one, key)).toEqual(one)
      }),
      RUNS,
    )
  })

  it('have the price of their own segment, however similar to another', () => {
    fc.assert(
      fc.property(segment, segment, fc.array(fc.boolean(), { minLength: 9 }), (one, other, own) => {
        const names = Object.keys(one.pricing).filter((name) => name !== 'tariff')
        const isPrepaid = own[0] ? other.isPrepaid : one.isPrepaid
        const mixed = { ...one, isPrepaid, pricing: { ...one.pricing } }
        for (const [index, name] of names.entries()) {
          const value = other.pricing[name as keyof Pricing]
          if (own[index + 1]) Object.assign(mixed.pricing, { [name]: value })
        }
        for (const each of [one, mixed, one]) {
          const held = sessionOf(1, 'a', { services: [{ ...SERVICE, segment: each }] })
          expect(repacked(held)).toEqual(held)
        }
      }),
      RUNS,
    )
  })

  it('have another format only with terms after a segment, which older releases misread', () => {
    const [each] = fc.sample(segment, { seed: 1, numRuns: 1 })
    const formatOf = (after: Segment['after']) => {
      const held = { ...SERVICE, segment: { ...(each as Segment), after } }
      return packSession(sessionOf(1, 'a', { services: [SERVICE, held] }))[0]
    }
    expect(formatOf(null)).toBe(1)
    expect(formatOf({ digest: 5, endMs: 6 })).toBe(2)
  })

  it.each([
    [null, '04', ''],
    [{ method: 'tiered', rounding: null }, '05', '000a050109'],
    [{ method: 'volume', rounding: null }, '05', '010a050109'],
    [{ method: 'package', rounding: null }, '05', '020a0501092f'],
    [{ method: 'graduated_flat', rounding: ROUNDED }, '05', '020a05010930e02710'],
    [{ method: 'tiered', rounding: ROUNDED }, '05', '020a05010900e02710'],
    [{ method: 'volume', rounding: ROUNDED }, '05', '030a05010900e02710'],
  ] as const)('have the same bytes in all releases: a price with terms %j', (terms, head, tail) => {
    const writer = new Writer(64)
    const stored = { unitScale: 10, factor: 5, factorDigits: 1, minimum: 9 }
    const tariff: Tariff = {
      tiers: [
        { units: 60, interval: 60, price: 100_000, ceil: true },
        { units: UNLIMITED, interval: 7, price: 3, ceil: false },
      ],
      ...{ access: 1, extraDigits: 2, terms: terms && { ...stored, ...terms } },
    }
    const pricing = plainPricing({ rateKey: 'R', plan: 'P', cycle: 'C', tariff })
    writeLinePricing(writer, pricing)
    const packed = writer.take().subarray(1).toString('hex')
    expect(packed).toBe(`0000015201500143${head}01023c3ce186a001fa070300${tail}`)
  })

  it('have the same bytes in all releases: a segment and its line with rarely used parts', () => {
    const tier = { units: UNLIMITED, interval: 7, price: 3, ceil: false }
    const tariff = { tiers: [tier], access: 1, extraDigits: 0, terms: null }
    const course = { at: 1, ahead: 2, before: 3, access: true, credit: 4 }
    const payment = { owner: 1, bucketId: 5, prepaidIncludeId: 6, kind: 'money' } as const
    const payments = [{ ...payment, amount: 7, counter: 'credit', left: 8, total: 9 }]
    const sums = { pricedSold: 10, coveredSold: 11, debt: 12, accountDebt: 13 }
    const tax = { key: 'VAT', description: 'Vat', type: 'vat', rate: '0.17', isEmbedded: true }
    const flat = {
      ...{ rateKey: 'R', plan: 'P', cycle: 'C', tariff, priceOf: 'plan P', band: 'night' },
      others: [{ category: 'wholesale', rateKey: 'W', tariff, isAdded: true }],
      ...{ taxes: [tax], rounding: { mode: 'nearest', decimals: 2 } as const },
      carried: { priced: course, covered: course, others: [course], ...sums, payments: [] },
      ...{ version: 14, access: true, hasGroups: true, late: true, used: 15, includedUnits: 16 },
      ...{ includedMoneyUnits: 17, chargedUnits: 18, includedMicros: 19, charged: 20, debt: 21 },
      ...{ accountDebt: 22, forfeitedUnits: 23, forfeitedMicros: 24, payments, firstMs: 2_500 },
      lastMs: 2 ** 40,
    }
    const writer = new Writer(64)
    const [each] = fc.sample(segment, { seed: 1, numRuns: 1 }) as [Segment]
    const fundingSources = [{ owner: 1, id: 25, isGroup: true, limitCounter: { owner: 0, id: 26 } }]
    const own = { key: 'R|P|C|x', number: 27, endMs: 2_600, isPrepaid: false, fundingSources }
    const after = { digest: 28, endMs: 2_700 }
    writeSegment(writer, withFields(each, { ...flat, ...own, after } as never), 2_400)
    const free = '000101fa070300'
    const named = '06706c616e2050056e69676874010977686f6c6573616c650157'
    const price = `${free}${named}${free}010103564154035661740376617404302e3137010202`
    const counted = '0e0f101112131415171816010d050607066372656469740809'
    const begun = '010203040101020304010101020304010a0b0c0d00'
    expect(writer.take().toString('hex')).toBe(
      `497f07527c507c437c780152${price}ff0107191ac0c81cc12c1b${counted}64f5a0f6ffffff${begun}`,
    )
    const packed = packRecord({ lines: [lineOf({ ...flat, state: 'expired' })], operations: [] })
    const begin = '010101730107046874747001730a04646174610003463e00015201500143'
    expect(packed.toString('hex')).toBe(`${begin}${price}77${counted}c9c4f6000000000001${begun}00`)
  })

  it('have the same bytes in all releases: all names of a service, and of its line', () => {
    const names = { ratingGroup: 10, serviceIdentifier: '7,9', usaget: 'call', calledNumber: '112' }
    const service = { ...emptyService(serviceIdentity(names)), accessCharged: true }
    const times = { openedMs: 0, expiresMs: 1000, lastNumber: -1, processed: 0 }
    const held = sessionOf(7, 's', { origin: 'gw', ...times, services: [service] })
    const [named, called] = ['0a0463616c6c', '03313132']
    expect(packSession(held).toString('hex')).toBe(
      `0100026777017300c3e8f8000001${named}8503372c39${called}00`,
    )
    const line = lineOf({ ...names, state: 'ended' })
    expect(packRecord({ lines: [line], operations: [] }).toString('hex')).toMatch(
      new RegExp(`^01010173010704687474700173${named}${called}8103372c39`),
    )
  })

  it('share the price that they were read with', () => {
    const [each] = fc.sample(segment, { seed: 1, numRuns: 1 })
    const held = sessionOf(1, 'a', { services: [{ ...SERVICE, segment: each as never }] })
    const [first, second] = [repacked(held), repacked(held)]
    expect(first.services[0]?.segment?.pricing.tariff).toBe(
      second.services[0]?.segment?.pricing.tariff,
    )
  })

  it('are readable or damaged for any bytes, and do not affect the next read', () => {
    const damaged = fc
      .tuple(owner, session, fc.array(line, { maxLength: 2 }))
      .chain(([state, one, lines]) => {
        const record = packRecord({ lines, operations: [] })
        return fc.record({
          owner: damage(packOwner(state)),
          session: damage(packSession(one)),
          record: damage(record),
          sound: fc.constant(one),
        })
      })
    fc.assert(
      fc.property(damaged, (bytes) => {
        readable(() => unpackOwner(1, 1, bytes.owner))
        readable(() => unpackSession(1, 1, KEY, bytes.session))
        readable(() => unpackRecord(bytes.record))
        readable(() => unpackResult(bytes.record))
        const { sound } = bytes
        expect(repacked(sound)).toEqual(sound)
      }),
      RUNS,
    )
  })

  it('of another format, another length or without balance are refused', () => {
    const [state] = fc.sample(owner, { seed: 1, numRuns: 1 }) as [OwnerState]
    const held = { ...state, buckets: fc.sample(bucket, { seed: 1, numRuns: 2 }) }
    const packed = packOwner(held)
    const other = Buffer.from(packed)
    other.writeUInt8(4, 0)
    const unbalanced = Buffer.from(packed)
    unbalanced.writeDoubleLE(1, unbalanced.indexOf(doubleOf(held.buckets[0]?.credited ?? 0), 40))
    for (const bytes of [other, unbalanced, packed.subarray(0, -1), Buffer.alloc(0)]) {
      expect(() => unpackOwner(1, 1, bytes)).toThrow(CorruptValueError)
    }
    const [one] = fc.sample(session, { seed: 1, numRuns: 1 })
    const record = { lines: [], operations: [] }
    for (const packed of [packSession(one as Session), packRecord(record)]) {
      const bytes = Buffer.from(packed)
      bytes.writeUInt8(99, 0)
      expect(() => unpackSession(1, 1, KEY, bytes)).toThrow(CorruptValueError)
      expect(() => unpackRecord(bytes)).toThrow(CorruptValueError)
      expect(() => unpackResult(bytes)).toThrow(CorruptValueError)
    }
  })
})

const KEY = 'FTKzLYViJvRYw8tEVjnfTG'

const SERVICE = emptyService(serviceIdentity({ ratingGroup: 10, usaget: 'data' }))

function repacked(one: Session, key = KEY): Session {
  return unpackSession(one.identity.aid, one.identity.sid, key, packSession(one))
}

function doubleOf(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return bytes
}

describe('Lua', () => {
  const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
  const ledger = useOpened(() => openLedger(redis().url))

  const include = readFileSync(new URL('../../src/ledger/lua/include/owner.lua', import.meta.url))
  const script = `${include}
    local ok, version, credited = pcall(check_owner, ARGV[1])
    if not ok then return tostring(version) end
    return { string.format('%d', version), string.format('%d', credited) }`
  const checkOwner = (packed: Buffer) => ledger().redis.client.eval(script, 0, packed)

  it(`reads the same version and credit from an owner as TypeScript (seed ${SEED})`, async () => {
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

  it(`refuses every sum that TypeScript refuses (seed ${SEED})`, async () => {
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
