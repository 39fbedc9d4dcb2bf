/** Actions of event rules on the requests of a session (docs/EVENTS.md, "Actions"). */
import { describe, expect, it } from 'vitest'
import type { RuleActionDocument } from '../../src/domain/events/rule-documents.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, planOf } from '../support/rating/catalogue.ts'
import { RATES, RatingFixture, SETTINGS, START_MS } from '../support/rating/rating-fixture.ts'
import { ruleSetOf } from '../support/workers/event-scene.ts'

const PACK = 'balance.totals.data.usagev'
const PAGE = 'https://shop.example.net/top-up'
const BAR: RuleActionDocument = { type: 'bar' }
const REDIRECT: RuleActionDocument = { type: 'redirect', address: PAGE }
const SLOW: RuleActionDocument = { type: 'throttle', policy: 'SLOW' }

/** A rule for what is left in the bundle of 200 units of data. */
const atLeft = (left: number, action: RuleActionDocument, event_code = 'CAP') => ({
  event_code,
  conditions: [
    { type: 'reached_constant' as const, value: -left, paths: [{ path: PACK }] },
    { type: 'is' as const, value: false, paths: [{ path: 'shared' }] },
  ],
  action,
})

function sceneWith(...documents: Parameters<typeof ruleSetOf>) {
  const scene = new RatingFixture()
  scene.actionRules = ruleSetOf(...documents).withActions
  return scene
}

const data = (requested: number, used = 0) => serviceRequest({ requested, used })
const call = (requested: number, used = 0) => serviceRequest({ usaget: 'call', requested, used })

describe('bar', () => {
  it('denies further grants, and settles what was used', () => {
    const scene = sceneWith(atLeft(100, BAR))
    scene.play(`
      request  service asks used answer      units  PACK   MONEY
      start 1  data    150       granted     150    50+150 50
      update 2 data    50   99   granted     50     51+50  50
      update 3 data    50   30   capReached  0 *    71     50
      update 4 data         20   granted     0      51     50
      update 5 data    10        capReached  0 *    51     50
      release 6 data        5    granted     0      46     50
    `)
  })

  it('names the rule, and stores a denied start for its repetitions', () => {
    const scene = sceneWith(atLeft(200, BAR, 'USED_UP'))
    const start = { kind: 'start' as const, requestNumber: 0, services: [data(10)] }
    const outcome = scene.send(start)
    expect(outcome).toMatchObject({ reason: 'capReached', detail: 'USED_UP' })
    expect(outcome.services).toMatchObject([
      { reason: 'capReached', granted: 0, validityMs: 0, finalUnit: true, action: null },
    ])
    expect(scene.sessions.get('s')).toMatchObject({ state: 'denied', services: [] })
    scene.topUp('PACK', 1)
    expect(scene.decide(start)).toEqual({ outcome, commit: null })
    const again = { ...start, requestNumber: 1 }
    expect(scene.send(again)).toMatchObject({ reason: 'granted', services: [{ granted: 10 }] })
  })

  it('leaves other usage types alone if it names some', () => {
    const scene = sceneWith(atLeft(200, { ...BAR, usaget: ['data', 'mms'] }))
    const services = [data(10), call(20), serviceRequest({ usaget: 'none', requested: 1 })]
    const outcome = scene.send({ kind: 'start', requestNumber: 0, services })
    expect(outcome.reason).toBe('granted')
    expect(outcome.services.map(({ reason }) => reason)).toEqual([
      'capReached',
      'granted',
      'noRate',
    ])
    expect(outcome.detail).toBe('none not charged: No rate, or rate is blocked')
    const left = scene.sessions.get('s')?.services.map(({ identity }) => identity.usaget)
    expect(left).toEqual(['call'])
  })

  it('denies an event by the balance before it, and moves nothing', () => {
    const scene = sceneWith(atLeft(150, BAR))
    const event = (requestNumber: number, units: number) =>
      scene.send({
        kind: 'event',
        sessionId: `e${requestNumber}`,
        requestNumber,
        services: [data(units)],
      })
    expect(event(0, 50).reason).toBe('granted')
    const lines = scene.lines.length
    expect(event(1, 1).reason).toBe('capReached')
    expect(scene.bucket('PACK').spent).toBe(50)
    expect(scene.lines).toHaveLength(lines)
  })

  it('does not concern free numbers, and does not replace other denials', () => {
    const scene = sceneWith(atLeft(200, BAR))
    scene.isFreeNumber = (number) => number === '112'
    const start = (calledNumber: string, sessionId: string) =>
      scene.send({
        kind: 'start',
        sessionId,
        requestNumber: 0,
        services: [serviceRequest({ usaget: 'call', requested: 60, calledNumber })],
      }).reason
    expect(start('112', 'a')).toBe('granted')
    expect(start('113', 'b')).toBe('capReached')
    const update = { kind: 'update' as const, sessionId: 'a', requestNumber: 1 }
    expect(scene.send({ ...update, services: [call(60, 60)] }).reason).toBe('granted')
    scene.profile = { ...scene.profile!, barred: true }
    expect(start('113', 'c')).toBe('barred')
  })

  it('answers a pretended request and a check of credit alike', () => {
    const scene = sceneWith(atLeft(200, BAR))
    const asked = { kind: 'start' as const, requestNumber: 0 }
    expect(scene.decide({ ...asked, services: [data(5)], pretend: true })).toMatchObject({
      outcome: { reason: 'capReached' },
      commit: null,
    })
    const check = serviceRequest({ requested: 0, checksCredit: true })
    expect(scene.send({ ...asked, services: [check] }).reason).toBe('capReached')
  })

  it('grants no part of a service with several kinds of units', () => {
    const part = { usaget: 'data_time', requested: 60, used: 0, usedBefore: -1 }
    const parts = [{ ...part, role: 'beside' as const }]
    const services = [serviceRequest({ requested: 10, parts })]
    const start = { kind: 'start' as const, requestNumber: 0, services }
    expect(sceneWith().send(start).services[0]?.parts).toEqual([
      { usaget: 'data_time', granted: 60 },
    ])
    for (const usaget of [['data'], ['data_time']]) {
      const scene = sceneWith(atLeft(200, { ...BAR, usaget }))
      expect(scene.send(start).services).toMatchObject([
        { reason: 'capReached', granted: 0, parts: null },
      ])
      expect(scene.bucket('PACK').reserved).toBe(0)
    }
  })

  it('does not concern usage reported after expiry', () => {
    const scene = sceneWith(atLeft(100, BAR))
    scene.send({ kind: 'start', requestNumber: 0, services: [data(150)] })
    scene.expire('s')
    const late = scene.send({ kind: 'update', requestNumber: 1, services: [data(10, 150)] })
    expect(late).toMatchObject({ reason: 'granted', detail: 'the session had expired' })
    expect(scene.bucket('PACK').spent).toBe(150)
  })
})

describe('redirect', () => {
  it('grants nothing, with a validity after which the network element asks again', () => {
    const scene = sceneWith(atLeft(200, REDIRECT))
    const services = [data(10)]
    const outcome = scene.send({ kind: 'start', requestNumber: 0, services })
    expect(outcome).toMatchObject({ reason: 'granted', detail: '' })
    expect(outcome.services).toMatchObject([
      {
        reason: 'granted',
        granted: 0,
        finalUnit: true,
        validityMs: SETTINGS.validityMs,
        action: { type: 'redirect', address: PAGE },
      },
    ])
    scene.topUp('PACK', 1)
    const update = scene.send({ kind: 'update', requestNumber: 1, services })
    expect(update.services).toMatchObject([{ granted: 10, action: null, finalUnit: false }])
  })

  it('replaces the denial of a request that no balance can pay', () => {
    const scene = sceneWith({
      ...atLeft(0, REDIRECT),
      conditions: [{ type: 'reached_constant', value: 0, paths: [{ path: 'balance.cost' }] }],
    })
    scene.send({ kind: 'event', requestNumber: 0, sessionId: 'e', services: [call(4 * 60)] })
    expect(scene.bucket('MONEY').free).toBe(5)
    scene.send({
      kind: 'event',
      requestNumber: 0,
      sessionId: 'f',
      services: [serviceRequest({ usaget: 'sms', requested: 1 })],
    })
    const start = { kind: 'start' as const, requestNumber: 0, services: [call(60)] }
    expect(scene.send(start).reason).toBe('noCredit')
    scene.nowMs += SETTINGS.replayMs
    scene.topUp('MONEY', 1)
    scene.send({
      kind: 'event',
      requestNumber: 0,
      sessionId: 'g',
      services: [serviceRequest({ usaget: 'sms', requested: 1 })],
    })
    expect(scene.bucket('MONEY').free).toBe(0)
    expect(scene.send(start).services).toMatchObject([
      { reason: 'granted', granted: 0, action: { type: 'redirect' } },
    ])
  })

  it('denies an event, which cannot be redirected', () => {
    const scene = sceneWith(atLeft(200, REDIRECT))
    const event = { kind: 'event' as const, requestNumber: 0, services: [data(1)] }
    expect(scene.send(event).services).toMatchObject([{ reason: 'capReached', action: null }])
  })
})

describe('throttle', () => {
  it('reports the policy with the grant', () => {
    const scene = sceneWith(atLeft(100, SLOW))
    const send = (requestNumber: number, used: number) =>
      scene.send({
        kind: requestNumber === 0 ? 'start' : 'update',
        requestNumber,
        services: [data(50, used), call(10)],
      }).services
    const none = [
      { granted: 50, action: null },
      { granted: 10, action: null },
    ]
    expect(send(0, 0)).toMatchObject(none)
    expect(send(1, 99)).toMatchObject(none)
    const action = { type: 'throttle', policy: 'SLOW' }
    expect(send(2, 1)).toMatchObject([
      { granted: 50, action },
      { granted: 10, action },
    ])
    scene.topUp('PACK', 1)
    expect(send(3, 0)).toMatchObject(none)
    expect(scene.send({ kind: 'release', requestNumber: 4, services: [] }).reason).toBe('granted')
  })

  it('is not reported with a denial, nor with a report that asks for nothing', () => {
    const scene = sceneWith(atLeft(200, SLOW))
    const [denied, asked] = scene.send({
      kind: 'start',
      requestNumber: 0,
      services: [serviceRequest({ usaget: 'none', requested: 5 }), data(5)],
    }).services
    expect([denied?.action, asked?.action]).toEqual([null, { type: 'throttle', policy: 'SLOW' }])
    const [report] = scene.send({
      kind: 'update',
      requestNumber: 1,
      services: [data(-1, 1)],
    }).services
    expect(report?.action).toBeNull()
  })
})

describe('of several rules in force', () => {
  it('the first one for the usage type applies: bar, then redirect, then throttle', () => {
    const scene = sceneWith(
      atLeft(200, SLOW),
      atLeft(200, { ...REDIRECT, usaget: ['call'] }),
      atLeft(200, { ...REDIRECT, address: 'https://other.example.net/' }),
      atLeft(200, { ...BAR, usaget: ['sms'] }),
      atLeft(100, BAR),
    )
    const services = [data(1), call(1), serviceRequest({ usaget: 'sms', requested: 1 })]
    const outcome = scene.send({ kind: 'start', requestNumber: 0, services })
    expect(outcome.services.map(({ reason, action }) => [reason, action])).toEqual([
      ['granted', { type: 'redirect', address: 'https://other.example.net/' }],
      ['granted', { type: 'redirect', address: PAGE }],
      ['capReached', null],
    ])
  })
})

describe('a postpaid subscriber', () => {
  const total = {
    event_code: 'TOTAL',
    conditions: [{ type: 'reached_constant' as const, value: 100, paths: [{ path: PACK }] }],
    action: BAR,
  }

  it('is judged with the usage of the request, also by totals that are kept for rules only', () => {
    const scene = sceneWith(total)
    const always = { fromMs: 0, toMs: START_MS * 2 }
    scene.catalogue = catalogueOf(RATES, [
      planOf('PREPAID', { ...always, connectionType: 'postpaid' }),
    ])
    const update = (requestNumber: number, used: number) =>
      scene.decide({ kind: 'update', requestNumber, services: [data(10, used)] }).outcome.reason
    scene.send({ kind: 'start', requestNumber: 0, services: [data(10)] })
    expect(update(1, 99)).toBe('granted')
    expect(update(1, 100)).toBe('capReached')
  })
})
