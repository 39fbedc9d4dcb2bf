import { describe, expect, it } from 'vitest'
import { lineDocument, pricingFields } from '../../../../src/catalog/records/usage/line-document.ts'
import { UNLIMITED_TOTAL } from '../../../../src/domain/counters.ts'
import { lineOf, withFields } from '../../../support/domain/lines.ts'
import { paymentOf as paid } from '../../../support/domain/requests.ts'
import { tariffFrom } from '../../../support/domain/tariffs.ts'

const line = lineOf({
  ...{ stamp: 's1', version: 3, aid: 17, sid: 18, origin: 'gw1', sessionId: 'abc' },
  ...{ rateKey: 'DATA_10', plan: 'GOLD', cycle: '202604' },
  ...{
    used: 3_000_000,
    chargedUnits: 2_000_000,
    charged: 1_234_567,
    debt: 34_567,
    accountDebt: 4_567,
  },
  ...{ access: true, priceOf: 'plan GOLD', band: 'night', forfeitedUnits: 4, forfeitedMicros: 5 },
  tariff: tariffFrom('600000/1000000+34567'),
  payments: [
    paid({ owner: 1, bucketId: 2, prepaidIncludeId: 3, kind: 'units', amount: 1_000_000 }),
    paid({ owner: 0, bucketId: 1, prepaidIncludeId: 1, kind: 'money', amount: 1_200_000 }),
  ],
  firstMs: Date.UTC(2026, 2, 20),
  lastMs: Date.UTC(2026, 2, 21),
})

const DOCUMENT = {
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
  service_identifier: null,
  usaget: 'data',
  called_number: '',
  arate_key: 'DATA_10',
  plan: 'GOLD',
  billrun: '202604',
  usagev: 3_000_000,
  in_group: 0,
  over_group: 0,
  out_group: 3_000_000,
  arategroups: [],
  priced_usagev: 2_000_000,
  rates: [
    {
      tariff_category: 'retail',
      key: 'DATA_10',
      add_to_retail: true,
      pricing: { charge: 1.234567 },
    },
  ],
  price_of: 'plan GOLD',
  band: 'night',
  aprice: 1.234567,
  aprice_micros: 1_234_567,
  group_cost: 0,
  group_cost_micros: 0,
  tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
  final_charge: 1.234567,
  exact: { aprice: '1.234567', tax: '0', final_charge: '1.234567' },
  rating: [
    {
      step: 'price',
      category: 'retail',
      rate: 'DATA_10',
      source: 'plan GOLD',
      band: 'night',
      method: 'tiered',
      units: 2_000_000,
      amount: '1.234567',
      part: 'charge',
    },
    {
      step: 'tier',
      tier: 1,
      units: 2_000_000,
      interval: 1_000_000,
      intervals: '2',
      price: '0.6',
      amount: '1.2',
    },
    { step: 'access', amount: '0.034567' },
    { step: 'bucket', owner: 'account', bucket: 2, include: 3, units: 1_000_000 },
    { step: 'bucket', owner: 'subscriber', bucket: 1, include: 1, money: '1.2' },
    { step: 'debt', money: '0.03' },
    { step: 'debt', owner: 'account', money: '0.004567' },
  ],
  debt: 0.034567,
  debt_micros: 34_567,
  account_debt_micros: 4_567,
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
}

describe('a line document', () => {
  it('uses the published names, and has exact money next to its number', () => {
    expect(lineDocument(line)).toEqual(DOCUMENT)
  })

  it('has no rating group if the request has none', () => {
    expect(lineDocument(withFields(line, { ratingGroup: -1 })).rating_group).toBeNull()
  })

  it('lists the included units and their groups', () => {
    const counter = 'group/GOLD/0/CALLS'
    const payments = [
      paid({ bucketId: 4, amount: 60, counter, left: 40, total: 100 }),
      paid({ owner: 1, kind: 'money', amount: 250_000, counter, left: 750_000, total: 1_000_000 }),
      paid({ counter, left: 5, total: UNLIMITED_TOTAL }),
      paid({ kind: 'money', amount: 100_000, counter: 'credit' }),
      paid({ owner: 1, bucketId: 8, kind: 'limit', amount: 100_000, counter: 'credit' }),
    ]
    const used = { used: 100, includedUnits: 61, includedMoneyUnits: 25, chargedUnits: 14 }
    const more = { hasGroups: true, includedMicros: 250_000, payments }
    const grouped = withFields(line, { ...used, ...more })
    const document = lineDocument(grouped)
    expect(document).toMatchObject({
      usagev: 100,
      in_group: 86,
      over_group: 14,
      out_group: 0,
      priced_usagev: 14,
      group_cost: 0.25,
      group_cost_micros: 250_000,
    })
    const balance_ref = { sid: 18, bucket_id: 1 }
    expect(document.arategroups).toEqual([
      { name: 'CALLS', usagev: 60, left: 40, total: 100, balance_ref: { sid: 18, bucket_id: 4 } },
      { name: 'CALLS', cost: 0.25, left: 0.75, total: 1, balance_ref: { sid: 0, bucket_id: 1 } },
      { name: 'CALLS', usagev: 1, left: 'UNLIMITED', total: 'UNLIMITED', balance_ref },
    ])
    expect(document.payments.slice(3)).toEqual([
      {
        owner: 'subscriber',
        bucket_id: 1,
        pp_includes_external_id: 0,
        counter: 'credit',
        cost: 0.1,
        cost_micros: 100_000,
      },
      {
        owner: 'account',
        bucket_id: 8,
        pp_includes_external_id: 0,
        counter: 'credit',
        limit: 0.1,
        limit_micros: 100_000,
      },
    ])
  })

  it('contains a price for every tariff category, and sums the additive ones', () => {
    const other = { category: 'wholesale', rateKey: 'W1', tariff: line.pricing.tariff }
    const others = [
      { ...other, isAdded: true },
      { ...other, rateKey: 'W2', isAdded: false },
    ]
    const { rates } = lineDocument(withFields(line, { charged: 3_069_134, others }))
    expect(rates).toMatchObject([
      { tariff_category: 'retail', key: 'DATA_10', add_to_retail: true },
      { tariff_category: 'wholesale', key: 'W1', add_to_retail: true },
      { tariff_category: 'wholesale', key: 'W2', add_to_retail: false },
    ])
    expect(rates.map(({ pricing }) => pricing.charge)).toEqual([1.234567, 1.834567, 1.834567])
  })

  it('is taxed and rounded; the amounts paid by balances are unchanged', () => {
    const vat = { key: 'DEFAULT_VAT', description: 'VAT', type: 'vat', rate: '0.17' }
    const taxes = [{ ...vat, isEmbedded: false }]
    const rounding = { mode: 'up', decimals: 0 } as const
    const document = lineDocument(withFields(line, { charged: 1_500_000, taxes, rounding }))
    expect(document).toMatchObject({
      aprice: 1.7094017094,
      aprice_micros: 1_500_000,
      final_charge: 2,
      tax_data: { total_amount: 0.2905982906, taxes: [{ key: 'DEFAULT_VAT' }] },
      before_rounding: { final_charge: 1.755, aprice: 1.5 },
    })
  })

  it('in fractions of units contains base units', () => {
    const payments = [paid({ amount: 50, counter: 'group/G/0/N', left: 25, total: 75 })]
    const fields = pricingFields(
      withFields(line, { used: 250, includedUnits: 50, chargedUnits: 200, payments }),
      2,
    )
    expect(fields).toMatchObject({
      usagev: 2.5,
      in_group: 0.5,
      out_group: 2,
      priced_usagev: 2,
      arategroups: [{ usagev: 0.5, left: 0.25, total: 0.75 }],
    })
  })
})
