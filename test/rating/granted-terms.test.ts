/** The terms of granted units around an edge, whatever is written after the grant. */
import { describe, expect, it } from 'vitest'
import type { Catalogue } from '../../src/domain/catalogue.ts'
import {
  AFTER,
  BEFORE,
  Call,
  FAR,
  flat,
  group,
  LATER,
  MINUTE,
  NOON,
  plan,
  SPLIT_AT_NOON,
} from '../support/rating/call.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { pricesOf, serviceOf, subscribedTo } from '../support/rating/offers.ts'

const PREPAID = planOf('PREPAID', FAR)
const two = flat(1, { ...BEFORE, id: 'CALL@1' })
const other = (price: number, more = {}) => flat(price, { ...AFTER, id: `CALL@${price}`, ...more })
const prepaid = (...rates: ReturnType<typeof flat>[]) => catalogueOf(rates, [PREPAID])

describe('a revision that is written while a session is open', () => {
  const known = { catalogue: catalogueOf([flat(1, { ...FAR, id: 'CALL@1' })], [plan()]) }
  const changed = catalogueOf([two, other(3)], [plan()])

  it('leaves the price of granted units', () => {
    const call = new Call(known)
    call.send('start', -10, { requested: 1200 })
    call.scene.catalogue = changed
    call.send('release', 10, { used: 1200 })
    expect(call.summary()).toEqual([[1200, 0, 1200, '']])
  })

  it('splits usage without a grant', () => {
    const call = new Call(known)
    call.useUngranted(() => {
      call.scene.catalogue = changed
    })
    expect(call.summary()).toEqual(SPLIT_AT_NOON)
  })
})

describe('a revision written after a grant that begins at an edge which the grant knew', () => {
  /** The lines of granted units around noon, after another catalogue has come into force. */
  function around(known: Catalogue, then: Catalogue, credit = 900, profile = {}) {
    const call = new Call({ catalogue: known, profile }, credit)
    const granted = call.send('start', -10, { requested: 1200 })?.granted ?? 0
    call.scene.catalogue = then
    call.send('update', 10, { used: granted, requested: 1 })
    call.send('release', 10, {})
    expect(call.scene.subscriber.owed).toBe(0)
    return call.summary()
  }

  it('is split there as long as its terms are the known ones', () => {
    const known = prepaid(two, other(3))
    expect(around(known, { ...known, revision: 2 })).toEqual([
      [150, 0, 150, ''],
      [150, 0, 450, ''],
    ])
  })

  it('is split there if a revision with the same price has replaced the known one', () => {
    expect(around(prepaid(two, other(3)), prepaid(two, other(3, { id: 'CALL@4' })))).toEqual([
      [150, 0, 150, ''],
      [150, 0, 450, ''],
    ])
  })

  it('is split there if an unrelated field of a subscriber with an override changes', () => {
    const whole = { kind: 'percentage', factor: 1, factorDigits: 0 } as const
    const override = {
      type: 'plan' as const,
      key: 'PREPAID',
      serviceId: 0,
      conditions: [],
      prices: new Map([['CALL', new Map([['call', whole]])]]),
      groups: null,
      disallowedRates: null,
    }
    const profile = { overrides: [override] }
    const call = new Call({ catalogue: prepaid(two, other(3)), profile }, 900)
    call.send('start', -10, { requested: 1200 })
    const changeMs = NOON + 5 * MINUTE
    call.scene.profile = profileOf({ ...AFTER, fromMs: changeMs, id: 'changed', ...profile })
    call.send('release', 10, { used: 300 })
    expect(call.scene.subscriber.owed).toBe(0)
    expect(call.summary()).toEqual([
      [150, 0, 150, ''],
      [150, 0, 450, ''],
    ])
  })

  it('is split there if the pool has other members by then', () => {
    const pooled = group(1e6).map((one) => ({ ...one, sharing: 'pool' as const }))
    const services = [
      serviceOf('S', { ...BEFORE, id: 'S@1' }),
      serviceOf('S', { ...AFTER, id: 'S@2', groups: pooled }),
    ]
    const catalogue = catalogueOf([flat(1, FAR)], [PREPAID], services)
    const {
      plan,
      planFromMs,
      services: held,
      timeZone,
    } = profileOf({ services: [subscribedTo('S')] })
    const member = { plan, planFromMs, services: held, timeZone }
    const call = new Call({ catalogue, profile: { services: held, pool: [member] } }, 900)
    const granted = call.send('start', -10, { requested: 1200 })?.granted ?? 0
    call.scene.profile = profileOf({ ...FAR, services: held, pool: [member, member] })
    call.send('release', 10, { used: granted })
    expect(call.summary()).toEqual([[900, 450, 450, '']])
  })

  it.each([
    ['higher', 5],
    ['lower', 2],
  ])('leaves granted units their price if its own is %s', (_what, price) => {
    expect(around(prepaid(two, other(3)), prepaid(two, other(price)))).toEqual([[300, 0, 300, '']])
  })

  it('leaves it if nothing was to change at the edge', () => {
    const same = prepaid(two, flat(1, { ...AFTER, id: 'CALL@1' }))
    expect(around(same, prepaid(two, other(5)))).toEqual([[900, 0, 900, '']])
  })

  it('leaves it if nothing had a price after the edge', () => {
    expect(around(prepaid(two), prepaid(two, other(5)))).toEqual([[900, 0, 900, '']])
  })

  it('leaves it if a group includes fewer units, which may not pay for those granted', () => {
    const services = (units: number) => [
      serviceOf('S', { ...BEFORE, id: 'S@1' }),
      serviceOf('S', { ...AFTER, id: 'S@2', groups: group(units) }),
    ]
    const known = catalogueOf([two, other(5)], [PREPAID], services(1e6))
    const then = catalogueOf([two, other(5)], [PREPAID], services(100))
    const profile = { services: [subscribedTo('S')] }
    expect(around(known, then, 300, profile)).toEqual([[300, 0, 300, '']])
  })

  it('leaves it if a group no longer includes the usage after the edge', () => {
    const services = (more = {}) => [
      serviceOf('S', { ...BEFORE, id: 'S@1' }),
      serviceOf('S', { ...AFTER, id: 'S@2', groups: group(1e6), ...more }),
    ]
    const rates = [flat(1, FAR)]
    const known = catalogueOf(rates, [PREPAID], services())
    const then = catalogueOf(rates, [PREPAID], services({ groups: [] }))
    const profile = { services: [subscribedTo('S')] }
    expect(around(known, then, 900, profile)).toEqual([[900, 0, 900, '']])
  })

  it('leaves the known price beyond the edge if it begins later', () => {
    const then = [other(3, { toMs: LATER }), flat(9, { ...AFTER, fromMs: LATER, id: 'CALL@9' })]
    expect(around(prepaid(two, other(3)), prepaid(two, ...then))).toEqual([
      [150, 0, 150, ''],
      [150, 0, 450, ''],
    ])
  })
})

describe('a rate that matches better and begins inside of usage', () => {
  const byPrefix = {
    retail: {
      call: {
        priorities: [
          {
            filters: [
              { type: 'longestPrefix', rate_key: 'params.prefix', line_key: 'called_number' },
            ],
          },
        ],
      },
    },
  }
  const world = flat(1, { ...FAR, key: 'WORLD', id: 'WORLD@1', params: { prefix: ['49'] } })
  const better = (prefix: string, more = {}) =>
    rateOf('NEAR', 'call', '3/1', { ...AFTER, id: 'NEAR@1', params: { prefix: [prefix] }, ...more })

  function callOf(near: ReturnType<typeof flat>, plans = [plan()], credit = 0) {
    const call = new Call({ catalogue: catalogueOf([world, near], plans) }, credit)
    call.scene.calculators = byPrefix
    return call
  }

  it.each([
    ['is split there', '491', {}, 2],
    ['is not split if the rate is of other numbers', '492', {}, 1],
    ['is not split if the prefix is shorter', '4', {}, 1],
    ['is not split if the rate is of another category', '491', { category: 'wholesale' }, 1],
  ])('%s', (_what, prefix, more, lines) => {
    const two = [
      [600, 0, 600, ''],
      [600, 0, 1800, ''],
    ]
    const call = callOf(better(prefix, more))
    call.send('start', -10, { requested: 1200, calledNumber: '4915' })
    call.send('release', 10, { used: 1200, calledNumber: '4915' })
    expect(call.summary()).toEqual(lines === 2 ? two : [[1200, 0, 1200, '']])
  })

  it('is split there without a grant', () => {
    const call = callOf(better('491'))
    call.useUngranted(undefined, '4915')
    expect(call.summary()).toEqual(SPLIT_AT_NOON)
  })

  it('is reserved for with the grant, and announced', () => {
    const call = callOf(better('491'), [PREPAID], 900)
    const grant = call.send('start', -10, { requested: 1200, calledNumber: '4915' })
    expect(grant).toMatchObject({ granted: 300, tariffChangeMs: NOON, validityMs: 10 * MINUTE })
  })
})

describe('a profile that ends inside of a grant', () => {
  it.each([
    ['a service', { services: [subscribedTo('S')] }],
    ['a service of the account', { accountServices: [subscribedTo('S')] }],
  ])('has its validity until then with %s', (_what, more) => {
    const catalogue = catalogueOf(
      [flat(1, FAR)],
      [PREPAID],
      [serviceOf('S', { prices: pricesOf('CALL', 'call', '2/1') })],
    )
    const call = new Call({ catalogue, profile: { ...BEFORE, ...more } }, 900)
    const grant = call.send('start', -10, { requested: 1200 })
    expect(grant).toMatchObject({ granted: 450, validityMs: 10 * MINUTE })
    call.scene.profile = profileOf({ ...AFTER, id: 'profile2' })
    call.send('release', 10, { used: 450 })
    expect(call.scene.subscriber.owed).toBe(0)
  })
})
