import { describe, expect, it } from 'vitest'
import { STRICT } from '../../../src/catalog/compile/document.ts'
import { compileRate } from '../../../src/catalog/compile/rate.ts'
import { charge } from '../../../src/domain/tariff.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { REVISION, refusal, stored, tier } from '../../support/catalog/compile/stored.ts'

const price = { rate: [tier()] }

const rate = (fields: object = {}) =>
  stored({ key: 'CALL', rates: { call: { BASE: price } }, ...fields })

describe('a rate', () => {
  it('has general prices and prices of plans, by usage type', () => {
    const rates = { call: { BASE: price, GOLD: price }, sms: { GOLD: price } }
    const compiled = compileRate(stored({ key: 'CALL', rates }))
    expect(compiled).toMatchObject({ ...REVISION, key: 'CALL', method: 'tiered', rounding: null })
    expect([...compiled.usages.keys()]).toEqual(['call', 'sms'])
    expect(compiled.usages.get('call')?.base).not.toBeNull()
    expect([...(compiled.usages.get('call')?.plans.keys() ?? [])]).toEqual(['GOLD'])
    expect(compiled.usages.get('sms')?.base).toBeNull()
  })

  it('shares equal prices, but not prices with any difference', () => {
    const one = compileRate(rate())
    expect(compileRate(rate({ key: 'OTHER' })).usages).toBe(one.usages)
    expect(compileRate(rate({ pricing_method: 'volume' })).usages).not.toBe(one.usages)
    const rounding_rules = { rounding_type: 'up', rounding_stage: 'before_tax' }
    expect(compileRate(rate({ rounding_rules })).usages).not.toBe(one.usages)
    const fine = compileRate(rate(), { isStrict: false, unitDigits: 1 })
    expect(fine.usages.get('call')?.base?.tariff.tiers[0]?.interval).toBe(600)
  })

  it('can leave the price of a usage type to plans and services', () => {
    const usage = compileRate(rate({ rates: { call: {} } })).usages.get('call')
    expect([usage?.base, usage?.plans.size]).toEqual([null, 0])
    expect(refusal(() => compileRate(rate({ rates: { call: {} } }), STRICT))).toBe(
      'rates.call must have a price: BASE or a plan',
    )
  })

  it('can price a plan as a percentage of BASE', () => {
    const base = { access: 1, rate: [tier({ price: 0.3 })], bands: [{ name: 'N', rate: [tier()] }] }
    const rates = { call: { BASE: base, GOLD: { percentage: '0.5' } } }
    const gold = compileRate(rate({ rates })).usages.get('call')?.plans.get('GOLD')
    const tariffs = [gold!.tariff, gold!.bands[0]!.tariff]
    expect(tariffs.map((tariff) => charge(tariff, 1, true))).toEqual([650_000, 550_000])
  })

  it.each([
    [{}, { category: 'retail', addToRetail: true, play: '' }],
    [{ tariff_category: 'retail', add_to_retail: false }, { addToRetail: true }],
    [{ tariff_category: 'wholesale' }, { category: 'wholesale', addToRetail: false }],
    [{ tariff_category: 'wholesale', add_to_retail: true }, { addToRetail: true }],
    [
      { pricing_method: 'volume', play: 'X' },
      { method: 'volume', play: 'X' },
    ],
    [{ rounding_rules: { rounding_type: 'None' } }, { rounding: null }],
    [{ rounding_rules: [] }, { rounding: null }],
    [{ rounding_rules: { rounding_type: 'up', rounding_stage: 'None' } }, { rounding: null }],
    [
      { rounding_rules: { rounding_type: 'up', rounding_decimals: '3' } },
      { rounding: { mode: 'up', decimals: 3, stage: 'after_tax' } },
    ],
    [
      { rounding_rules: { rounding_type: 'nearest', rounding_stage: 'before_tax' } },
      { rounding: { mode: 'nearest', decimals: 2, stage: 'before_tax' } },
    ],
    [{ tax: [] }, { taxHints: [] }],
    [
      { tax: [{ type: 'vat', taxation: 'custom', custom_tax: 'LOW', custom_logic: 'fallback' }] },
      {
        taxHints: [{ type: 'vat', taxation: 'custom', customTax: 'LOW', customLogic: 'fallback' }],
      },
    ],
    [
      { tax: [{ taxation: 'no', custom_tax: 'LOW' }, {}] },
      {
        taxHints: [
          { type: 'vat', taxation: 'no', customTax: '', customLogic: 'override' },
          { type: 'vat', taxation: 'global', customTax: '', customLogic: 'override' },
        ],
      },
    ],
  ])('accepts %j', (fields, expected) => {
    expect(compileRate(rate(fields))).toMatchObject(expected)
  })

  it('returns the params and other fields used for matching, frozen', () => {
    const fields = { params: { prefix: ['44', '45'], zone: { name: 'Z' } }, zone: 1, vip: true }
    const { params } = compileRate(rate({ ...fields, description: 'Calls', tax: [] }))
    expect(params).toEqual({ key: 'CALL', prefix: ['44', '45'], zone: { name: 'Z' }, vip: true })
    expect(Object.isFrozen(params) && Object.isFrozen(params['prefix'])).toBe(true)
    expect(Object.isFrozen(params['zone'])).toBe(true)
    expect(compileRate(rate({ params: [] })).params).toEqual({ key: 'CALL' })
  })

  it('never ends after the maximum time', () => {
    const to = new Date('2175-01-01T00:00:00Z')
    expect(compileRate(rate({ to })).toMs).toBe(FOREVER_MS)
  })

  it.each([
    [{ key: undefined }, 'key is missing'],
    [{ key: 'call local' }, 'key must be a text of capital letters, digits and _'],
    [{ rates: undefined }, 'rates is missing'],
    [{ rates: [] }, 'rates must be an object of usage types'],
    [{ rates: {} }, 'rates must have at least one usage type'],
    [{ rates: { call: { BASE: 1 } } }, 'rates.call.BASE must be an object'],
    [
      { rates: { 'a.b': { BASE: price } } },
      'rates.a.b must be named with letters, digits, _ and - only',
    ],
    [
      { rates: { call: { BASE: price, prepaid_granted_cost: 5 } } },
      'rates.call.prepaid_granted_cost is not supported yet',
    ],
    [
      { rates: { call: { BASE: { percentage: 0.5 } } } },
      'rates.call.BASE.percentage is only allowed in prices that override another one',
    ],
    [
      { rates: { call: { GOLD: { percentage: 0.5 } } } },
      'rates.call.GOLD.percentage has no BASE price to refer to',
    ],
    [{ from: '2026-01-01' }, 'from must be a date'],
    [{ to: stored({})['from'] }, 'to must be after from'],
    [
      { pricing_method: 'magic' },
      "pricing_method must be 'tiered', 'volume', 'package' or 'graduated_flat'",
    ],
    [{ tariff_category: '' }, 'tariff_category must be a text that is not empty'],
    [{ params: 'prefix' }, 'params must be an object'],
    [
      { rounding_rules: { rounding_type: 'sideways' } },
      "rounding_rules.rounding_type must be one of None, up, down, nearest, is 'sideways'",
    ],
    [
      { rounding_rules: { rounding_type: 'up', rounding_decimals: 11 } },
      'rounding_rules.rounding_decimals must be an integer from 0 to 10',
    ],
    ...[7, 8, 9, '10'].map((rounding_decimals): [object, string] => [
      { rounding_rules: { rounding_type: 'up', rounding_decimals, rounding_stage: 'before_tax' } },
      'rounding_rules.rounding_decimals must be at most 6 with before_tax, ' +
        `is ${rounding_decimals}: balances pay millionths; use after_tax for the final charge`,
    ]),
    [
      { tax: [{ taxation: 'some' }] },
      "tax.0.taxation must be one of global, default, no, custom, is 'some'",
    ],
    [{ tax: [{ taxation: 'custom' }] }, 'tax.0.custom_tax is missing'],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compileRate(rate(fields)))).toBe(message)
  })
})
