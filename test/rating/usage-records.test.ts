import { describe, expect, it } from 'vitest'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { ownerOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
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
