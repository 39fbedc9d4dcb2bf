/** What stands in Redis from before: it is read, with defaults for what is new. */
import { describe, expect, it } from 'vitest'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { packOwner, unpackOwner } from '../../src/ledger/owner-packing.ts'
import { unpackRecord } from '../../src/ledger/record-packing.ts'
import { unpackSession } from '../../src/ledger/session-packing.ts'
import { packSession } from '../support/packing.ts'

const OWNER =
  'AQAAAAAAABRAAAAAAAAACEAAAAAAAAA0QAAAAAAAAC5AAAAAAADAgkAAAAAAAAAAQAAAAAAAAPA/AAAAAAAAWUAAAAAA' +
  'AABOQAAAAAAAACRAAAAAAAAAPkAAAAAAAAAAAAAAAAAAAABAAAAAAABAf0AAAAAAAAAAAAAAAAAAQH9AAAAAAAAAAAAA' +
  'AAAAAAAAAAAAAAAAQI9AAAAAAABAn0AyAAAABAAAAAIAAAAAAABAj0AAAAAAAHCnQP3///8FAAAAAARkYXRh'

const SESSION =
  'mgGiZ3ejYWJjAM0FeM0jKAMEkZkDY6dncmFudGVkoAEHoXSRlgqkY2FsbKdncmFudGVkzQH+zQJYwpHeAAawcHJlcGFp' +
  'ZEluY2x1ZGVJZASka2luZKVtb25leaZ1c2FnZXSgpGZyZWUeqHJlc2VydmVkCqR0b01zzQfQkpcKpGNhbGyiNDnCAZuv' +
  'VDAxL2NhbGwvMjAyNjEyo1QwMaRHT0xEpjIwMjYxMpMHApKUPAoZw5TLQz////////8BA8KVAgPDWjKUUBQBAs0F3M0G' +
  'pJKVAQIFACiVAAEEATzDk80B/pKTzQH0AQKRCpGTCgABl/+jc21zoMMAwJA='

/** In format 3, which had everything but the times of tariff changes. */
const SESSION_3 =
  'mgOiZ3ejYWJjAM0FeM0jKAMEkZoDY6dncmFudGVkoWQBB6F0kpcKpGRhdGGnZ3JhbnRlZM0B/s0CWMNGlxSjc21zpm5v' +
  'UmF0ZQAAwgDARpGbCqRkYXRhoMIAwJDCAAxG'

/** In format 4, of a session that has begun and been updated once; and its owner in format 2. */
const SESSION_4 =
  'mgSkaHR0cKVndzEtNQDLQnogCPXCsADLQnogDHnAMAABApGaActDO5Zm5hnkO6dncmFudGVkoM0D7s4AAYam2SFGVEt6' +
  'TFlWaUp2Ull3OHRFVmpuZlRHLW13cjJvYjNmLTKRlwqkZGF0YadncmFudGVkzgCgAADOADbugMIAwACRmwqkZGF0YaDC' +
  'AJ3ZMTVlZWQwMDAwMDAwMDAwMDAwMDAwMDAwNC4zfERFTU9fUFJFUEFJRHwyMDI2MTJ8fHynREFUQV8xMKxERU1PX1BS' +
  'RVBBSUSmMjAyNjEykwAAkZTLQz/////////OABAAAM0H0MOVAQHDzgBwAAAAlAAAAADLQnogCPW+EADLQnogCPwyEACR' +
  'lQACAgDOAHAAAMKQy0J6Iu5rAAAAk84AoAAAkZPOAKAAAAACkMIAzgBwAAAA'

const OWNER_2 =
  'AgAAAAAAABBAAAAAAAAACEAAAAAAAAAAAAAAAAAAAAAAAAAAypo7OUIAAAAAAAAAQAAAAAAAAPA/AAAAAGXNzUEAAAAA' +
  'AAAAAAAAAAAAAAAAAAAAAGXNzUEAAAAAAAAAAAAAAAAAAABAAAAAAAAAOUIAAAAAAABcQQAAAAAAAGRBAAAAAPD+OEIA' +
  'AAAAAAAAAAAAgG7m9XZCAADwB/v1lkIKAAAAAQAAAAIAAAAAAIBu5vV2QgAA8Af79ZZCMgAAAAIAAAAABGRhdGEAAA=='

const RECORD =
  'kwGR3gAXpXN0YW1woXOndmVyc2lvbgOjYWlkAaNzaWQHpm9yaWdpbqJnd6lzZXNzaW9uSWSjYWJjq3JhdGluZ0dyb3Vw' +
  'CqZ1c2FnZXSkY2FsbKxjYWxsZWROdW1iZXKiNDmncmF0ZUtleaNUMDGkcGxhbqRHT0xEpWN5Y2xlpjIwMjYxMqR1c2Vk' +
  'WqZwcmljZWQyp2NoYXJnZWRQpGRlYnQUq2xhcHNlZFVuaXRzAaxsYXBzZWRNaWNyb3MCqHBheW1lbnRzkt4ABaVvd25l' +
  'cgGoYnVja2V0SWQCsHByZXBhaWRJbmNsdWRlSWQFpGtpbmSldW5pdHOmYW1vdW50KN4ABaVvd25lcgCoYnVja2V0SWQB' +
  'sHByZXBhaWRJbmNsdWRlSWQEpGtpbmSlbW9uZXmmYW1vdW50PKdmaXJzdE1zzQXcpmxhc3RNc80GpKVzdGF0ZaRvcGVu' +
  'pGxhdGXCkA=='

const KEY = 'FTKzLYViJvRYw8tEVjnfTG'
const bytes = (text: string) => Buffer.from(text, 'base64')

const PAYMENTS = [
  {
    ...{ owner: 1, bucketId: 2, prepaidIncludeId: 5, kind: 'units', amount: 40 },
    ...{ counter: '', left: 0, total: 0 },
  },
  {
    ...{ owner: 0, bucketId: 1, prepaidIncludeId: 4, kind: 'money', amount: 60 },
    ...{ counter: '', left: 0, total: 0 },
  },
]

/** What the answer for a service did not tell before. */
const UNTOLD = { serviceIdentifier: '', parts: null }
/** What segments and lines did not. */
const LATER = {
  ...{ grouped: 0, covered: 0, coveredMicros: 0, hasGroups: false },
  ...{
    carried: null,
    priceOf: 'BASE',
    band: '',
    others: [],
    taxes: [],
    rounding: null,
    accountDebt: 0,
  },
}

describe('format 1', () => {
  it('of an owner has no counters', () => {
    const owner = unpackOwner(1, 7, bytes(OWNER))
    expect(owner).toEqual({
      ...{ aid: 1, sid: 7, version: 5, nextBucketId: 3, owed: 20, repaid: 15 },
      buckets: [
        {
          ...{ id: 1, prepaidIncludeId: 4, kind: 'totalCost', usaget: '', priority: 50 },
          ...{ fromMs: 1000, toMs: 2000, limit: 0, counter: '' },
          ...{ credited: 100, spent: 60, reserved: 10, free: 30 },
        },
        {
          ...{ id: 2, prepaidIncludeId: 5, kind: 'units', usaget: 'data', priority: -3 },
          ...{ fromMs: 1000, toMs: 3000, limit: 0, counter: '' },
          ...{ credited: 500, spent: 0, reserved: 500, free: 0 },
        },
      ],
    })
    expect(unpackOwner(1, 7, packOwner(owner))).toEqual(owner)
  })

  it('of a session has a plain price, and what it holds is of prepaid buckets', () => {
    const session = unpackSession(1, 7, KEY, bytes(SESSION))
    expect(session).toMatchObject({
      ...{ aid: 1, sid: 7, origin: 'gw', sessionId: 'abc', state: 'open', openedMs: 1400 },
      ...{ expiresMs: 9000, lastNumber: 3, processed: 4 },
    })
    expect(session.answered).toEqual([
      {
        ...{ requestNumber: 3, digest: 99 },
        outcome: {
          ...{ reason: 'granted', detail: '', aid: 1, sid: 7, transactionId: 't' },
          services: [
            {
              ...UNTOLD,
              ...{ ratingGroup: 10, usaget: 'call', reason: 'granted', granted: 510 },
              ...{ validityMs: 600, tariffChangeMs: 0, finalUnit: false, cost: 0, quote: null },
            },
          ],
          cost: 0,
          balances: [
            {
              ...{ prepaidIncludeId: 4, kind: 'money', usaget: '', counter: '' },
              ...{ free: 30, reserved: 10, toMs: 2000, debt: 0 },
            },
          ],
        },
      },
    ])
    const [call, sms] = session.services
    expect(call?.segment).toEqual({
      ...{ key: 'T01/call/202612', rateKey: 'T01', plan: 'GOLD', cycle: '202612' },
      tariff: {
        tiers: [
          { units: 60, interval: 10, price: 25, ceil: true },
          { units: Number.MAX_SAFE_INTEGER, interval: 1, price: 3, ceil: false },
        ],
        ...{ access: 7, extraDigits: 2, terms: null },
      },
      ...{ number: 2, version: 3, access: true, used: 90, priced: 50, charged: 80, debt: 20 },
      ...{ lapsedUnits: 1, lapsedMicros: 2, firstMs: 1500, lastMs: 1700, late: true },
      ...{ ...LATER, payers: [], isPrepaid: true, endMs: FOREVER_MS, payments: PAYMENTS },
    })
    expect(call?.reservation).toEqual({
      units: 510,
      slices: [
        { bucket: { owner: 1, id: 2 }, units: 500, isCovered: false },
        { bucket: null, units: 10, isCovered: false },
      ],
      money: [{ payer: { owner: 0, id: 1, isGroup: false, alsoIn: null }, micros: 10 }],
    })
    expect(sms).toMatchObject({ usaget: 'sms', segment: null, accessBorne: true })
    expect(unpackSession(1, 7, KEY, packSession(session, KEY))).toEqual(session)
  })

  it('of a record does not say how a price came about', () => {
    const { lines, operations } = unpackRecord(bytes(RECORD))
    expect(operations).toEqual([])
    expect(lines).toEqual([
      {
        serviceIdentifier: '',
        ...{ stamp: 's', version: 3, aid: 1, sid: 7, origin: 'gw', sessionId: 'abc' },
        ...{ ratingGroup: 10, usaget: 'call', calledNumber: '49', rateKey: 'T01', plan: 'GOLD' },
        ...{ cycle: '202612', used: 90, priced: 50, charged: 80, debt: 20, lapsedUnits: 1 },
        ...{ lapsedMicros: 2, firstMs: 1500, lastMs: 1700, state: 'open', late: false },
        ...{ ...LATER, access: false, payments: PAYMENTS },
        tariff: { tiers: [], access: 0, extraDigits: 0, terms: null },
      },
    ])
  })
})

it('format 3 of a session tells of no tariff change', () => {
  const session = unpackSession(1, 7, KEY, bytes(SESSION_3))
  const [answered] = session.answered
  expect(answered).toMatchObject({ requestNumber: 3, digest: 99, outcome: { cost: 70 } })
  expect(answered?.outcome.services).toEqual([
    {
      ...UNTOLD,
      ...{ ratingGroup: 10, usaget: 'data', reason: 'granted', granted: 510, validityMs: 600 },
      ...{ tariffChangeMs: 0, finalUnit: true, cost: 70, quote: null },
    },
    {
      ...UNTOLD,
      ...{ ratingGroup: 20, usaget: 'sms', reason: 'noRate', granted: 0, validityMs: 0 },
      ...{ tariffChangeMs: 0, finalUnit: false, cost: 0, quote: null },
    },
  ])
  expect(session.services).toMatchObject([{ usedTotal: 12, endedMicros: 70 }])
  expect(unpackSession(1, 7, KEY, packSession(session, KEY))).toEqual(session)
})

describe('what the product wrote with sessions of format 4', () => {
  it('a session has all that it had, in half the bytes', () => {
    const session = unpackSession(1006, 100_006, KEY, bytes(SESSION_4))
    const openedMs = 1_795_305_724_971
    expect(session).toMatchObject({
      ...{ aid: 1006, sid: 100_006, origin: 'http', sessionId: 'gw1-5', state: 'open', openedMs },
      ...{ expiresMs: openedMs + 3_686_360, lastNumber: 1, processed: 2 },
    })
    expect(session.answered).toEqual([
      {
        ...{ requestNumber: 1, digest: 7_765_193_062_474_811 },
        outcome: {
          ...{ reason: 'granted', detail: '', aid: 1006, sid: 100_006, cost: 0, balances: null },
          transactionId: `${KEY}-mwr2ob3f-2`,
          services: [
            {
              ...UNTOLD,
              ...{ ratingGroup: 10, usaget: 'data', reason: 'granted', granted: 10_485_760 },
              ...{ validityMs: 3_600_000, tariffChangeMs: 0, finalUnit: false, cost: 0 },
              quote: null,
            },
          ],
        },
      },
    ])
    const [data] = session.services
    expect(data).toMatchObject({ ratingGroup: 10, usaget: 'data', usedTotal: 7_340_032 })
    expect(data?.segment).toMatchObject({
      ...{ key: '5eed00000000000000000004.3|DEMO_PREPAID|202612|||', rateKey: 'DATA_10' },
      ...{ plan: 'DEMO_PREPAID', cycle: '202612', endMs: Date.UTC(2026, 11), number: 1 },
      ...{ version: 1, access: true, used: 7_340_032, firstMs: openedMs - 74 },
    })
    const packed = packSession(session, KEY)
    expect(unpackSession(1006, 100_006, KEY, packed)).toEqual(session)
    expect(packed.length).toBeLessThanOrEqual(bytes(SESSION_4).length / 2)
  })

  it('an owner has all that it had, and the scripts find its amounts where they were', () => {
    const old = bytes(OWNER_2)
    const owner = unpackOwner(1006, 100_006, old)
    expect(owner).toMatchObject({ version: 4, nextBucketId: 3, owed: 0, repaid: 0 })
    expect(owner.buckets).toMatchObject([
      { id: 1, kind: 'totalCost', usaget: '', priority: 10, free: 1_000_000_000 },
      { id: 2, kind: 'units', usaget: 'data', priority: 50, reserved: 10_485_760 },
    ])
    const packed = packOwner(owner)
    expect(unpackOwner(1006, 100_006, packed)).toEqual(owner)
    expect(packed.subarray(1, 145)).toEqual(old.subarray(1, 145))
    expect(packed.length).toBeLessThanOrEqual(170)
  })
})
