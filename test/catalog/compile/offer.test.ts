import { describe, expect, it } from 'vitest'
import { compilePlan, compileService } from '../../../src/catalog/compile/offer.ts'
import { UNLIMITED_TOTAL } from '../../../src/domain/counters.ts'
import { REVISION, refusal, stored, tier } from '../../support/catalog/compile/stored.ts'

const plan = (fields: object = {}) =>
  stored({ name: 'GOLD', connection_type: 'prepaid', ...fields })
const groupsOf = (groups: object) => compilePlan(plan({ include: { groups } })).groups
const groupOf = (group: object) => groupsOf({ G: group })[0]

describe('a plan', () => {
  it('has the fields that charging reads', () => {
    const compiled = compilePlan(
      plan({
        disallowed_rates: ['PREMIUM'],
        include: { services: ['TV'] },
        rates: { CALL: { call: { rate: [tier()] } } },
        description: 'Gold',
        upfront: true,
        level: 3,
        play: ['A'],
        rounding_rules: { rounding_type: 'up' },
      }),
    )
    expect(compiled).toMatchObject({ ...REVISION, name: 'GOLD', connectionType: 'prepaid' })
    expect([...compiled.disallowedRates]).toEqual(['PREMIUM'])
    expect(compiled.services).toEqual(['TV'])
    expect([...compiled.prices.keys()]).toEqual(['CALL'])
    const facts = { name: 'GOLD', connection_type: 'prepaid', description: 'Gold' }
    expect(compiled.facts).toEqual({ ...facts, upfront: true, level: 3 })
  })

  it.each([
    [{ connection_type: 'barter' }, "connection_type must be 'prepaid' or 'postpaid'"],
    [{ disallowed_rates: 'PREMIUM' }, 'disallowed_rates must be a list of rate keys'],
    [{ disallowed_rates: [1] }, 'disallowed_rates.0 must be a text that is not empty'],
    [{ rates: { CALL: { call: {} } } }, 'rates.CALL.call.rate is missing'],
    [{ include: 5 }, 'include must be an object'],
    [{ include: { services: [''] } }, 'include.services.0 must be a text that is not empty'],
    [{ include: { groups: { G: 5 } } }, 'include.groups.G must be an object'],
    [
      { rounding_rules: { rounding_type: 'sideways' } },
      "rounding_rules.rounding_type must be one of None, up, down, nearest, is 'sideways'",
    ],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compilePlan(plan(fields)))).toBe(message)
  })

  it('accepts the empty lists that PHP clients send for empty objects', () => {
    const compiled = compilePlan(plan({ rates: [], include: { groups: [], services: {} } }))
    expect([compiled.prices.size, compiled.groups, compiled.services]).toEqual([0, [], []])
    expect(compilePlan(plan({ include: [] })).groups).toEqual([])
  })
})

describe('groups', () => {
  const plain = { name: 'G', rates: 'all', sharing: 'none', isPerQuantity: true }

  it.each([
    [{ value: 6000 }, { kind: 'units', total: 6000 }],
    [{ value: '6000' }, { kind: 'units', total: 6000 }],
    [{ value: 'UNLIMITED' }, { kind: 'units', total: UNLIMITED_TOTAL }],
    [{ value: 0 }, { kind: 'units', total: 0 }],
    [{ cost: 10.5 }, { kind: 'totalCost', total: 10_500_000 }],
    [{ cost: 'UNLIMITED' }, { kind: 'totalCost', total: UNLIMITED_TOTAL }],
    [
      { value: 1, usage_types: { call: { unit: 'minutes' }, sms: {} } },
      { usagets: ['call', 'sms'] },
    ],
    [{ value: 1, usage_types: ['call'] }, { usagets: ['call'] }],
    [
      { cost: 1, usage_types: { call: {} } },
      { kind: 'totalCost', total: 1_000_000, usagets: ['call'] },
    ],
    [{ value: 1, rates: 'ALL_RATES' }, {}],
    [{ value: 1, rates: '/^CALL_/i' }, { rates: expect.objectContaining({ source: '^CALL_' }) }],
    [{ value: 1, rates: '^CALL_' }, { rates: expect.objectContaining({ source: '^CALL_' }) }],
    [{ value: 1, account_shared: true }, { sharing: 'shared' }],
    [{ value: 1, account_pool: true }, { sharing: 'pool' }],
    [{ value: 1, account_shared: true, account_pool: true }, { sharing: 'pool' }],
    [{ value: 1, account_shared: false, quantity_affected: false }, { isPerQuantity: false }],
    [
      { call: 100, account_shared: true },
      { total: 100, usagets: ['call'], sharing: 'shared' },
    ],
  ])('%j', (group, expected) => {
    const compiled = groupOf(group)
    const shown = { ...compiled, usagets: [...(compiled?.usagets ?? [])] }
    const units = { kind: 'units', total: 1, usagets: [] }
    expect(shown).toEqual({ ...plain, ...units, ...expected })
  })

  it('refer to their rates', () => {
    expect(groupOf({ value: 1, rates: ['A', 'B'] })?.rates).toEqual(new Set(['A', 'B']))
    expect(groupOf({ value: 1, rates: [] })?.rates).toEqual(new Set())
  })

  it('keep their order, and the old format becomes one group per usage type', () => {
    const groups = groupsOf({ B: { value: 1 }, A: { call: 100, sms: 'UNLIMITED', rates: ['X'] } })
    expect(groups.map(({ name, total }) => [name, total])).toEqual([
      ['B', 1],
      ['A.call', 100],
      ['A.sms', UNLIMITED_TOTAL],
    ])
  })

  it('count units as precisely as requested, but not money', () => {
    const include = { groups: { U: { value: 2.5 }, M: { cost: 2.5 } } }
    const options = { isStrict: false, unitDigits: 2 }
    const { groups } = compilePlan(plan({ include }), options)
    expect(groups.map(({ total }) => total)).toEqual([250, 2_500_000])
  })

  it.each([
    [{}, ' must have a value or a cost'],
    [{ rates: ['A'] }, ' must have a value or a cost'],
    [{ value: 2.5 }, '.value must be a whole number of units, or UNLIMITED'],
    [{ value: -1 }, '.value must not be negative, is -1'],
    [{ value: 'much' }, '.value must be a number or decimal text'],
    [{ value: 2 ** 51 }, '.value is too large: above 2^50; is it UNLIMITED?'],
    [
      { cost: '0.0000001' },
      '.cost must have at most 6 decimals and be below 2^53 micros, is 0.0000001',
    ],
    [{ value: 1, cost: 1 }, '.value is not known'],
    [{ value: 1, call: 1 }, '.call is not known'],
    [{ call: true }, '.call must be a number or decimal text'],
    [
      { value: 1, usage_types: { 'a.b': {} } },
      '.usage_types.a.b must be named with letters, digits, _ and - only',
    ],
    [{ value: 1, usage_types: 'call' }, '.usage_types must be an object'],
    [{ value: 1, rates: [5] }, '.rates.0 must be a text that is not empty'],
    [{ value: 1, account_pool: 'yes' }, '.account_pool must be true or false'],
  ])('refuse %j', (group, message) => {
    expect(refusal(() => groupOf(group))).toBe(`include.groups.G${message}`)
  })

  it('refuse an invalid regular expression', () => {
    expect(refusal(() => groupOf({ value: 1, rates: '/(/' }))).toMatch(
      /^include\.groups\.G\.rates is not a regular expression: /,
    )
  })
})

describe('a service', () => {
  const service = (fields: object = {}) => compileService(stored({ name: 'TV', ...fields }))
  const period = (fields: object) => {
    return { months: 0, days: 0, hours: 0, untilMidnight: false, ...fields }
  }

  it('has the fields that charging reads', () => {
    const include = { groups: { G: { value: 1 } } }
    const compiled = service({ include, rates: { CALL: { call: { percentage: 1 } } } })
    expect(compiled).toMatchObject({ ...REVISION, name: 'TV', period: null })
    expect(compiled.groups).toHaveLength(1)
    expect([...compiled.prices.keys()]).toEqual(['CALL'])
    expect(compiled.facts).toEqual({ name: 'TV' })
  })

  it.each([
    ['default', null],
    ['', null],
    ['+2 weeks', period({ days: 14 })],
    ['+14 days', period({ days: 14 })],
    ['+1 day', period({ days: 1 })],
    ['+1 months', period({ months: 1 })],
    ['1 month', period({ months: 1 })],
    ['+1 Year +1 month +3 days', period({ months: 13, days: 3 })],
    ['+36 hours', period({ hours: 36 })],
    ['tomorrow +6 days', period({ days: 7, untilMidnight: true })],
    ['tomorrow', period({ days: 1, untilMidnight: true })],
  ])('accepts the period %j', (balance_period, expected) => {
    expect(service({ balance_period }).period).toEqual(expected)
  })

  it.each([
    '+0 days',
    '+2 fortnights',
    '-1 day',
    'next month',
    'yesterday +2 days',
    'tomorrow +2 hours',
    '2 dayss',
    '+999999 days',
    7,
    {},
  ])('refuses the period %j', (balance_period) => {
    expect(refusal(() => service({ balance_period }))).toMatch(
      /^balance_period must be 'default' or/,
    )
  })

  it('is refused for the same errors as a plan', () => {
    expect(refusal(() => service({ name: 'tv' }))).toMatch(/^name must be a text of capital/)
    expect(refusal(() => service({ rates: { C: { call: {} } } }))).toBe(
      'rates.C.call.rate is missing',
    )
    expect(refusal(() => service({ quantitative: 1 }))).toBe('quantitative must be true or false')
  })
})
