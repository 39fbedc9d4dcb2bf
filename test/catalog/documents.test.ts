import { describe, expect, it } from 'vitest'
import { balanceDocument, balanceLineDocument, lineDocument } from '../../src/catalog/documents.ts'
import { type Bucket, emptyOwner, type OwnerState } from '../../src/domain/bucket.ts'
import type { Line, OperationLine } from '../../src/domain/line.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'

const line: Line = {
  stamp: 's1',
  version: 3,
  aid: 17,
  sid: 18,
  origin: 'gw1',
  sessionId: 'abc',
  ratingGroup: 10,
  usaget: 'data',
  calledNumber: '',
  rateKey: 'DATA_10',
  plan: 'GOLD',
  cycle: '202604',
  used: 3_000_000,
  priced: 2_000_000,
  charged: 1_234_567,
  debt: 34_567,
  lapsedUnits: 4,
  lapsedMicros: 5,
  payments: [
    { owner: 1, bucketId: 2, prepaidIncludeId: 3, kind: 'units', amount: 1_000_000 },
    { owner: 0, bucketId: 1, prepaidIncludeId: 1, kind: 'money', amount: 1_200_000 },
  ],
  firstMs: Date.UTC(2026, 2, 20),
  lastMs: Date.UTC(2026, 2, 21),
  state: 'open',
  late: false,
}

describe('line', () => {
  it('has the names that clients know, and exact money beside its number', () => {
    expect(lineDocument(line)).toEqual({
      stamp: 's1',
      v: 3,
      type: 'realtime',
      source: 'realtime',
      state: 'open',
      late: false,
      aid: 17,
      sid: 18,
      origin: 'gw1',
      session_id: 'abc',
      rating_group: 10,
      usaget: 'data',
      called_number: '',
      arate_key: 'DATA_10',
      plan: 'GOLD',
      billrun: '202604',
      usagev: 3_000_000,
      priced_usagev: 2_000_000,
      aprice: 1.234567,
      aprice_micros: 1_234_567,
      debt: 0.034567,
      debt_micros: 34_567,
      lapsed_usagev: 4,
      lapsed_micros: 5,
      payments: [
        { owner: 'account', bucket_id: 2, pp_includes_external_id: 3, usagev: 1_000_000 },
        {
          owner: 'subscriber',
          bucket_id: 1,
          pp_includes_external_id: 1,
          cost: 1.2,
          cost_micros: 1_200_000,
        },
      ],
      urt: new Date('2026-03-20T00:00:00Z'),
      last_urt: new Date('2026-03-21T00:00:00Z'),
    })
  })

  it('has no rating group where the request had none', () => {
    expect(lineDocument({ ...line, ratingGroup: -1 }).rating_group).toBeNull()
  })
})

const bucket: Bucket = {
  id: 4,
  prepaidIncludeId: 7,
  kind: 'units',
  usaget: 'data',
  priority: 50,
  fromMs: Date.UTC(2026, 2, 1),
  toMs: Date.UTC(2026, 3, 1),
  credited: 1000,
  spent: 300,
  reserved: 200,
  free: 500,
  limit: 0,
}

const owner: OwnerState = {
  ...emptyOwner(17, 18),
  version: 9,
  nextBucketId: 5,
  owed: 20,
  repaid: 15,
  buckets: [bucket],
}

describe('balance', () => {
  it('shows free credit as a negative number, and the exact parts', () => {
    expect(balanceDocument(owner, bucket, 'DATA_PACK')).toEqual({
      aid: 17,
      sid: 18,
      bucket_id: 4,
      v: 9,
      connection_type: 'prepaid',
      pp_includes_external_id: 7,
      pp_includes_name: 'DATA_PACK',
      charging_by: 'usagev',
      charging_by_usaget: 'data',
      priority: 50,
      from: new Date('2026-03-01T00:00:00Z'),
      to: new Date('2026-04-01T00:00:00Z'),
      shared: false,
      unlimited: false,
      balance: { totals: { data: { usagev: -500 } } },
      credited: 1000,
      spent: 300,
      reserved: 200,
      free: 500,
      limit: 0,
      owner: { next_bucket_id: 5, owed_micros: 20, repaid_micros: 15 },
    })
  })

  it.each([
    ['cost', 'call', 12_500_000, { totals: { call: { cost: -12.5 } } }, 'cost', 'call'],
    ['totalCost', '', 30_000_000, { cost: -30 }, 'total_cost', 'total_cost'],
    ['totalCost', '', 0, { cost: 0 }, 'total_cost', 'total_cost'],
    ['totalCost', '', -1_000_001, { cost: 1.000001 }, 'total_cost', 'total_cost'],
  ] as const)('of %s %s with %i free is %j', (kind, usaget, free, balance, by, byUsaget) => {
    const document = balanceDocument(owner, { ...bucket, kind, usaget, free }, '')
    expect(document.balance).toStrictEqual(balance)
    expect([document.charging_by, document.charging_by_usaget]).toEqual([by, byUsaget])
  })

  it('of an account is shared; without an end it is unlimited; with a limit postpaid', () => {
    const endless = { ...bucket, toMs: FOREVER_MS, limit: 5 }
    expect(balanceDocument({ ...owner, sid: 0 }, endless, '')).toMatchObject({
      sid: 0,
      shared: true,
      unlimited: true,
      connection_type: 'postpaid',
    })
  })
})

const operation: OperationLine = {
  stamp: 'o1',
  aid: 17,
  sid: 18,
  operationId: 'op-1',
  operation: 'topup',
  bucketId: 4,
  prepaidIncludeId: 7,
  kind: 'money',
  usaget: '',
  amount: 10_000_000,
  before: 2_500_000,
  after: 12_000_000,
  repaid: 500_000,
  atMs: Date.UTC(2026, 2, 20),
  version: 12,
  priority: 60,
  fromMs: Date.UTC(2026, 2, 1),
  toMs: FOREVER_MS,
}

describe('balance line', () => {
  it('of money has the sign of balances', () => {
    expect(balanceLineDocument(operation, 'MONEY')).toEqual({
      stamp: 'o1',
      v: 1,
      type: 'balance',
      source: 'realtime',
      usaget: 'balance',
      aid: 17,
      sid: 18,
      operation: 'topup',
      operation_id: 'op-1',
      charging_type: 'prepaidinclude',
      charging_usaget: 'total_cost',
      pp_includes_external_id: 7,
      pp_includes_name: 'MONEY',
      bucket_id: 4,
      balance_before: -2.5,
      balance_after: -12,
      balance_normalized: 0,
      aprice: -9.5,
      aprice_micros: -9_500_000,
      repaid_micros: 500_000,
      owner_v: 12,
      priority: 60,
      from: new Date('2026-03-01T00:00:00Z'),
      to: new Date(FOREVER_MS),
      urt: new Date('2026-03-20T00:00:00Z'),
    })
  })

  it('of units has a volume and no price', () => {
    const units = { ...operation, kind: 'units', usaget: 'data', before: 0, after: 100 } as const
    const document = balanceLineDocument(units, 'PACK')
    expect(document).toMatchObject({ usagev: -100, charging_usaget: 'data', balance_before: 0 })
    expect(document).not.toHaveProperty('aprice')
  })
})
