import { describe, expect, it } from 'vitest'
import {
  compileAccount,
  compileSubscriber,
  withAccount,
} from '../../../src/catalog/compile/profile.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import { FROM, REVISION, refusal, stored, TO, tier } from '../../support/catalog/compile/stored.ts'

const subscriber = (fields: object = {}) =>
  compileSubscriber(stored({ type: 'subscriber', sid: 18, aid: 17, plan: 'GOLD', ...fields }))
const account = (fields: object = {}) =>
  compileAccount(stored({ type: 'account', aid: 17, ...fields }))
const override = (fields: object = {}) => ({ type: 'plan', key: 'GOLD', value: {}, ...fields })
const overridesOf = (...overrides: object[]) => subscriber({ overrides }).overrides

describe('a subscriber and an account', () => {
  it('are combined into the profile', () => {
    expect(subscriber({ imsi: ['1'] })).toEqual({
      ...REVISION,
      aid: 17,
      sid: 18,
      plan: 'GOLD',
      barred: false,
      activeFromMs: 0,
      activeToMs: FOREVER_MS,
      planFromMs: +FROM,
      services: [],
      accountServices: [],
      overrides: [],
      creditLimit: null,
      accountCreditLimit: null,
      timeZone: '',
      play: '',
      facts: {},
      pool: null,
    })
    const services = [{ name: 'TV' }]
    expect(account({ services, credit_limit: 0, overrides: [override()] })).toMatchObject({
      ...REVISION,
      aid: 17,
      services,
      creditLimit: 0,
      overrides: [{ key: 'GOLD' }],
    })
  })

  it.each([
    [{ barred: true }, { barred: true }],
    [
      { tier: 'gold', score: 7, vip: true, tags: ['a'], msisdn: '49', creation_time: new Date(0) },
      { facts: { tier: 'gold', score: 7, vip: true } },
    ],
    [{ plan_activation: new Date(0) }, { planFromMs: 0 }],
    [
      { activation_date: FROM, deactivation_date: TO },
      { activeFromMs: +FROM, activeToMs: +TO },
    ],
    [{ deactivation_date: new Date('2175-01-01') }, { activeToMs: FOREVER_MS }],
    [{ credit_limit: '12.5' }, { creditLimit: 12_500_000 }],
    [{ credit_limit: null }, { creditLimit: null }],
    [
      { time_zone: 'Europe/Paris', play: 'X' },
      { timeZone: 'Europe/Paris', play: 'X' },
    ],
  ])('%j', (fields, expected) => {
    expect(subscriber(fields)).toMatchObject(expected)
  })

  it('have services', () => {
    const to = new Date('2026-06-01')
    const services = [
      'TV',
      { name: 'ONE', from: FROM, to, service_id: 1_700_000_000_000_001, quantity: 2 },
      { name: 'TWO', service_id: '5', quantity: '3', to: new Date('2175-01-01') },
    ]
    const activation_date = new Date('2025-06-01')
    expect(subscriber({ services, activation_date }).services).toEqual([
      { name: 'TV', serviceId: 0, fromMs: +activation_date, toMs: FOREVER_MS, quantity: 1 },
      { name: 'ONE', serviceId: 1_700_000_000_000_001, fromMs: +FROM, toMs: +to, quantity: 2 },
      { name: 'TWO', serviceId: 5, fromMs: +activation_date, toMs: FOREVER_MS, quantity: 3 },
    ])
    expect(subscriber({ services: ['TV'] }).services[0]?.fromMs).toBe(+FROM)
  })

  it.each([
    [{ sid: '18' }, 'sid must be an integer from 1 to 2^53'],
    [{ aid: undefined }, 'aid is missing'],
    [{ plan: '' }, 'plan must be a text that is not empty'],
    [{ imsi: '001' }, 'imsi must be a list of texts'],
    [{ barred: 1 }, 'barred must be true or false'],
    [{ services: 'TV' }, 'services must be a list'],
    [{ services: [{}] }, 'services.0.name is missing'],
    [{ services: [''] }, 'services.0.name must be a text that is not empty'],
    [{ services: ['TV', { name: 'A', from: 'now' }] }, 'services.1.from must be a date'],
    [
      { services: [{ name: 'TV', quantity: 0 }] },
      'services.0.quantity must be an integer from 1 to 2^53',
    ],
    [
      { services: [{ name: 'TV', service_id: 'x' }] },
      'services.0.service_id must be an integer from 0 to 2^53',
    ],
    [{ credit_limit: -1 }, 'credit_limit must not be negative, is -1'],
    [{ credit_limit: '050' }, "credit_limit must not have leading zeros, is '050'"],
    [{ credit_limit: 'much' }, 'credit_limit must be a number or decimal text'],
    [
      { time_zone: 'Mars/Olympus' },
      "time_zone must be a time zone of the IANA database, is 'Mars/Olympus'",
    ],
    [{ activation_date: '2026-01-01' }, 'activation_date must be a date'],
  ])('refuse %j', (fields, message) => {
    expect(refusal(() => subscriber(fields))).toBe(message)
  })

  it('refuse an account without its number, or with an error of subscribers', () => {
    expect(refusal(() => account({ aid: undefined }))).toBe('aid is missing')
    expect(refusal(() => account({ credit_limit: -1 }))).toBe(
      'credit_limit must not be negative, is -1',
    )
    expect(refusal(() => account({ overrides: 5 }))).toBe('overrides must be a list')
  })
})

describe('overrides', () => {
  it('of the account create a separate profile for each revision with overrides', () => {
    const idUnder = (overrides: object[], rev: number) =>
      withAccount(subscriber(), account({ overrides, rev })).id
    expect(idUnder([], 1)).toBe(subscriber().id)
    const ids = [1, 2].map((rev) => idUnder([override()], rev))
    expect(new Set([...ids, subscriber().id]).size).toBe(3)
  })

  it('replace whole fields, and only those that they name', () => {
    const value = {
      rates: { CALL: { call: { rate: [tier()] } } },
      include: { groups: { G: { value: 5 } } },
      disallowed_rates: ['PREMIUM'],
      price: [
        { from: 0, to: 2.5, price: '9.99' },
        { from: 2.5, to: 'UNLIMITED', price: 0 },
      ],
      description: 'kept',
    }
    const [full, empty] = overridesOf(override({ value }), override())
    expect(full).toMatchObject({ type: 'plan', key: 'GOLD', serviceId: 0, conditions: [] })
    expect([...(full?.prices?.keys() ?? [])]).toEqual(['CALL'])
    expect(full?.groups).toMatchObject([{ name: 'G', total: 5 }])
    expect(full?.disallowedRates).toEqual(new Set(['PREMIUM']))
    expect(empty).toMatchObject({ prices: null, groups: null, disallowedRates: null })
    const [without] = overridesOf(override({ value: { include: { services: [] }, rates: [] } }))
    expect([without?.groups, without?.prices?.size]).toEqual([[], 0])
  })

  it.each(['1700000000000001', 1_700_000_000_000_001])('apply to the service %j', (id) => {
    expect(overridesOf(override({ type: 'service', id }))[0]?.serviceId).toBe(1_700_000_000_000_001)
  })

  it('of discounts do not apply to usage', () => {
    expect(overridesOf(override({ type: 'discount' }), override())).toHaveLength(1)
  })

  const [one, two] = [
    { field: 'level', op: 'gte', value: 3 },
    { field: 'name', op: 'in', value: ['A'] },
  ]
  it.each([
    [one, [one]],
    [
      [one, two],
      [one, two],
    ],
    [{ fields: [one, two] }, [one, two]],
    [
      [{ fields: [one] }, two],
      [one, two],
    ],
    [[], []],
    [
      { field: 'x', op: 'regex', value: '^A' },
      [{ field: 'x', op: 'regex', value: expect.objectContaining({ source: '^A' }) }],
    ],
    [
      { field: 'x', op: 'regex', value: '/^a/i' },
      [{ field: 'x', op: 'regex', value: expect.objectContaining({ source: '^a' }) }],
    ],
    [{ field: 'x', op: 'exists' }, [{ field: 'x', op: 'exists', value: undefined }]],
  ])('can have conditions: %j', (condition, expected) => {
    expect(overridesOf(override({ condition }))[0]?.conditions).toEqual(expected)
  })

  it.each([
    [{ type: 'rate' }, "type must be one of plan, service, discount, is 'rate'"],
    [{ type: undefined }, 'type is missing'],
    [{ key: undefined }, 'key is missing'],
    [{ value: 5 }, 'value must be an object'],
    [{ id: 'x' }, 'id must be an integer from 0 to 2^53'],
    [{ value: { rates: { C: { call: {} } } } }, 'value.rates.C.call.rate is missing'],
    [
      { value: { include: { groups: { G: {} } } } },
      'value.include.groups.G must have a value or a cost',
    ],
    [{ value: { disallowed_rates: 'A' } }, 'value.disallowed_rates must be a list'],
    [{ value: { price: 5 } }, 'value.price must be a list'],
    [{ value: { price: [{ to: 1, price: 1 }] } }, 'value.price.0.from is missing'],
    [
      { value: { price: [{ from: 2, to: 2, price: 1 }] } },
      'value.price.0.to must be above from (2), is 2',
    ],
    [
      { value: { price: [{ from: 0, to: 'UNLIMITED', price: 'x' }] } },
      'value.price.0.price must be a number or decimal text',
    ],
    [{ condition: [{ op: 'eq', value: 1 }] }, 'condition.0.field is missing'],
    [
      { condition: { field: 'a', op: 'like', value: 1 } },
      "condition.op must be one of eq, ne, in, nin, lt, lte, gt, gte, regex, exists, is 'like'",
    ],
    [
      { condition: { fields: [{ field: 'a', op: 'in', value: 1 }] } },
      'condition.fields.0.value must be a list',
    ],
    [{ condition: { field: 'a', op: 'eq' } }, 'condition.value is missing'],
  ])('are refused: %j', (fields, message) => {
    expect(refusal(() => overridesOf(override(), override(fields)))).toBe(`overrides.1.${message}`)
  })
})
