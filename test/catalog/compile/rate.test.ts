import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import {
  compileAccount,
  compilePlan,
  compilePrepaidInclude,
  compileRate,
  compileSubscriber,
  type RawDocument,
} from '../../src/catalog/compile.ts'
import { CompileError } from '../../src/catalog/errors.ts'
import { charge, type Tariff, UNLIMITED } from '../../src/domain/tariff.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'

const FROM = new Date('2026-01-01T00:00:00Z')
const TO = new Date('2027-01-01T00:00:00Z')
const ID = '65f0c0ffee0123456789abcd'

const stored = (fields: object): RawDocument => ({
  _id: new ObjectId(ID),
  rev: 7,
  from: FROM,
  to: TO,
  ...fields,
})

const tier = (fields: object = {}) => ({
  from: 0,
  to: 'UNLIMITED',
  interval: 60,
  price: 0.1,
  ...fields,
})

const rate = (base: unknown, fields: object = {}) =>
  stored({ key: 'CALL', rates: { call: { BASE: base } }, ...fields })

const plan = (fields: object = {}) =>
  stored({ name: 'GOLD', connection_type: 'prepaid', ...fields })

const include = (fields: object = {}) =>
  stored({
    name: 'PACK',
    external_id: 7,
    priority: 50,
    charging_by: 'usagev',
    charging_by_usaget: 'data',
    ...fields,
  })

const subscriber = (fields: object = {}) =>
  stored({ type: 'subscriber', sid: 18, aid: 17, plan: 'GOLD', ...fields })

function tariffOf(base: unknown): Tariff {
  const tariff = compileRate(rate(base)).usages.get('call')?.base
  if (tariff === undefined || tariff === null) throw new Error('no BASE tariff')
  return tariff
}

function refusal(compile: () => unknown): string {
  try {
    compile()
  } catch (error) {
    if (error instanceof CompileError) return error.message
    throw error
  }
  throw new Error('it compiled')
}

describe('tariff', () => {
  it('becomes integers', () => {
    const rates = [
      tier({ to: 60, interval: 1, uom_display: { range: 'seconds' } }),
      tier({ from: 60, to: 180, interval: 10, price: '0.5', ceil: false }),
      tier({ from: 180, price: 2, ceil: true }),
    ]
    expect(tariffOf({ access: 0.2, rate: rates })).toEqual({
      tiers: [
        { units: 60, interval: 1, price: 100_000, ceil: true },
        { units: 120, interval: 10, price: 500_000, ceil: false },
        { units: UNLIMITED, interval: 60, price: 2_000_000, ceil: true },
      ],
      access: 200_000,
      extraDigits: 0,
    })
  })

  it('counts sizes only: gaps and overlaps between tiers change nothing', () => {
    const sizes = (rates: object[]) => tariffOf({ rate: rates }).tiers.map(({ units }) => units)
    expect(sizes([tier({ to: 20 }), tier({ from: 21 })])).toEqual([20, UNLIMITED])
    expect(sizes([tier({ to: 10 }), tier({ from: 0, to: 1 })])).toEqual([10, 1])
    expect(sizes([tier({ to: 10 }), tier({ from: undefined, to: 25 })])).toEqual([10, 15])
  })

  it.each([
    ['micros', '0.000001', undefined, 1, 0, 0],
    ['one digit beyond micros', '0.0000001', undefined, 1, 0, 1],
    ['the finest that is possible', 1e-12, undefined, 1, 0, 6],
    ['the access price is the finest', 3, '0.00000025', 300_000_000, 25, 2],
    ['trailing zeros are no digits', '0.10000000000000', undefined, 100_000, 0, 0],
  ])('scales by the finest price: %s', (_name, price, access, tierPrice, accessPrice, digits) => {
    const tariff = tariffOf({ access, rate: [tier({ price })] })
    expect(tariff.extraDigits).toBe(digits)
    expect(tariff.tiers[0]?.price).toBe(tierPrice)
    expect(tariff.access).toBe(accessPrice)
  })

  // The worked values of spec/entity-api.md 4.5.
  it.each([
    [1, 0.1],
    [60, 6],
    [61, 6.5],
    [65, 6.5],
    [180, 12],
    [181, 14],
    [250, 16],
  ])('prices %i units at %d', (units, price) => {
    const tariff = tariffOf({
      rate: [
        tier({ to: 60, interval: 1 }),
        tier({ from: 60, to: 180, interval: 10, price: 0.5 }),
        tier({ from: 180, price: 2 }),
      ],
    })
    expect(charge(tariff, units, false)).toBe(price * 1_000_000)
  })

  const at = 'rates.call.BASE.rate.0'
  it.each([
    [tier({ interval: 0 }), `${at}.interval must be above 0, is 0`],
    [tier({ interval: -1 }), `${at}.interval must not be negative, is -1`],
    [tier({ interval: 'often' }), `${at}.interval must be an integer or UNLIMITED`],
    [tier({ interval: undefined }), `${at}.interval is missing`],
    [tier({ interval: 0.5 }), `${at}.interval is 0.5: fractions of a unit are not supported yet`],
    [tier({ from: 0.7 }), `${at}.from is 0.7: fractions of a unit are not supported yet`],
    [tier({ to: '2.4' }), `${at}.to is 2.4: fractions of a unit are not supported yet`],
    [tier({ from: 5, to: 5 }), `${at}.to must be above from (5), is 5`],
    [tier({ to: 2 ** 60 }), `${at}.to must be below 2^53, is 1152921504606847000`],
    [tier({ to: null }), `${at}.to must be an integer or UNLIMITED`],
    [tier({ price: -0.1 }), `${at}.price must not be negative, is -0.1`],
    [tier({ price: undefined }), `${at}.price is missing`],
    [tier({ price: 'free' }), `${at}.price must be a number or decimal text`],
    [tier({ price: Number.NaN }), `${at}.price must be a number or decimal text`],
    [tier({ price: '0.0000000000001' }), `${at}.price has more than 12 decimals`],
    [tier({ ceil: 'no' }), `${at}.ceil must be true or false`],
    [tier({ intervall: 1 }), `${at}.intervall is not known`],
    ['1', `${at} must be an object`],
  ])('refuses tier %j', (broken, message) => {
    expect(refusal(() => compileRate(rate({ rate: [broken] })))).toBe(message)
  })

  it.each([
    [{ rate: [] }, 'rates.call.BASE.rate must have at least one tier'],
    [{}, 'rates.call.BASE.rate is missing'],
    [{ rate: {} }, 'rates.call.BASE.rate must be a list'],
    [{ rate: [tier()], acces: 1 }, 'rates.call.BASE.acces is not known'],
    [{ rate: [tier()], access: -1 }, 'rates.call.BASE.access must not be negative, is -1'],
    [{ percentage: 0.5 }, 'rates.call.BASE.percentage is not supported yet'],
    [
      { rate: [tier(), tier()] },
      'rates.call.BASE.rate.1 is never reached: the tier before it is UNLIMITED',
    ],
    [
      { access: 20_000_000, rate: [tier({ price: 1e-12 })] },
      'rates.call.BASE.access is too large to be exact with the 12 decimals of its tariff',
    ],
  ])('refuses price %j', (broken, message) => {
    expect(refusal(() => compileRate(rate(broken)))).toBe(message)
  })
})

describe('rate', () => {
  const price = { rate: [tier()] }

  it('has the prices of everybody and of plans, by usage type', () => {
    const rates = { call: { BASE: price, GOLD: price }, sms: { GOLD: price } }
    const compiled = compileRate(stored({ key: 'CALL', rates }))
    expect(compiled).toMatchObject({ id: `${ID}.7`, key: 'CALL', fromMs: +FROM, toMs: +TO })
    expect([...compiled.usages.keys()]).toEqual(['call', 'sms'])
    expect(compiled.usages.get('call')?.base).not.toBeNull()
    expect([...(compiled.usages.get('call')?.plans.keys() ?? [])]).toEqual(['GOLD'])
    expect(compiled.usages.get('sms')?.base).toBeNull()
  })

  it.each([
    [{ key: undefined }, 'key is missing'],
    [{ key: 'call local' }, 'key must be a text of capital letters, digits and _'],
    [{ rates: undefined }, 'rates is missing'],
    [{ rates: [] }, 'rates must be an object of usage types'],
    [{ rates: {} }, 'rates must have at least one usage type'],
    [{ rates: { call: {} } }, 'rates.call must have a price: BASE or a plan'],
    [{ rates: { call: { BASE: 1 } } }, 'rates.call.BASE must be an object'],
    [
      { rates: { 'a.b': { BASE: price } } },
      'rates.a.b must be named with letters, digits, _ and - only',
    ],
    [
      { rates: { call: { BASE: price, prepaid_granted_cost: 5 } } },
      'rates.call.prepaid_granted_cost is not supported yet',
    ],
    [{ from: '2026-01-01' }, 'from must be a date'],
    [{ to: FROM }, 'to must be after from'],
    [{ pricing_method: 'volume' }, "pricing_method 'volume' is not supported yet"],
    [{ pricing_method: 'magic' }, "pricing_method must be 'tiered' or 'volume'"],
    [{ tariff_category: 'wholesale' }, "tariff_category other than 'retail' is not supported yet"],
    [
      { rounding_rules: { rounding_type: 'up' } },
      'rounding_rules.rounding_type is not supported yet',
    ],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compileRate(rate(price, fields)))).toBe(message)
  })

  it('takes what means nothing for the price', () => {
    const fields = {
      rounding_rules: { rounding_type: 'None' },
      tariff_category: 'retail',
      play: 'X',
    }
    expect(compileRate(rate(price, fields)).key).toBe('CALL')
  })

  it('never ends after the end of time', () => {
    const to = new Date('2175-01-01T00:00:00Z')
    expect(compileRate(rate(price, { to })).toMs).toBe(FOREVER_MS)
  })
})

describe('plan', () => {
  it('has its connection type and the rates it blocks', () => {
    const compiled = compilePlan(plan({ disallowed_rates: ['PREMIUM'], rates: [], include: {} }))
    expect(compiled).toMatchObject({ id: `${ID}.7`, name: 'GOLD', connectionType: 'prepaid' })
    expect([...compiled.disallowedRates]).toEqual(['PREMIUM'])
  })

  it.each([
    [{ connection_type: 'barter' }, "connection_type must be 'prepaid' or 'postpaid'"],
    [{ disallowed_rates: 'PREMIUM' }, 'disallowed_rates must be a list of rate keys'],
    [{ disallowed_rates: [1] }, 'disallowed_rates.0 must be a text that is not empty'],
    [{ rates: { CALL: { call: {} } } }, 'rates is not supported yet'],
    [{ include: { groups: { G: { value: 1 } } } }, 'include.groups is not supported yet'],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compilePlan(plan(fields)))).toBe(message)
  })
})

describe('prepaid include', () => {
  it.each([
    ['usagev', 'data', 'units', 'data'],
    ['cost', 'call', 'cost', 'call'],
    ['total_cost', 'total_cost', 'totalCost', ''],
  ])('charges by %s of %s', (charging_by, charging_by_usaget, kind, usaget) => {
    const compiled = compilePrepaidInclude(include({ charging_by, charging_by_usaget }))
    expect(compiled).toEqual({
      id: `${ID}.7`,
      fromMs: +FROM,
      toMs: +TO,
      externalId: 7,
      name: 'PACK',
      kind,
      usaget,
      priority: 50,
      shared: false,
      unlimited: false,
    })
  })

  it.each([
    [{ external_id: 0 }, 'external_id must be an integer from 1 to 2^53'],
    [{ priority: 1.5 }, 'priority must be an integer'],
    [{ charging_by: 'luck' }, "charging_by must be 'usagev', 'cost' or 'total_cost'"],
    [{ allowed_in: { GOLD: ['CALL'] } }, 'allowed_in is not supported yet'],
    [{ additional_charging_usaget: ['mms'] }, 'additional_charging_usaget is not supported yet'],
    [
      { charging_by_usaget: '$data' },
      'charging_by_usaget must be named with letters, digits, _ and - only',
    ],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compilePrepaidInclude(include(fields)))).toBe(message)
  })

  it('takes the empty lists that PHP clients send for empty objects', () => {
    const fields = { allowed_in: [], additional_charging_usaget: [], shared: true, unlimited: true }
    expect(compilePrepaidInclude(include(fields))).toMatchObject({ shared: true, unlimited: true })
  })
})

describe('subscriber and account', () => {
  it('give the profile', () => {
    expect(compileSubscriber(subscriber({ imsi: ['1'], services: [{ name: 'TV' }] }))).toEqual({
      id: `${ID}.7`,
      fromMs: +FROM,
      toMs: +TO,
      aid: 17,
      sid: 18,
      plan: 'GOLD',
      barred: false,
    })
    expect(compileSubscriber(subscriber({ barred: true })).barred).toBe(true)
  })

  it.each([
    [{ sid: '18' }, 'sid must be an integer from 1 to 2^53'],
    [{ aid: undefined }, 'aid is missing'],
    [{ plan: '' }, 'plan must be a text that is not empty'],
    [{ imsi: '001' }, 'imsi must be a list of texts'],
    [{ barred: 1 }, 'barred must be true or false'],
    [
      { services: [{ name: 'TV', quantity: 0 }] },
      'services.0.quantity must be an integer from 1 to 2^53',
    ],
  ])('refuse %j', (fields, message) => {
    expect(refusal(() => compileSubscriber(subscriber(fields)))).toBe(message)
  })

  it('refuse an account without its number', () => {
    expect(refusal(() => compileAccount(stored({ type: 'account' })))).toBe('aid is missing')
  })
})
