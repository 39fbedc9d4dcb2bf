import { describe, expect, it } from 'vitest'
import { quoteCase } from '../../../src/billing/quote/quote-case.ts'
import {
  call,
  eventFields,
  perUnit,
  prepaid,
  quoteCaseOf,
  rate,
  resultsOf,
  WALLET,
  wallet,
} from '../../support/billing/quote/case-builder.ts'

const AMOUNTS = ['granted', 'aprice', 'in_group', 'over_group', 'out_group'] as const

describe('a case of the tariff bench', () => {
  it('shows price, groups, rate, tax and how the price is calculated', () => {
    const value = prepaid(10, {
      catalogue: { services: [{ name: 'S1' }] },
      subscriber: {
        sid: 1,
        aid: 1,
        plan: 'P',
        buckets: [wallet(10)],
        services: [{ name: 'S1', from: '2026-01-01 00:00:00' }],
      },
      expect: [{ aprice: 0.61 }],
    })
    expect(quoteCase(value)).toEqual({
      name: 'a story',
      results: [
        {
          aprice: 0.61,
          in_group: 0,
          over_group: 0,
          out_group: 61,
          arate_key: 'T01',
          granted: 61,
          final_charge: 0.61,
          tax_data: { total_amount: 0, total_tax: 0, taxes: [] },
          arategroups: [],
          rates: [
            {
              tariff_category: 'retail',
              key: 'T01',
              add_to_retail: true,
              pricing: { charge: 0.61 },
            },
          ],
          rating: [
            {
              step: 'price',
              category: 'retail',
              rate: 'T01',
              source: 'BASE',
              band: '',
              part: 'charge',
              method: 'tiered',
              units: 61,
              amount: '0.61',
            },
            {
              step: 'tier',
              tier: 1,
              units: 61,
              interval: 1,
              intervals: '61',
              price: '0.01',
              amount: '0.61',
            },
            { step: 'bucket', owner: 'subscriber', bucket: 1, include: 7, money: '0.61' },
          ],
          returnCode: 1,
          desc: 'Success',
        },
      ],
      ok: true,
    })
  })

  it('carries balances from event to event, and grants what they can pay for', () => {
    const events = [call(60), call(60), call(1)]
    expect(eventFields(prepaid(1, { events }), 'granted', 'aprice', 'returnCode')).toEqual([
      [60, 0.6, 1],
      [40, 0.4, 1],
      [0, 0, -1],
    ])
  })

  it('grants an event request completely or not at all', () => {
    const events = [call(101, { record_type: 'event_request' }), call(100)]
    expect(eventFields(prepaid(1, { events }), 'granted', 'aprice', 'returnCode', 'desc')).toEqual([
      [0, 0, -1, 'No available balances'],
      [100, 1, 1, 'Success'],
    ])
  })

  it('refunds an earlier event, once', () => {
    const session = { record_type: 'event_request', session_id: 'e1' }
    const refund = { refund: true, session_id: 'e1', urt: '2026-01-06T00:00:00Z' }
    const events = [call(60, session), refund, call(100), refund]
    expect(eventFields(prepaid(1, { events }), ...AMOUNTS, 'returnCode')).toEqual([
      [60, 0.6, 0, 0, 60, 1],
      [60, -0.6, 0, 0, -60, 1],
      [100, 1, 0, 0, 100, 1],
      [0, 0, 0, 0, 0, -14],
    ])
  })

  it('prices a negative volume in reverse, and moves nothing', () => {
    const base = { access: 0.2, rate: [{ from: 0, to: 'UNLIMITED', interval: 60, price: 1 }] }
    const groups = { G: { value: 100, usage_types: { call: {} } } }
    const catalogue = {
      rates: [rate('T01', 'call', base)],
      plans: [{ name: 'P', connection_type: 'prepaid', include: { groups } }],
    }
    const events = [call(-61), call(100), call(-61)]
    expect(eventFields(quoteCaseOf({ catalogue, events }), ...AMOUNTS)).toEqual([
      [-61, -2.2, 0, 0, -61],
      [100, 0, 100, 0, 0],
      [-61, -2.2, 0, 0, -61],
    ])
  })

  it('finds the rate for zero units, and charges nothing', () => {
    const events = [call(0), call(0, { rate: 'T02' })]
    expect(eventFields(prepaid(0, { events }), 'returnCode', 'granted', 'arate_key')).toEqual([
      [1, 0, 'T01'],
      [-3, 0, ''],
    ])
  })

  it('supports several subscribers, and shared balances of their account', () => {
    const value = {
      ...quoteCaseOf({ catalogue: { prepaidincludes: [{ ...WALLET, shared: true }] } }),
      subscriber: undefined,
      subscribers: [
        { sid: 5, plan: 'P', buckets: [wallet(1)] },
        { sid: 6, plan: 'P' },
      ],
      events: [call(60, { sid: 6 }), call(60), call(1, { sid: 7 })],
    }
    expect(eventFields(value, 'granted', 'returnCode')).toEqual([
      [60, 1],
      [40, 1],
      [0, -2],
    ])
  })

  it('pools a shared group by the services of each subscriber', () => {
    const groups = { G: { value: 50, usage_types: { call: {} }, account_pool: true } }
    const value = {
      ...quoteCaseOf({ catalogue: { services: [{ name: 'S', include: { groups } }] } }),
      subscriber: undefined,
      subscribers: [
        { plan: 'P', services: [{ name: 'S' }] },
        { plan: 'P', services: [{ name: 'S', quantity: 2 }] },
      ],
      events: [call(140, { sid: 1 }), call(20, { sid: 2 })],
    }
    expect(eventFields(value, ...AMOUNTS)).toEqual([
      [140, 0, 140, 0, 0],
      [20, 0.1, 10, 10, 0],
    ])
    expect(resultsOf(value)[1]?.arategroups).toMatchObject([
      { name: 'G', usagev: 10, left: 0, total: 150 },
    ])
  })

  it('adds up an event that extends beyond the end of a time band', () => {
    const night = { name: 'night', from: '22:00', to: '06:00', ...perUnit(0.01) }
    const base = { ...perUnit(0.1), bands: [night] }
    const event = call(120, { urt: '2026-01-05T21:59:00Z', eurt: '2026-01-05T22:01:00Z' })
    const [result] = resultsOf(
      quoteCaseOf({ catalogue: { rates: [rate('T01', 'call', base)] }, events: [event] }),
    )
    expect(result).toMatchObject({ granted: 120, aprice: 6.6, out_group: 120 })
    const prices = result?.rating.filter(({ step }) => step === 'price')
    expect(prices).toMatchObject([
      { band: '', units: 60, amount: '6' },
      { band: 'night', units: 60, amount: '0.6' },
    ])
  })

  it('taxes, rounds the final charge, scales the price, and shows each step', () => {
    const rounding_rules = { rounding_type: 'up', rounding_decimals: 0 }
    const catalogue = {
      rates: [rate('T01', 'call', perUnit(0.01), { rounding_rules })],
      taxes: [{ key: 'VAT', rate: 0.17 }],
    }
    const config = { default_tax: 'VAT' }
    const value = quoteCaseOf({ catalogue, config })
    expect(eventFields(value, 'aprice', 'final_charge', 'before_rounding')).toEqual([
      [0.8547008547, 1, { aprice: 0.61, final_charge: 0.7137 }],
    ])
    expect(eventFields(quoteCaseOf({ catalogue }), 'returnCode', 'final_charge')).toEqual([[1, 1]])
    const missing = quoteCaseOf({ catalogue, config: { default_tax: 'GST' } })
    expect(eventFields(missing, 'returnCode', 'desc')).toEqual([[-5, 'Tax not found']])
  })

  it.each([
    '2026-01-05T18:31:05Z',
    '2026-01-05T18:31:05+0000',
    '2026-01-05 18:31:05',
    1767637865,
    '1767637865.5',
    { sec: 1767637865, usec: 0 },
  ])('accepts a time as the entity API and the wire write it: %j', (time) => {
    const date = typeof time === 'object' ? time : '2026-01-05T18:31:05Z'
    const catalogue = {
      rates: [rate('T01', 'call', perUnit(0.01), { from: date, to: { sec: 1e10, usec: 0 } })],
    }
    const events = [call(1, { urt: time }), call(1, { urt: '2026-01-05T18:31:04Z' })]
    expect(eventFields(quoteCaseOf({ catalogue, events }), 'returnCode')).toEqual([[1], [-3]])
  })

  it('accepts an account and a subscriber as the entity API returns them', () => {
    const read = {
      revision_info: { status: 'active' },
      creation_time: '2026-01-01T00:00:00+0000',
      activation_date: { sec: 1767225600, usec: 0 },
    }
    const account = { ...read, aid: 1, tenant_return_url: 'https://ui.example.org/' }
    const subscriber = { ...read, aid: 1, plan: 'P' }
    expect(eventFields(quoteCaseOf({ account, subscriber }), 'granted')).toEqual([[61]])
  })

  it('finds the rate by matching where an event names none', () => {
    const rate_calculators = {
      retail: {
        call: [[{ type: 'longestPrefix', rate_key: 'params.prefix', line_key: 'dialled' }]],
      },
    }
    const rates = [
      rate('ABROAD', 'call', perUnit(1), { params: { prefix: ['49'] } }),
      rate('CITY', 'call', perUnit(2), { params: { prefix: ['4930'] } }),
    ]
    const events = [
      { usaget: 'call', usagev: 1, dialled: '4915112345' },
      { usaget: 'call', usagev: 1, uf: { dialled: '49301' } },
    ]
    const value = quoteCaseOf({ catalogue: { rates }, config: { rate_calculators }, events })
    expect(eventFields(value, 'arate_key', 'aprice')).toEqual([
      ['ABROAD', 1],
      ['CITY', 2],
    ])
  })

  it('allows a call to a free number', () => {
    const events = [call(60, { called_number: '1121' })]
    const value = prepaid(0, { config: { free_numbers: ['112*'] }, events })
    expect(eventFields(value, 'granted', 'aprice', 'arate_key')).toEqual([[60, 0, 'FREE']])
  })

  it('counts by the cycles of the time zone that it names', () => {
    const groups = { G: { value: 50, usage_types: { call: {} } } }
    const catalogue = { plans: [{ name: 'P', include: { groups } }] }
    const events = [
      call(50, { urt: '2026-01-31 23:59:59' }),
      call(50, { urt: '2026-02-01 00:00:00' }),
      call(50, { urt: '2026-01-31T22:59:59Z' }),
    ]
    const config = { time_zone: 'Europe/Berlin' }
    expect(eventFields(quoteCaseOf({ catalogue, config, events }), 'in_group')).toEqual([
      [50],
      [50],
      [0],
    ])
  })

  it('charges in advance where there is credit, unless the plan says otherwise', () => {
    const plans = [{ name: 'P', connection_type: 'postpaid' }]
    expect(eventFields(prepaid(0.5), 'granted')).toEqual([[50]])
    expect(eventFields(prepaid(0.5, { catalogue: { plans } }), 'granted')).toEqual([[61]])
    expect(eventFields(quoteCaseOf(), 'granted')).toEqual([[61]])
  })

  it('prices overlapping tiers by their sizes', () => {
    const tiers = [
      { from: 0, to: 10, interval: 1, price: 1 },
      { from: 0, to: 1, interval: 1, price: 100 },
    ]
    const catalogue = { rates: [rate('T01', 'call', { rate: tiers, access: 1000 })] }
    expect(eventFields(quoteCaseOf({ catalogue, events: [call(11)] }), 'aprice')).toEqual([[1110]])
  })
})

describe('fractions of units', () => {
  it('are counted as precisely as volumes, unit buckets and groups are written', () => {
    const groups = { G: { value: 0.5, usage_types: { call: {} } } }
    const catalogue = {
      rates: [rate('T01', 'call', { rate: [{ from: 0, to: 0.7, interval: 0.1, price: 0.3 }] })],
      plans: [{ name: 'P', connection_type: 'prepaid', include: { groups } }],
      prepaidincludes: [
        { external_id: 7, charging_by: 'total_cost' },
        { external_id: 8, charging_by: 'usagev', charging_by_usaget: 'call', priority: 9 },
      ],
    }
    const buckets = [wallet(0.7), { pp_includes_external_id: 8, value: 0.25 }]
    const events = [call(1.05), call(0.1)]
    const value = quoteCaseOf({ catalogue, subscriber: { plan: 'P', buckets }, events })
    expect(eventFields(value, ...AMOUNTS)).toEqual([
      // 0.5 of the group, 0.25 of the bucket, and two of three intervals.
      [0.95, 0.6, 0.5, 0.45, 0],
      [0, 0, 0, 0, 0],
    ])
    expect(resultsOf(value)[0]?.rating).toMatchObject([
      { step: 'price', units: 0.2, amount: '0.6' },
      { step: 'tier', units: 0.2, interval: 0.1, intervals: '2' },
      { step: 'group', units: 0.5, left: '0', total: '0.5' },
      { step: 'bucket', include: 8, units: 0.25 },
      { step: 'bucket', include: 7, money: '0.6' },
    ])
  })

  it('are granted as whole units where only tiers have fractions', () => {
    const tier = { from: 0, to: 'UNLIMITED', interval: 0.5, price: 0.4 }
    const catalogue = { rates: [rate('T01', 'call', { rate: [tier] })] }
    expect(eventFields(prepaid(1, { catalogue, events: [call(3)] }), 'granted', 'aprice')).toEqual([
      [1, 0.8],
    ])
  })
})

describe('the maximum cost of a case', () => {
  const billion = { rates: [rate('T01', 'call', perUnit(1e9))] }

  it('is that of a billing cycle on a postpaid plan', () => {
    const urts = ['2026-01-10', '2026-01-11', '2026-02-01'].map((day) => `${day}T00:00:00Z`)
    const events = urts.map((urt) => call(3, { urt }))
    expect(eventFields(quoteCaseOf({ catalogue: billion, events }), 'granted')).toEqual([
      [3],
      [1],
      [3],
    ])
  })

  it('is the balance of the buckets on a prepaid plan', () => {
    const buckets = [wallet(4_503_599_627), wallet(4_503_599_627)]
    const value = prepaid(1, {
      catalogue: billion,
      subscriber: { plan: 'P', buckets },
      events: [call(13), call(13)],
    })
    expect(eventFields(value, 'granted')).toEqual([[9], [0]])
  })
})
