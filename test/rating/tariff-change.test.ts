/** The next tariff announced by grants, and reports of units used before the tariff change. */
import { describe, expect, it } from 'vitest'
import type { PriceSet } from '../../src/domain/catalogue.ts'
import type { RequestKind, ServiceRequest } from '../../src/domain/charge-request.ts'
import { moneyOf } from '../support/domain/owners.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { RatingFixture, SETTINGS, START_MS } from '../support/rating/rating-fixture.ts'

const FAR = { fromMs: 0, toMs: 1e15 }
const HOUR = 3_600_000
const NIGHT_MS = START_MS + 22 * HOUR
const MORNING_MS = START_MS + 30 * HOUR

/** 2 by day, 1 from 22:00 to 06:00. */
const prices: PriceSet = {
  tariff: tariffFrom('2/1'),
  bands: [
    {
      name: 'night',
      days: new Set(),
      dates: new Set(),
      fromSecond: 22 * 3600,
      toSecond: 6 * 3600,
      tariff: tariffFrom('1/1'),
    },
  ],
}

function sceneAt(nowMs: number): RatingFixture {
  const scene = new RatingFixture({ MONEY: { slot: 0, bucket: moneyOf(5000, { toMs: FAR.toMs }) } })
  const usages = new Map([['call', { base: prices, plans: new Map() }]])
  const rates = [{ ...rateOf('CALL', 'call', null, FAR), usages }]
  scene.catalogue = catalogueOf(rates, [planOf('PREPAID', FAR)])
  scene.profile = profileOf(FAR)
  scene.nowMs = nowMs
  return scene
}

function send(
  scene: RatingFixture,
  kind: RequestKind,
  number: number,
  more: Partial<ServiceRequest>,
) {
  const services = [serviceRequest({ usaget: 'call', ...more })]
  return scene.send({ kind, requestNumber: number, services }).services[0]
}

describe('a grant', () => {
  it.each([
    ['within the longest validity', NIGHT_MS - 60_000, NIGHT_MS],
    ['just within the longest validity', NIGHT_MS - SETTINGS.validityMs, NIGHT_MS],
    ['later than the validity', NIGHT_MS - SETTINGS.validityMs - 1, 0],
    ['that has passed', NIGHT_MS, 0],
    ['at the end of the band', MORNING_MS - 1, MORNING_MS],
    ['at the end of the cycle', START_MS + 31 * 24 * HOUR - 1000, START_MS + 31 * 24 * HOUR],
  ])('announces a tariff change %s', (_what, nowMs, changeMs) => {
    const grant = send(sceneAt(nowMs), 'start', 0, { requested: 60 })
    expect(grant).toMatchObject({ granted: 60, tariffChangeMs: changeMs })
  })

  it('of an event, of no units, or with another reason to end announces no tariff change', () => {
    const atMs = NIGHT_MS - 60_000
    expect(send(sceneAt(atMs), 'event', 0, { requested: 5 })).toMatchObject({ tariffChangeMs: 0 })
    expect(send(sceneAt(atMs), 'start', 0, { requested: 0 })).toMatchObject({ tariffChangeMs: 0 })
    const toMs = START_MS + 600_000
    const ending = sceneAt(START_MS)
    const rate = rateOf('CALL', 'call', '1/1', { fromMs: 0, toMs })
    ending.catalogue = catalogueOf([rate], [planOf('PREPAID', FAR)])
    expect(send(ending, 'start', 0, { requested: 5 })).toMatchObject({
      granted: 5,
      validityMs: 600_000,
      tariffChangeMs: 0,
    })
  })

  it('announces the same change to a repeated request', () => {
    const scene = sceneAt(NIGHT_MS - 60_000)
    const first = send(scene, 'start', 0, { requested: 60 })
    const sent = { services: [serviceRequest({ usaget: 'call', requested: 60 })] }
    const eventTimeMs = scene.nowMs
    scene.nowMs += 30_000
    const again = scene.send({ kind: 'start', requestNumber: 0, eventTimeMs, ...sent })
    expect(again.services[0]).toEqual(first)
  })
})

describe('usage over a tariff change', () => {
  /** Lines after a session that began a minute before the night and reports 100 then. */
  function linesOf(atMs: number, report: Partial<ServiceRequest>) {
    const scene = sceneAt(NIGHT_MS - 60_000)
    send(scene, 'start', 0, { requested: 600 })
    scene.nowMs = atMs
    send(scene, 'release', 1, { used: 100, ...report })
    return scene.lines.map(({ pricing: { band }, counts: { used, charged } }) => [
      band,
      used,
      charged,
    ])
  }
  const later = NIGHT_MS + 60_000

  it.each([
    [
      'is split as reported',
      30,
      [
        ['', 30, 60],
        ['night', 70, 70],
      ],
    ],
    [
      'is split by time if not reported',
      -1,
      [
        ['', 50, 100],
        ['night', 50, 50],
      ],
    ],
    ['may all be before the change', 100, [['', 100, 200]]],
    ['may all be after the change', 0, [['night', 100, 100]]],
    ['is never more than the used units', 101, [['', 100, 200]]],
  ])('%s', (_what, usedBefore, lines) => {
    expect(linesOf(later, { usedBefore })).toEqual(lines)
  })

  it('is of the earlier tariff if the event time is, whatever units are reported', () => {
    expect(linesOf(NIGHT_MS, { usedBefore: 100 })).toEqual([['', 100, 200]])
    expect(linesOf(NIGHT_MS - 1, { usedBefore: 0 })).toEqual([['', 100, 200]])
  })

  it('ignores units before the change if totals are reported', () => {
    expect(linesOf(later, { usedBefore: 30, isTotal: true })).toEqual(linesOf(later, {}))
  })

  it('is divided at the first change as reported; usage after that is split by time', () => {
    // Eight hours of night, and eight of the day after.
    expect(linesOf(MORNING_MS + 8 * HOUR, { usedBefore: 40 })).toEqual([
      ['', 40, 80],
      ['night', 30, 30],
      ['', 30, 60],
    ])
  })

  it('continues from the previous split with the next report', () => {
    const scene = sceneAt(NIGHT_MS - 60_000)
    send(scene, 'start', 0, { requested: 600 })
    scene.nowMs = later
    send(scene, 'update', 1, { requested: 600, used: 100, usedBefore: 100 })
    scene.nowMs += 60_000
    send(scene, 'release', 2, { used: 7, usedBefore: 3 })
    expect(scene.lines.map(({ pricing: { band }, counts: { used } }) => [band, used])).toEqual([
      ['', 100],
      ['night', 7],
    ])
  })

  it('is part of the request content: another split is another request', () => {
    const scene = sceneAt(NIGHT_MS - 60_000)
    send(scene, 'start', 0, { requested: 600 })
    const report = (usedBefore: number) =>
      scene.send({
        kind: 'update',
        requestNumber: 1,
        eventTimeMs: later,
        services: [serviceRequest({ usaget: 'call', used: 9, usedBefore })],
      })
    expect(report(4).reason).toBe('granted')
    expect(report(4).reason).toBe('granted')
    expect(report(5).reason).toBe('numberReused')
    expect(scene.lines.map(({ counts: { used } }) => used)).toEqual([4, 5])
  })
})
