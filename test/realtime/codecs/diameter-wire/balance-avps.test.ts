/** Balances and cost that a file type may return beside grants (TS 32.299 section 6.4.3). */
import { describe, expect, it } from 'vitest'
import type { BalanceReport } from '../../../../src/domain/charge-outcome.ts'
import { createWireCodec } from '../../../../src/realtime/codecs/diameter-wire/wire-codec.ts'
import { builtIn, fileTypeOf } from '../../../support/realtime/codecs/diameter/file-type.ts'
import {
  context,
  identity,
  outcomeFor,
  requestIn,
} from '../../../support/realtime/codecs/diameter-wire/codecs.ts'
import { data } from '../../../support/realtime/codecs/diameter-wire/composed.ts'
import { messageOf, treeOf } from '../../../support/realtime/codecs/diameter-wire/trees.ts'

/** The built-in file type with the additions described in `docs/DIAMETER.md`. */
function codecWith(threshold?: string | number) {
  const { response, realtime, ...rest } = builtIn()
  const { fields, ...others } = response as { fields: object[] }
  const own = [
    { response_field_name: 'Low-Balance-Indication', row_field_name: 'low_balance' },
    {
      response_field_name: 'Remaining-Balance.Unit-Value',
      row_field_name: 'remaining_balance',
    },
    {
      response_field_name: 'Remaining-Balance.Currency-Code',
      row_field_name: 'currency_code',
      conditions: [{ field_name: 'remaining_balance', op: '$exists', value: true }],
    },
    {
      response_field_name: 'Cost-Information.Unit-Value',
      row_field_name: 'cost',
      conditions: [{ field_name: 'record_type', value: 'update_request' }],
    },
    {
      response_field_name: 'Cost-Information.Currency-Code',
      row_field_name: 'currency_code',
      conditions: [{ field_name: 'record_type', value: 'update_request' }],
    },
  ]
  const document = {
    ...rest,
    realtime: { ...realtime, ...(threshold !== undefined && { low_balance_threshold: threshold }) },
    response: { ...others, fields: [...fields, ...own] },
  }
  return createWireCodec(fileTypeOf(document), identity)
}

const money = (free: number, more: Partial<BalanceReport> = {}): BalanceReport => ({
  prepaidIncludeId: 1,
  kind: 'money',
  usaget: '',
  counter: '',
  free,
  reserved: 7,
  toMs: 0,
  debt: 0,
  ...more,
})

function answered(balances: BalanceReport[] | null, threshold?: string | number) {
  const codec = codecWith(threshold)
  const body = messageOf(data)
  const request = requestIn(codec, body)
  const decoded = codec.decode(body, context)
  if (!decoded.ok) throw new Error(decoded.error.why)
  const outcome = { ...outcomeFor(request), balances }
  return { request, tree: treeOf(codec.encode(decoded.envelope, outcome)) }
}

const amount = (digits: number, exponent: number) => ({
  'Unit-Value': { 'Value-Digits': digits, Exponent: exponent },
  'Currency-Code': 999,
})

describe('the answer to an update', () => {
  it('has the cost of the session and the remaining money as digits and exponent', () => {
    const { request, tree } = answered([money(9_500_000), money(250_000)])
    expect(request.wantBalances).toBe(true)
    expect(tree['Cost-Information']).toEqual(amount(125, -2))
    expect(tree['Remaining-Balance']).toEqual(amount(975, -2))
    expect(tree).not.toHaveProperty('Low-Balance-Indication')
  })

  it.each<[string, BalanceReport[] | null, object | undefined]>([
    ['nothing', [money(0)], { 'Unit-Value': { 'Value-Digits': 0 }, 'Currency-Code': 999 }],
    ['micros', [money(1)], amount(1, -6)],
    ['a large amount', [money(9_000_000_000_000_001)], amount(9_000_000_000_000_001, -6)],
    ['a negative balance', [money(-1_500_000)], amount(-15, -1)],
    [
      'credit: the remainder of the nearest limit',
      [money(5), money(3_000_000, { counter: 'credit' }), money(200_000, { counter: 'credit' })],
      amount(2, -1),
    ],
    [
      'money, without units and included units',
      [money(4_000_000, { kind: 'units' }), money(9, { counter: 'group/PLAN/0/G' }), money(3e6)],
      { 'Unit-Value': { 'Value-Digits': 3 }, 'Currency-Code': 999 },
    ],
    ['absent without money', [money(4_000_000, { kind: 'units' })], undefined],
    ['absent in a failure', null, undefined],
  ])('has the remaining balance: %s', (_what, balances, expected) => {
    expect(answered(balances).tree['Remaining-Balance']).toEqual(expected)
  })

  it('has a low-balance indication by the threshold of the file type', () => {
    const low = (free: number, threshold: string | number) =>
      answered([money(free)], threshold).tree['Low-Balance-Indication']
    expect(low(999_999, 1)).toBe(1)
    expect(low(1_000_000, 1)).toBe(0)
    expect(low(0, '0.000001')).toBe(1)
    expect(low(0, 0)).toBe(0)
    expect(answered(null, 1).tree).not.toHaveProperty('Low-Balance-Indication')
  })

  it.each([-1, 'x', '0.0000001', {}])('cannot have a threshold of %j', (threshold) => {
    expect(() => codecWith(threshold as string)).toThrow(
      'low_balance_threshold must be an amount of money from 0 with at most 6 decimals',
    )
  })
})
