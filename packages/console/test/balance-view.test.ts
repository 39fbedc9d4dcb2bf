import { describe, expect, it } from 'vitest'
import type { DecimalText, Figure } from '../src/api/figures.ts'
import { type Balance, balanceRows, microsText } from '../src/pages/customer/balance-view.ts'

const BALANCE: Balance = {
  _id: { $id: '000000000080000000010001' },
  aid: 1,
  sid: 2,
  bucket_id: 1,
  connection_type: 'prepaid',
  counter: '',
  pp_includes_external_id: 1,
  pp_includes_name: 'MONEY',
  charging_by: 'total_cost',
  charging_by_usaget: 'total_cost',
  to: '2099-01-01T00:00:00+0000',
  unlimited: false,
  balance: {},
  spent: 1_800_000,
  reserved: 400_000,
  free: 2_800_000,
  limit: 0,
  debt: 0,
}
const GROUP = {
  bucket_id: 2,
  connection_type: 'postpaid',
  counter: 'group/GOLD/0/CALLS',
  group_name: 'CALLS',
  holder: 'GOLD',
  charging_by: 'usagev',
  charging_by_usaget: 'call',
  balance: { groups: { CALLS: { left: 70, total: 100 } } },
  spent: 30,
  reserved: 10,
  free: -40,
  limit: 100,
} as const

describe('millionths as text', () => {
  it.each<[Figure, string]>([
    [0, '0'],
    [1, '0.000001'],
    [-5_000_000, '-5'],
    [420_000, '0.42'],
    [-10, '-0.00001'],
    [9_007_199_254_740_991, '9007199254.740991'],
    ['-90071992547409930' as DecimalText, '-90071992547.40993'],
  ])('%s', (micros, text) => expect(microsText(micros)).toBe(text))
})

describe('a balance', () => {
  it('has its amounts as text, and their sizes', () => {
    expect(balanceRows([BALANCE])).toMatchObject([
      {
        kind: 'credit',
        name: 'MONEY',
        unit: 'money',
        used: '1.8',
        reserved: '0.4',
        free: '2.8',
        total: null,
        to: '2099-01-01T00:00:00+0000',
        pieces: [
          { kind: 'used', size: 1_800_000 },
          { kind: 'reserved', size: 400_000 },
          { kind: 'free', size: 2_800_000 },
        ],
      },
    ])
  })

  it('of a group has what is left of the total', () => {
    const [row] = balanceRows([{ ...BALANCE, ...GROUP }])
    expect(row).toMatchObject({ kind: 'group', holder: 'GOLD', free: '70', total: '100' })
    expect(row?.pieces.map(({ size }) => size)).toEqual([30, 10, 60])
  })

  it('without a limit has no free part', () => {
    const total = 2 ** 52
    const groups = { CALLS: { left: 'UNLIMITED', total: 'UNLIMITED' } }
    const [row] = balanceRows([{ ...BALANCE, ...GROUP, limit: total, balance: { groups } }])
    expect(row).toMatchObject({ free: 'UNLIMITED', total: null })
    expect(row?.pieces.at(-1)).toEqual({ kind: 'free', size: 0 })
  })

  it('that has ended shows the forfeited rest', () => {
    const [row] = balanceRows([{ ...BALANCE, free: 0, lapsed: 2_800_000 }])
    expect(row).toMatchObject({ free: '0', lapsed: '2.8' })
  })

  it('that counts money has a total only with a limit', () => {
    const counter = { counter: 'credit', connection_type: 'postpaid', free: -1_800_000 } as const
    expect(balanceRows([{ ...BALANCE, ...counter }])).toMatchObject([
      { kind: 'postpaid', free: null, total: null },
    ])
    expect(balanceRows([{ ...BALANCE, ...counter, limit: 5_000_000 }])).toMatchObject([
      { kind: 'postpaid', free: null, total: '5' },
    ])
  })
})

describe('a debt', () => {
  it('is shown once for each owner, first', () => {
    const owing = { ...BALANCE, debt: '0.42' as DecimalText }
    const shared = { ...BALANCE, sid: 0, debt: 1 }
    const rows = balanceRows([owing, { ...owing, bucket_id: 2 }, shared])
    expect(rows.map(({ kind, debt, isShared }) => [kind, debt, isShared])).toEqual([
      ['debt', '0.42', false],
      ['debt', '1', true],
      ['credit', null, false],
      ['credit', null, false],
      ['credit', null, true],
    ])
  })

  it('without a balance is no balance', () => {
    const only = { ...BALANCE, bucket_id: 0, counter: 'debt', debt: '0.1' as DecimalText }
    expect(balanceRows([only]).map(({ kind }) => kind)).toEqual(['debt'])
  })
})
