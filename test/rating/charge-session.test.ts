import { describe, expect, it } from 'vitest'
import { bucketOf, moneyOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import {
  PLANS,
  RATES,
  RatingFixture,
  SETTINGS,
  START_MS,
} from '../support/rating/rating-fixture.ts'

const data = (requested: number, used = 0) => serviceRequest({ requested, used })

describe('a data session', () => {
  it('is granted, reported, granted again and released', () => {
    new RatingFixture().play(`
      | request   | service | used | asks | answer  | units | PACK    | MONEY | SHARED | debt |
      |-----------|---------|------|------|---------|-------|---------|-------|--------|------|
      | start 0   | data    |      | 100  | granted | 100   | 100+100 | 50    | 100    | 0    |
      | update 1  | data    | 80   | 100  | granted | 100   | 20+100  | 50    | 100    | 0    |
      | update 2  | data    | 100  | 100  | granted | 100   | 0+20    | 34+16 | 100    | 0    |
      | update 3  | data    | 25   |      | granted | 0     | 0       | 48    | 100    | 0    |
      | release 4 | data    | 0    |      | granted | 0     | 0       | 48    | 100    | 0    |
    `)
  })

  it('is paid by units, then by money in whole intervals, then by shared units', () => {
    const scene = new RatingFixture()
    scene.play(`
      | request   | service | used | asks | answer  | units | PACK  | MONEY | SHARED |
      |-----------|---------|------|------|---------|-------|-------|-------|--------|
      | start 0   | data    |      | 500  | granted | 500   | 0+200 | 0+50  | 50+50  |
      | update 1  | data    | 455  | 500  | granted | 95 *  | 0     | 0     | 0+95   |
      | release 2 | data    | 1    |      | granted | 0     | 0     | 0     | 94     |
    `)
    expect(scene.lines.at(-1)).toMatchObject({
      state: 'closed',
      version: 2,
      counts: {
        used: 456,
        chargedUnits: 250,
        charged: 50,
        debt: 0,
        payments: [
          { owner: 0, bucketId: 1, kind: 'units', amount: 200 },
          { owner: 1, bucketId: 1, kind: 'units', amount: 6 },
          { owner: 0, bucketId: 2, kind: 'money', amount: 50 },
        ],
      },
    })
  })

  it('is denied when the credit is exhausted and continues after a top-up', () => {
    new RatingFixture().play(`
      | request         | service | used | asks | answer   | units | PACK  | MONEY | SHARED | debt |
      |-----------------|---------|------|------|----------|-------|-------|-------|--------|------|
      | start 0         | data    |      | 550  | granted  | 550 * | 0+200 | 0+50  | 0+100  | 0    |
      | update 1        | data    | 550  | 100  | noCredit | 0 *   | 0     | 0     | 0      | 0    |
      | update 2        | data    | 9    | 100  | granted  | 1 *   | 0     | 0     | 0      | 2    |
      | top-up MONEY 10 |         |      |      |          |       | 0     | 8     | 0      | 0    |
      | update 3        | data    | 1    | 100  | granted  | 40 *  | 0     | 0+8   | 0      | 0    |
      | top-up MONEY 10 |         |      |      |          |       | 0     | 10+8  | 0      | 0    |
      | release 4       | data    | 11   |      | granted  | 0     | 0     | 14    | 0      | 0    |
    `)
  })

  it('charges over-use on release and records the rest as debt', () => {
    const scene = new RatingFixture()
    scene.play(`
      | request   | service | used | asks | answer  | units | PACK   | MONEY | SHARED | debt |
      |-----------|---------|------|------|---------|-------|--------|-------|--------|------|
      | start 0   | data    |      | 10   | granted | 10    | 190+10 | 50    | 100    | 0    |
      | release 1 | data    | 571  |      | granted | 0     | 0      | 0     | 0      | 6    |
    `)
    expect(scene.lines).toMatchObject([
      { counts: { used: 571, chargedUnits: 271, charged: 56, debt: 6 } },
    ])
  })

  it('only settles usage if no units are requested', () => {
    new RatingFixture().play(`
      | request  | service | used | asks | answer  | units | PACK    |
      |----------|---------|------|------|---------|-------|---------|
      | start 0  | data    |      | 100  | granted | 100   | 100+100 |
      | update 1 | data    | 30   |      | granted | 0     | 170     |
      | update 2 | data    | 5    | 0    | granted | 0     | 165     |
      | update 3 |         |      |      |         |       | 165     |
    `)
  })

  it('ignores units requested by a release', () => {
    new RatingFixture().play(`
      | request   | service | used | asks | answer  | units | PACK    |
      |-----------|---------|------|------|---------|-------|---------|
      | start 0   | data    |      | 100  | granted | 100   | 100+100 |
      | release 1 | data    | 30   | 100  | granted | 0     | 170     |
    `)
  })
})

describe('several services of one session', () => {
  it('are answered in their order and independently; a denied one does not stop the others', () => {
    new RatingFixture().play(`
      | request   | service | used | asks | answer   | units | PACK   | MONEY | SHARED | debt |
      |-----------|---------|------|------|----------|-------|--------|-------|--------|------|
      | start 0   | call    |      | 240  | granted  | 240 * |        |       |        |      |
      |           | data    |      | 50   | granted  | 50    |        |       |        |      |
      |           | sms     |      | 9    | granted  | 1 *   |        |       |        |      |
      |           | mms     |      | 1    | noRate   | 0     | 150+50 | 2+48  | 100    | 0    |
      | update 1  | sms     | 1    | 1    | noCredit | 0 *   |        |       |        |      |
      |           | call    | 61   | 60   | granted  | 60    | 150+50 | 12+10 | 100    | 0    |
      | update 2  | data    | 50   | 60   | granted  | 60    | 90+60  | 12+10 | 100    | 0    |
      | release 3 |         |      |      |          |       | 150    | 22    | 100    | 0    |
    `)
  })

  it('end with a release that does not name them, each with its line', () => {
    const scene = new RatingFixture()
    scene.play(`
      | request   | service | used | asks | answer  | units | PACK   | MONEY |
      |-----------|---------|------|------|---------|-------|--------|-------|
      | start 0   | call    |      | 60   | granted | 60    |        |       |
      |           | data    |      | 50   | granted | 50    | 150+50 | 35+15 |
      | update 1  | call    | 10   | 60   | granted | 60    |        |       |
      |           | data    | 20   | 50   | granted | 50    | 130+50 | 25+10 |
      | release 2 | call    | 60   |      | granted | 0     | 180    | 25    |
    `)
    expect(scene.lines.slice(-2)).toMatchObject([
      {
        service: { usaget: 'call' },
        state: 'closed',
        version: 2,
        counts: { used: 70, charged: 25 },
      },
      {
        service: { usaget: 'data' },
        state: 'closed',
        version: 2,
        counts: { used: 20, charged: 0 },
      },
    ])
    expect(scene.sessions.get('s')).toMatchObject({ state: 'closed', services: [] })
  })

  it('have the access price once each, over all updates', () => {
    const scene = new RatingFixture({ MONEY: { slot: 0, bucket: moneyOf(100) } })
    scene.play(`
      | request   | service | used | asks | answer  | units | MONEY |
      |-----------|---------|------|------|---------|-------|-------|
      | start 0   | call    |      | 60   | granted | 60    | 85+15 |
      | update 1  | call    | 60   | 60   | granted | 60    | 75+10 |
      | update 2  | call    | 60   | 60   | granted | 60    | 65+10 |
      | release 3 | call    | 1    |      | granted | 0     | 65    |
    `)
  })
})

describe('a change of rate or cycle', () => {
  const HOUR = 3_600_000
  const changed = START_MS + 12 * HOUR
  const rates = [
    rateOf('DATA', 'data', '2/10', { id: 'DATA@1', toMs: changed }),
    rateOf('DATA', 'data', '7/10', { id: 'DATA@2', fromMs: changed, toMs: START_MS * 2 }),
  ]
  const money = { MONEY: { slot: 0 as const, bucket: moneyOf(1000) } }

  it('ends the line; the next line continues the interval that has begun', () => {
    const scene = new RatingFixture(money)
    scene.catalogue = catalogueOf(rates, PLANS)
    scene.play(`
      | request   | service | used | asks | answer  | units | MONEY  |
      |-----------|---------|------|------|---------|-------|--------|
      | start 0   | data    |      | 15   | granted | 15    | 996+4  |
      | wait 1    |         |      |      |         |       | 996+4  |
      | update 1  | data    | 15   | 15   | granted | 15    | 984+7  |
      | wait 31   |         |      |      |         |       | 984+7  |
      | update 2  | data    | 5    | 5    | granted | 5     | 984+7  |
      | release 3 | data    | 1    |      | granted | 0     | 984    |
    `)
    const summary = scene.lines.map(
      ({ stamp, version, state, pricing: { cycle }, counts: { used, charged } }) =>
        [stamp.split('-').at(-1), version, state, cycle, used, charged].join(' '),
    )
    // Half of the first day, and so seven of the fifteen units, were before the change; of the
    // thirty-one days, and so of the five units, thirty and four were in the first cycle.
    expect(summary).toEqual([
      '1 1 ended 202608 7 2',
      '2 1 open 202608 8 7',
      '2 2 ended 202608 12 7',
      '3 1 open 202609 1 0',
      '3 2 closed 202609 2 7',
    ])
  })

  it('bounds the validity of a grant made before it', () => {
    const scene = new RatingFixture(money)
    scene.catalogue = catalogueOf(rates, PLANS)
    const grant = (atMs: number, requestNumber: number) => {
      scene.nowMs = atMs
      const kind = requestNumber === 0 ? 'start' : 'update'
      return scene.send({ kind, requestNumber, services: [data(10)] }).services[0]!.validityMs
    }
    expect(grant(START_MS, 0)).toBe(SETTINGS.validityMs)
    expect(grant(changed - 90_500, 1)).toBe(90_000)
    expect(grant(changed - 10, 2)).toBe(1000)
    expect(grant(changed, 3)).toBe(SETTINGS.validityMs)
  })

  it('is not the only bound: a bucket that holds the grant may end earlier', () => {
    const toMs = START_MS + 600_000
    const scene = new RatingFixture({
      SHORT: { slot: 0, bucket: bucketOf({ credited: 20, priority: 9, toMs }) },
      MONEY: { slot: 0, bucket: moneyOf(100, { id: 2 }) },
    })
    const grant = (requestNumber: number, used: number) => {
      const kind = requestNumber === 0 ? 'start' : 'update'
      return scene.send({ kind, requestNumber, services: [data(10, used)] }).services[0]?.validityMs
    }
    expect([grant(0, 0), grant(1, 20), grant(2, 0)]).toEqual([600_000, 3_600_000, 3_600_000])
  })

  it('does not affect units granted at the old price', () => {
    const scene = new RatingFixture(money)
    scene.send({ kind: 'start', requestNumber: 0, services: [data(20)] })
    scene.catalogue = catalogueOf([rateOf('DATA', 'data', '999/1', { id: 'DATA@9' })], PLANS)
    scene.send({ kind: 'release', services: [data(-1, 20)] })
    expect(scene.bucket('MONEY').spent).toBe(4)
  })
})

describe('an event', () => {
  it('is charged immediately, all or nothing', () => {
    const scene = new RatingFixture()
    const event = (sessionId: string, requested: number) =>
      scene.send({
        kind: 'event',
        sessionId,
        requestNumber: 0,
        services: [serviceRequest({ usaget: 'sms', requested })],
      })
    expect(event('a', 16).services).toMatchObject([{ reason: 'granted', granted: 16 }])
    expect(scene.bucket('MONEY')).toMatchObject({ free: 2, reserved: 0, spent: 48 })
    const refused = event('b', 2)
    expect(refused).toMatchObject({ reason: 'noCredit', services: [{ granted: 0 }] })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 2, reserved: 0, spent: 48 })
    expect(scene.lines).toMatchObject([
      { session: { sessionId: 'a' }, state: 'closed', counts: { used: 16, charged: 48 } },
    ])
    expect(scene.sessions.get('a')?.state).toBe('closed')
  })

  it('has no validity because no units remain to be used', () => {
    const scene = new RatingFixture()
    const { services } = scene.send({ kind: 'event', services: [data(5)] })
    expect(services[0]).toMatchObject({ granted: 5, validityMs: 0 })
  })
})

describe('a subscriber who may not use the service', () => {
  it.each([
    ['unknownSubscriber', null],
    ['barred', profileOf({ barred: true })],
    ['unknownSubscriber', profileOf({ plan: 'GONE' })],
  ])('is denied and leaves no trace: %s', (reason, profile) => {
    const scene = new RatingFixture()
    scene.profile = profile
    for (const kind of ['start', 'event'] as const) {
      const decision = scene.decide({ kind, services: [data(5)] })
      expect(decision.outcome.reason).toBe(reason)
      expect(decision.commit).toBeNull()
    }
  })

  it('still has used units settled and can release the session', () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [data(50)] })
    scene.profile = profileOf({ barred: true })
    scene.play(`
      | request   | service | used | asks | answer  | units | PACK |
      |-----------|---------|------|------|---------|-------|------|
      | update 1  | data    | 20   | 50   | barred  | 0     | 180  |
      | release 2 | data    | 5    |      | granted | 0     | 175  |
    `)
  })

  it('gets a tombstone if there is no credit, and a later start may succeed', () => {
    const scene = new RatingFixture({
      MONEY: { slot: 0, bucket: moneyOf(0, { prepaidIncludeId: 2 }) },
    })
    scene.play(`
      | request         | service | used | asks | answer   | units | MONEY |
      |-----------------|---------|------|------|----------|-------|-------|
      | start 0         | data    |      | 50   | noCredit | 0 *   | 0     |
      | top-up MONEY 50 |         |      |      |          |       | 50    |
      | start 1         | data    |      | 50   | granted  | 50    | 40+10 |
    `)
    expect(scene.sessions.get('s')).toMatchObject({ state: 'open', lastNumber: 1, processed: 1 })
  })
})

describe('a price out of range', () => {
  const absurd = catalogueOf(
    [...RATES, rateOf('GOLD', 'gold', '4503599627370496/1', { toMs: START_MS * 2 })],
    PLANS,
  )
  const gold = (requested: number, used = 0) => serviceRequest({ usaget: 'gold', requested, used })

  it('is denied for its service alone; units reserved by other services are settled', () => {
    const scene = new RatingFixture()
    scene.catalogue = absurd
    const services = [data(50), gold(1)]
    scene.send({ kind: 'start', requestNumber: 0, services })
    const later = [data(-1, 20), gold(-1, 2)]
    const { services: answers } = scene.send({ kind: 'update', requestNumber: 1, services: later })
    expect(answers.map(({ reason }) => reason)).toEqual(['granted', 'pricing'])
    expect(scene.bucket('PACK')).toMatchObject({ free: 180, reserved: 0 })
    scene.send({ kind: 'release', requestNumber: 2, services: [gold(-1, 2)] })
    expect(scene.bucket('MONEY')).toMatchObject({ free: 50, reserved: 0 })
    expect(scene.sessions.get('s')?.state).toBe('closed')
  })
})

describe('a session', () => {
  it('expires a grace time after the longest validity, its tombstone after the replay time', () => {
    const scene = new RatingFixture()
    const expiresMs = () => scene.sessions.get('s')?.expiresMs
    scene.send({ kind: 'start', requestNumber: 0, services: [data(50)] })
    expect(expiresMs()).toBe(START_MS + SETTINGS.validityMs + SETTINGS.graceMs)
    scene.send({ kind: 'release', requestNumber: 1, services: [] })
    expect(expiresMs()).toBe(START_MS + SETTINGS.replayMs)
  })

  it('never ends before the validity of its grants, regardless of clock changes', () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [data(50)] })
    scene.nowMs = START_MS - 10_000
    scene.send({ kind: 'update', requestNumber: 1, services: [data(50)] })
    const expected = START_MS + SETTINGS.validityMs + SETTINGS.graceMs
    expect(scene.sessions.get('s')?.expiresMs).toBe(expected)
  })
})
