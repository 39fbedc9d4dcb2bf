import { describe, expect, it } from 'vitest'
import {
  balanceDocument,
  balanceViewAt,
  debtBucket,
} from '../../../../src/catalog/records/usage/balance-document.ts'
import { bucketOf } from '../../../../src/catalog/records/usage/recorded-values.ts'
import {
  type Bucket,
  EMPTY_LIMIT,
  emptyOwner,
  type OwnerState,
} from '../../../../src/domain/bucket.ts'
import { UNLIMITED_TOTAL } from '../../../../src/domain/counters.ts'
import { FOREVER_MS } from '../../../../src/domain/time.ts'

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
  counter: '',
}

const owner: OwnerState = {
  ...emptyOwner(17, 18),
  version: 9,
  nextBucketId: 5,
  owed: 20,
  repaid: 15,
  buckets: [bucket],
}

describe('a balance document', () => {
  it('shows available credit as a negative number, with the exact parts', () => {
    expect(balanceDocument(owner, bucket, 'DATA_PACK')).toEqual({
      aid: 17,
      sid: 18,
      bucket_id: 4,
      v: 9,
      connection_type: 'prepaid',
      counter: '',
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
      debt: 0.000005,
      owner: { next_bucket_id: 5, owed_micros: 20, repaid_micros: 15 },
    })
  })

  it.each([
    ['cost', 'call', 12_500_000, { totals: { call: { cost: -12.5 } } }, 'cost', 'call'],
    ['totalCost', '', 30_000_000, { cost: -30 }, 'total_cost', 'total_cost'],
    ['totalCost', '', 0, { cost: 0 }, 'total_cost', 'total_cost'],
    ['totalCost', '', -1_000_001, { cost: 1.000001 }, 'total_cost', 'total_cost'],
  ] as const)('of %s %s with %i available is %j', (kind, usaget, free, balance, by, byUsaget) => {
    const document = balanceDocument(owner, { ...bucket, kind, usaget, free }, '')
    expect(document.balance).toStrictEqual(balance)
    expect([document.charging_by, document.charging_by_usaget]).toEqual([by, byUsaget])
  })

  it('of an account is shared; without an end it is unlimited', () => {
    const endless = { ...bucket, toMs: FOREVER_MS }
    expect(balanceDocument({ ...owner, sid: 0 }, endless, '')).toMatchObject({
      sid: 0,
      shared: true,
      unlimited: true,
    })
  })
})

const counter: Bucket = {
  ...bucket,
  prepaidIncludeId: 0,
  usaget: '',
  priority: 0,
  counter: 'group/GOLD/0/CALLS',
  credited: 0,
  spent: 300,
  reserved: 200,
  free: -500,
  limit: 6000,
}

describe('a counter document', () => {
  it('of a group counts used units and shows the remaining ones', () => {
    expect(balanceDocument(owner, counter, '')).toMatchObject({
      connection_type: 'postpaid',
      counter: 'group/GOLD/0/CALLS',
      group_name: 'CALLS',
      holder: 'GOLD',
      charging_by: 'usagev',
      balance: { groups: { CALLS: { usagev: 300, left: 5700, total: 6000 } } },
      credited: 0,
      spent: 300,
      reserved: 200,
      free: -500,
      limit: 6000,
    })
    expect(balanceDocument(owner, counter, '')).not.toHaveProperty('service_name')
  })

  it('of a service that is identified by an id contains both', () => {
    const held = { ...counter, counter: 'group/TV/1700000000000002/TV/HD' }
    expect(balanceDocument(owner, held, '')).toMatchObject({
      group_name: 'TV/HD',
      service_name: 'TV',
      service_id: 1_700_000_000_000_002,
    })
    const unnamed = { ...counter, counter: 'group/TV/-1/HD' }
    expect(balanceDocument(owner, unnamed, '')).not.toHaveProperty('service_id')
  })

  it.each([
    [{ kind: 'totalCost', spent: 1_500_000, free: -1_500_200, limit: 2_000_000 }, 1.5, 0.5, 2],
    [{ kind: 'totalCost', limit: EMPTY_LIMIT }, 0.0003, 0, 0],
    [{ kind: 'totalCost', limit: UNLIMITED_TOTAL }, 0.0003, 'UNLIMITED', 'UNLIMITED'],
  ] as const)('of money %j has used %d, left %s of %s', (more, cost, left, total) => {
    const money = { ...counter, ...more }
    const { balance } = balanceDocument(owner, money, '')
    expect(balance).toEqual({ groups: { CALLS: { cost, left, total } } })
  })

  it.each([
    ['usagev', 'units', { usagev: 300 }],
    ['cost', 'totalCost', { cost: 0.0003 }],
    ['over_group', 'units', { over_group: { usagev: 300 } }],
  ] as const)('of a total of usage (%s) is that of its usage type', (measure, kind, amounts) => {
    const counter = `total/sms/${measure}`
    const counted = { kind, counter, credited: 0, reserved: 0, free: -300, limit: UNLIMITED_TOTAL }
    const { balance, connection_type } = balanceDocument(owner, { ...bucket, ...counted }, '')
    expect({ balance, connection_type }).toEqual({
      balance: { totals: { sms: amounts } },
      connection_type: 'postpaid',
    })
  })

  it('of credit counts the debt', () => {
    const credit: Bucket = { ...counter, kind: 'totalCost', counter: 'credit', limit: 2 ** 52 }
    const document = balanceDocument(owner, { ...credit, spent: 2_500_000 }, '')
    expect(document).toMatchObject({ connection_type: 'postpaid', balance: { cost: 2.5 } })
    expect(document).not.toHaveProperty('group_name')
  })
})

describe('the response view of a balance', () => {
  const { toMs } = bucket

  it('that has ended shows nothing available and the forfeited units', () => {
    const shown = balanceViewAt(owner, bucket, 'DATA_PACK', toMs)
    expect(shown).toEqual({
      ...balanceDocument(owner, bucket, 'DATA_PACK'),
      balance: { totals: { data: { usagev: 0 } } },
      free: 0,
      lapsed: 500,
    })
    const money: Bucket = { ...bucket, kind: 'totalCost', usaget: '', free: 2_500_000 }
    expect(balanceViewAt(owner, money, '', toMs + 1)).toMatchObject({
      balance: { cost: 0 },
      free: 0,
      lapsed: 2_500_000,
      reserved: 200,
    })
  })

  it('that has not ended, or is a counter, is the stored document', () => {
    for (const one of [bucket, counter]) {
      const atMs = one === bucket ? toMs - 1 : FOREVER_MS
      expect(balanceViewAt(owner, one, '', atMs)).toEqual(balanceDocument(owner, one, ''))
    }
  })

  it('of an owner without balances is the debt of the owner', () => {
    expect(balanceDocument({ ...owner, sid: 0 }, debtBucket(owner), '')).toMatchObject({
      aid: 17,
      sid: 0,
      bucket_id: 0,
      v: 9,
      counter: 'debt',
      shared: true,
      unlimited: true,
      balance: { cost: 0.000005 },
      credited: 0,
      spent: 5,
      reserved: 0,
      free: -5,
      debt: 0.000005,
      owner: { owed_micros: 20, repaid_micros: 15 },
    })
  })
})

describe('a balance read back from its document', () => {
  it.each([
    ['a bucket', bucket],
    ['a counter', counter],
    ['an empty counter', { ...counter, limit: EMPTY_LIMIT, spent: 0, free: -200 }],
    ['credit', { ...counter, kind: 'totalCost', counter: 'credit' }],
  ] as [string, Bucket][])('equals the original: %s', (_, one) => {
    expect(bucketOf(balanceDocument(owner, one, ''))).toEqual(one)
  })

  it('from before the introduction of counters is prepaid credit', () => {
    const { counter: _, ...document } = balanceDocument(owner, bucket, '')
    expect(bucketOf(document as never)).toEqual(bucket)
  })

  it.each([
    ['a counter that is not a text', { counter: 5 }],
    ['a negative limit', { limit: -2 }],
    ['prepaid credit with a negative limit', { counter: '', limit: EMPTY_LIMIT }],
  ])('is refused as damaged: %s', (_, more) => {
    expect(bucketOf({ ...balanceDocument(owner, counter, ''), ...more } as never)).toBeNull()
  })
})
