import { describe, expect, it } from 'vitest'
import { lineDocument } from '../../src/catalog/records/usage/line-document.ts'
import type { TaxHint } from '../../src/domain/catalogue.ts'
import type { ChargeRequest, ServiceRequest } from '../../src/domain/charge-request.ts'
import { explain } from '../../src/domain/explain.ts'
import type { Line } from '../../src/domain/line.ts'
import { ownerOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { groupOf } from '../support/rating/offers.ts'
import { PLANS, RATES, RatingFixture, START_MS } from '../support/rating/rating-fixture.ts'

const DAY_MS = 86_400_000
const ALWAYS = { fromMs: 0, toMs: START_MS + 1000 * DAY_MS }

/** A record of used units, as it is read from a file. */
const record = (used: number, more: Partial<ChargeRequest> = {}): Partial<ChargeRequest> => ({
  kind: 'event',
  isRecord: true,
  requestNumber: -1,
  stamp: 'file:1',
  services: [serviceRequest({ used })],
  ...more,
})

describe('a usage record', () => {
  it('is paid by units, then money, then shared units; what nothing can pay is debt', () => {
    new RatingFixture().play(`
      | request  | service | used | asks | answer  | units | PACK | MONEY | SHARED | debt |
      |----------|---------|------|------|---------|-------|------|-------|--------|------|
      | event -1 | data    | 571  |      | granted | 0     | 0    | 0     | 0      | 6    |
    `)
  })

  it('has one line, which is closed', () => {
    const scene = new RatingFixture()
    expect(scene.send(record(210))).toMatchObject({ reason: 'granted', cost: 2 })
    expect(scene.lines).toMatchObject([
      { state: 'closed', version: 1, counts: { used: 210, chargedUnits: 10, charged: 2, debt: 0 } },
    ])
    expect(scene.lines).toHaveLength(1)
  })

  it('gets the stored outcome when it is repeated; another record of its id is refused', () => {
    const scene = new RatingFixture()
    const outcome = scene.send(record(10))
    expect(scene.decide(record(10))).toEqual({ outcome, commit: null })
    expect(scene.send(record(10, { stamp: 'file:2' })).reason).toBe('sessionClosed')
    expect(scene.lines).toHaveLength(1)
  })

  it('has the same stamp whenever it is charged', () => {
    const [one, other] = [new RatingFixture(), new RatingFixture()]
    other.nowMs += 5 * DAY_MS
    one.send(record(10))
    other.send(record(10, { eventTimeMs: START_MS }))
    expect(other.lines.map(({ stamp }) => stamp)).toEqual(one.lines.map(({ stamp }) => stamp))
  })

  it('keeps nothing for refunds', () => {
    const scene = new RatingFixture()
    scene.send(record(10))
    expect(scene.sessions.get('s')).toMatchObject({ state: 'closed', services: [] })
    expect(scene.send({ ...record(10), stamp: 'r', refund: true }).reason).toBe('sessionClosed')
  })

  it('counts in the credit of a postpaid subscriber, also beyond its limit', () => {
    const scene = new RatingFixture({})
    scene.catalogue = catalogueOf(RATES, [
      planOf('PREPAID', { ...ALWAYS, connectionType: 'postpaid' }),
    ])
    scene.profile = profileOf({ ...ALWAYS, creditLimit: 5 })
    expect(scene.send(record(40)).reason).toBe('granted')
    expect(scene.lines).toMatchObject([{ state: 'closed', counts: { charged: 8, debt: 0 } }])
    expect(scene.subscriber.buckets).toMatchObject([{ spent: 8, free: -8 }])
  })

  it('has the price of its time, and belongs to the oldest cycle that is open', () => {
    const scene = new RatingFixture({})
    const changeMs = START_MS - 50 * DAY_MS
    scene.catalogue = catalogueOf(
      [
        rateOf('DATA', 'data', '7/10', { ...ALWAYS, toMs: changeMs }),
        rateOf('DATA', 'data', '2/10', { ...ALWAYS, id: 'DATA@1', fromMs: changeMs }),
      ],
      PLANS,
    )
    scene.send(record(10, { eventTimeMs: changeMs - 1 }))
    expect(scene.lines).toMatchObject([
      { counts: { charged: 7, firstMs: changeMs - 1 }, pricing: { cycle: '202607' } },
    ])
  })

  it('settles each of its services', () => {
    const scene = new RatingFixture()
    const services = [serviceRequest({ used: 10 }), serviceRequest({ usaget: 'call', used: 61 })]
    expect(scene.send(record(0, { services })).services).toMatchObject([{ cost: 0 }, { cost: 25 }])
    expect(scene.lines.map(({ state, service }) => `${service.usaget} ${state}`)).toEqual([
      'data closed',
      'call closed',
    ])
  })

  it('is charged as a whole, or not at all', () => {
    const scene = new RatingFixture()
    const services = [serviceRequest({ used: 10 }), serviceRequest({ usaget: 'fax', used: 1 })]
    const { outcome, commit } = scene.decide(record(0, { services }))
    expect([outcome.reason, commit]).toEqual(['noRate', null])
    expect(scene.send(record(10)).reason).toBe('granted')
  })

  it.each([
    [
      'an unknown subscriber',
      'unknownSubscriber',
      (scene: RatingFixture) => {
        scene.profile = null
      },
    ],
    [
      'no rate',
      'noRate',
      (scene: RatingFixture) => {
        scene.catalogue = catalogueOf([], PLANS)
      },
    ],
    [
      'a barred subscriber',
      'barred',
      (scene: RatingFixture) => {
        scene.profile = profileOf({ ...ALWAYS, barred: true })
      },
    ],
    [
      'a price beyond 2^53',
      'pricing',
      (scene: RatingFixture) => {
        scene.catalogue = catalogueOf([rateOf('DATA', 'data', '9007199254740991/1', ALWAYS)], PLANS)
      },
    ],
  ])('writes nothing for %s', (_, reason, change) => {
    const scene = new RatingFixture({})
    change(scene)
    const { outcome, commit } = scene.decide(record(10))
    expect([outcome.reason, commit]).toEqual([reason, null])
  })

  it('remembers its outcome for a minute, since there may be millions', () => {
    const scene = new RatingFixture()
    scene.subscriber = ownerOf([])
    scene.send(record(10))
    expect(scene.sessions.get('s')?.expiresMs).toBe(START_MS + 60_000)
  })
})

describe('a usage record that has its price', () => {
  const VAT: TaxHint = {
    ...{ type: 'vat', taxation: 'custom', customTax: 'VAT', customLogic: 'override' },
  }
  const POSTPAID = { ...ALWAYS, connectionType: 'postpaid' } as const
  const priced = (priceMicros: number, more: Partial<ServiceRequest> = {}) =>
    record(0, { services: [{ ...serviceRequest({ used: 210, ...more }), priceMicros }] })

  it('is charged that price, whatever its units, with the rate of its usage', () => {
    const scene = new RatingFixture()
    expect(scene.send(priced(37))).toMatchObject({ reason: 'granted', cost: 37 })
    expect(scene.lines).toMatchObject([
      {
        pricing: { rateKey: 'DATA', priceOf: 'RECORD', band: '' },
        counts: { used: 210, chargedUnits: 210, charged: 37, includedUnits: 0, hasGroups: false },
      },
    ])
    expect(explain(scene.lines[0] as Line)).toEqual([
      expect.objectContaining({ step: 'price', source: 'RECORD', units: 210, amount: '0.000037' }),
      expect.objectContaining({ step: 'bucket', include: 2, money: '0.000037' }),
    ])
  })

  it('is paid by money only, and what no money can pay is debt', () => {
    const scene = new RatingFixture()
    scene.send(priced(60))
    const amounts = ['PACK', 'MONEY', 'SHARED'].map((name) => scene.bucket(name).free)
    expect([...amounts, scene.subscriber.owed]).toEqual([200, 0, 100, 10])
  })

  it('may be free', () => {
    const scene = new RatingFixture()
    expect(scene.send(priced(0))).toMatchObject({ reason: 'granted', cost: 0 })
    expect(scene.bucket('PACK').free).toBe(200)
    expect(scene.lines).toMatchObject([{ pricing: { priceOf: 'RECORD' }, counts: { charged: 0 } }])
  })

  it('counts in the credit of a postpaid subscriber, and in no group', () => {
    const scene = new RatingFixture({})
    const plan = planOf('PREPAID', { ...POSTPAID, groups: [groupOf('G', 1_000)] })
    scene.catalogue = catalogueOf(RATES, [plan])
    scene.profile = profileOf({ ...ALWAYS, creditLimit: 5, accountCreditLimit: 100 })
    scene.send(priced(40))
    scene.send(record(10, { sessionId: 'other' }))
    const counters = [...scene.subscriber.buckets, ...scene.account.buckets]
    expect(counters.map(({ counter, spent }) => [counter.split('/')[0], spent])).toEqual([
      ['credit', 40],
      ['group', 10],
      ['credit', 40],
    ])
  })

  it('has the taxes of its rate', () => {
    const scene = new RatingFixture({})
    const vat = {
      id: 'VAT',
      key: 'VAT',
      rate: '0.2',
      description: '',
      isEmbedded: false,
      params: {},
    }
    scene.catalogue = catalogueOf(
      [rateOf('DATA', 'data', '2/10', { ...ALWAYS, taxHints: [VAT] })],
      [planOf('PREPAID', POSTPAID)],
      [],
      [{ ...vat, ...ALWAYS }],
    )
    scene.send(priced(50))
    expect(lineDocument(scene.lines[0] as Line)).toMatchObject({
      prepriced: true,
      price_of: 'RECORD',
      exact: { aprice: '0.00005', tax: '0.00001', final_charge: '0.00006' },
    })
  })

  it('is not added to prices of other categories, which are shown', () => {
    const scene = new RatingFixture()
    const wholesale = rateOf('W', 'data', '1/1', { ...ALWAYS, category: 'wholesale' })
    scene.catalogue = catalogueOf([...RATES, wholesale], PLANS)
    const filters = [{ type: 'match', rate_key: 'usaget', line_key: 'usaget' }]
    scene.calculators = { wholesale: { data: { priorities: [{ filters }] } } }
    expect(scene.send(priced(37)).cost).toBe(37)
    expect(lineDocument(scene.lines[0] as Line).rates).toEqual([
      expect.objectContaining({ key: 'DATA', add_to_retail: true, pricing: { charge: 0.000037 } }),
      expect.objectContaining({ key: 'W', add_to_retail: false, pricing: { charge: 0.00021 } }),
    ])
  })

  it('is refused without a rate, and free at a free number', () => {
    const scene = new RatingFixture()
    scene.isFreeNumber = (number) => number === '112'
    expect(scene.send(priced(37, { usaget: 'fax' })).reason).toBe('noRate')
    expect(scene.send(priced(37, { calledNumber: '112' })).cost).toBe(0)
    expect(scene.lines).toMatchObject([{ pricing: { rateKey: 'FREE', priceOf: 'BASE' } }])
  })
})
