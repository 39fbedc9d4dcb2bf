/** Usage in the middle of which another revision begins, of whatever its terms come from. */
import { describe, expect, it } from 'vitest'
import {
  AFTER,
  BEFORE,
  Call,
  changingLater,
  FAR,
  flat,
  group,
  LATER,
  MINUTE,
  NOON,
  POSTPAID,
  plan,
  SPLIT_AT_NOON,
  type Terms,
} from '../support/rating/call.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { pricesOf, serviceOf, subscribedTo } from '../support/rating/offers.ts'

const CUSTOM = { type: 'vat', taxation: 'custom', customLogic: 'override' } as const

const tax = (rate: string, span: typeof BEFORE) => {
  const texts = { key: 'VAT', description: 'VAT', rate }
  return { id: `VAT@${rate}`, ...texts, isEmbedded: false, params: {}, ...span }
}
/** From ten minutes before noon to ten minutes after. */
function summaryOf(terms: Terms, usedBefore = -1): (string | number)[][] {
  const call = new Call(terms)
  call.send('start', -10, { requested: 1200 })
  call.send('release', 10, { used: 1200, usedBefore })
  return call.summary()
}

const two = flat(1, { ...BEFORE, id: 'CALL@1' })
const other = (more = {}) => flat(3, { ...AFTER, id: 'CALL@2', ...more })

describe('usage across the begin of another revision', () => {
  it.each<[string, Terms, (string | number)[][]]>([
    [
      'of the rate',
      { catalogue: catalogueOf([two, other()], [plan()]) },
      [
        [600, 0, 600, ''],
        [600, 0, 1800, ''],
      ],
    ],
    [
      'of the plan, which has the price',
      {
        catalogue: catalogueOf(
          [flat(1, FAR)],
          [
            plan({ ...BEFORE, id: 'P@1', prices: pricesOf('CALL', 'call', '2/1') }),
            plan({ ...AFTER, id: 'P@2', prices: pricesOf('CALL', 'call', '5/1') }),
          ],
        ),
      },
      [
        [600, 0, 1200, ''],
        [600, 0, 3000, ''],
      ],
    ],
    [
      'of a tax',
      {
        catalogue: catalogueOf(
          [flat(1, { ...FAR, taxHints: [{ ...CUSTOM, customTax: 'VAT' }] })],
          [plan()],
          [],
          [tax('0.1', BEFORE), tax('0.2', AFTER)],
        ),
      },
      [
        [600, 0, 600, '0.1'],
        [600, 0, 600, '0.2'],
      ],
    ],
    [
      'of a service, which has a larger group',
      {
        catalogue: catalogueOf(
          [flat(1, FAR)],
          [plan()],
          [
            serviceOf('S', { ...BEFORE, id: 'S@1', groups: group(100) }),
            serviceOf('S', { ...AFTER, id: 'S@2', groups: group(300) }),
          ],
        ),
        profile: { services: [subscribedTo('S')] },
      },
      [[1200, 300, 900, '']],
    ],
    [
      'that is not different',
      { catalogue: catalogueOf([flat(1, FAR)], [plan(BEFORE), plan(AFTER)]) },
      [[1200, 0, 1200, '']],
    ],
    ['that does not exist', { catalogue: catalogueOf([two], [plan()]) }, [[1200, 0, 1200, '']]],
  ])('%s', (_what, terms, lines) => {
    expect(summaryOf(terms)).toEqual(lines)
  })

  it('is divided as the network element reports it', () => {
    expect(summaryOf({ catalogue: catalogueOf([two, other()], [plan()]) }, 1000)).toEqual([
      [1000, 0, 1000, ''],
      [200, 0, 600, ''],
    ])
  })

  it('pays an interval that has begun once', () => {
    const catalogue = catalogueOf(
      [rateOf('CALL', 'call', '9/900', { ...BEFORE, id: '1' }), other()],
      [plan()],
    )
    expect(summaryOf({ catalogue })).toEqual([
      [600, 0, 9, ''],
      [600, 0, 900, ''],
    ])
  })

  it('is split at revisions and bands in order', () => {
    const catalogue = catalogueOf(
      [two, other({ toMs: LATER }), flat(7, { ...AFTER, fromMs: LATER, id: '3' })],
      [plan()],
    )
    expect(summaryOf({ catalogue })).toEqual([
      [600, 0, 600, ''],
      [300, 0, 900, ''],
      [300, 0, 2100, ''],
    ])
  })
})

describe('usage in which a service begins or ends', () => {
  const catalogue = catalogueOf([flat(1, FAR)], [plan()], [serviceOf('S', { groups: group(1e6) })])
  it.each([
    ['begins', AFTER],
    ['ends', BEFORE],
  ])('is included while the service is active: it %s', (_what, span) => {
    const profile = { services: [subscribedTo('S', span)] }
    expect(summaryOf({ catalogue, profile })).toEqual([[1200, 600, 600, '']])
  })

  it('has its price while it is active', () => {
    const prices = pricesOf('CALL', 'call', '4/1')
    const priced = catalogueOf([flat(1, FAR)], [plan()], [serviceOf('S', { prices })])
    const profile = { services: [subscribedTo('S', AFTER)] }
    expect(summaryOf({ catalogue: priced, profile })).toEqual([
      [600, 0, 600, ''],
      [600, 0, 2400, ''],
    ])
  })
})

describe('a prepaid grant in which a service with a group begins or ends', () => {
  const catalogue = catalogueOf(
    [flat(1, FAR)],
    [planOf('PREPAID', FAR)],
    [serviceOf('S', { groups: group(1e6) })],
  )
  it.each([
    ['begins', AFTER, 'release', 0],
    ['ends', BEFORE, 'release', 0],
    ['begins', AFTER, 'update', 10],
    ['ends', BEFORE, 'update', 10],
  ] as const)(
    'is paid by the money reserved for the other side: it %s',
    (_what, span, kind, requested) => {
      const call = new Call({ catalogue, profile: { services: [subscribedTo('S', span)] } }, 500)
      expect(call.send('start', -10, { requested: 800 })?.granted).toBe(500)
      expect(call.scene.bucket('MONEY').reserved).toBe(500)
      call.send(kind, 10, { used: 500, requested })
      call.send('release', 11, {})
      expect(call.scene.bucket('MONEY')).toMatchObject({ free: 250, reserved: 0, spent: 250 })
      expect(call.scene.subscriber.owed).toBe(0)
      expect(call.summary()).toEqual([[500, 250, 250, '']])
    },
  )

  it.each([
    ['begins', AFTER, 100],
    ['ends', BEFORE, 400],
  ])('is paid as the network element divides it: it %s', (_what, span, spent) => {
    const call = new Call({ catalogue, profile: { services: [subscribedTo('S', span)] } }, 500)
    call.send('start', -10, { requested: 500 })
    call.send('release', 10, { used: 500, usedBefore: 100 })
    expect(call.scene.bucket('MONEY')).toMatchObject({ free: 500 - spent, reserved: 0, spent })
    expect(call.scene.subscriber.owed).toBe(0)
  })
})

describe('a grant before a service ends without which nothing can be paid', () => {
  const services = [serviceOf('S', { groups: group(1e6) })]
  const terms = {
    catalogue: catalogueOf([flat(1, FAR)], [planOf('PREPAID', FAR)], services),
    profile: { services: [subscribedTo('S', BEFORE)] },
  }

  it('is limited by its validity, and its units keep their terms', () => {
    const call = new Call(terms)
    const grant = call.send('start', -10, { requested: 800 })
    expect(grant).toMatchObject({ granted: 800, validityMs: 10 * MINUTE })
    const update = call.send('update', 10, { used: 800, requested: 10 })
    expect(update?.reason).toBe('noCredit')
    call.send('release', 11, {})
    expect(call.summary()).toEqual([[800, 800, 0, '']])
    expect(call.scene.subscriber.owed).toBe(0)
  })

  it('leaves usage without a grant to be split there', () => {
    const call = new Call(terms)
    call.send('start', -20, { requested: 800 })
    call.send('update', -10, { used: 10 })
    call.send('release', 10, { used: 100 })
    expect(call.summary()).toEqual([[110, 60, 50, '']])
    expect(call.scene.subscriber.owed).toBe(50)
  })
})

describe('usage in which another revision of the subscriber begins', () => {
  const other = (more = {}) =>
    planOf('OTHER', { ...FAR, ...more, prices: pricesOf('CALL', 'call', '3/1') })
  const postpaid = catalogueOf([flat(1, FAR)], [plan(), other(POSTPAID)])
  const prepaid = catalogueOf([flat(1, FAR)], [planOf('PREPAID', FAR), other()])
  const changed = profileOf({ ...AFTER, plan: 'OTHER', id: 'profile2' })

  it.each([
    ['known', BEFORE],
    ['unknown', FAR],
  ])('has the terms of its grant if its end was %s', (_what, profile) => {
    const call = new Call({ catalogue: prepaid, profile }, 900)
    expect(call.send('start', -10, { requested: 1200 })).toMatchObject({ granted: 900 })
    call.scene.profile = changed
    call.send('release', 10, { used: 900 })
    expect(call.summary()).toEqual([[900, 0, 900, '']])
    expect(call.scene.subscriber.owed).toBe(0)
  })

  it('has the terms of its grant although the price changed then as well', () => {
    const rates = [two, flat(2, { ...AFTER, id: 'CALL@2' })]
    const call = new Call({ catalogue: catalogueOf(rates, [planOf('PREPAID', FAR), other()]) }, 900)
    expect(call.send('start', -10, { requested: 1200 })).toMatchObject({ granted: 450 })
    call.scene.profile = changed
    call.send('release', 10, { used: 450, usedBefore: 0 })
    expect(call.summary()).toEqual([[450, 0, 450, '']])
  })

  it.each([
    ['known', BEFORE],
    ['unknown', FAR],
  ])('is split there without a grant if its end was %s', (_what, profile) => {
    const call = new Call({ catalogue: postpaid, profile })
    call.useUngranted(() => {
      call.scene.profile = changed
    })
    expect(call.summary()).toEqual(SPLIT_AT_NOON)
  })

  it('is split there without a grant if a service with a group begins with it', () => {
    const services = [serviceOf('S', { groups: group(1e6) })]
    const call = new Call({ catalogue: catalogueOf([flat(1, FAR)], [plan()], services) })
    call.useUngranted(() => {
      call.scene.profile = profileOf({ ...AFTER, services: [subscribedTo('S')], id: 'profile2' })
    })
    expect(call.summary()).toEqual([[1210, 600, 610, '']])
  })

  it('reserves a grant for a boundary after its end', () => {
    const catalogue = catalogueOf(changingLater(), [planOf('PREPAID', FAR)])
    const call = new Call({ catalogue, profile: BEFORE }, 900)
    const grant = call.send('start', -10, { requested: 1200 })
    expect(grant).toMatchObject({ granted: 300, validityMs: 10 * MINUTE })
    call.scene.profile = profileOf({ ...AFTER, id: 'profile2' })
    call.send('release', 10, { used: 300, usedBefore: 0 })
    expect(call.scene.subscriber.owed).toBe(0)
  })
})

describe('a grant before another revision', () => {
  const prepaid = (rates: Parameters<typeof catalogueOf>[0]) => {
    return { catalogue: catalogueOf(rates, [planOf('PREPAID', FAR)]) }
  }

  it('is announced and never costs more than its reservation', () => {
    const call = new Call(prepaid([two, other()]), 900)
    const grant = call.send('start', -10, { requested: 1200 })
    expect(grant).toMatchObject({ granted: 300, tariffChangeMs: NOON, validityMs: 10 * MINUTE })
    expect(call.scene.bucket('MONEY').reserved).toBe(900)
    call.send('release', 10, { used: 300, usedBefore: 0 })
    expect(call.scene.subscriber.owed).toBe(0)
  })

  it('announces the first change, not a revision with the same terms', () => {
    const plans = [planOf('PREPAID', BEFORE), planOf('PREPAID', AFTER)]
    const call = new Call({ catalogue: catalogueOf(changingLater(), plans) }, 900)
    expect(call.send('start', -10, { requested: 9 })).toMatchObject({ tariffChangeMs: LATER })
  })
})
