import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ChargeOutcome } from '../../src/domain/charge-outcome.ts'
import type { RequestKind } from '../../src/domain/charge-request.ts'
import type { Line } from '../../src/domain/line.ts'
import { needsProfile } from '../../src/rating/charge-session.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { requestOf, serviceRequest } from '../support/domain/requests.ts'
import { catalogueOf, rateOf } from '../support/rating/catalogue.ts'
import { PLANS, RatingFixture, SETTINGS } from '../support/rating/rating-fixture.ts'

const data = (requested: number, used = 0) => serviceRequest({ requested, used })
const call = (requested: number, used = 0) => serviceRequest({ usaget: 'call', requested, used })

function newest(lines: readonly Line[]): Map<string, Line> {
  const found = new Map<string, Line>()
  for (const line of lines) {
    expect(line.version, line.stamp).toBe((found.get(line.stamp)?.version ?? 0) + 1)
    found.set(line.stamp, line)
  }
  return found
}

const summaryOf = (lines: readonly Line[]) =>
  lines.map(({ stamp, version, state, counts: { late, used, chargedUnits, charged, debt } }) =>
    [
      stamp.split('-').slice(-2).join('-'),
      version,
      state,
      late,
      used,
      chargedUnits,
      charged,
      debt,
    ].join(' '),
  )

describe('usage reported after its session has expired', () => {
  it('is paid from the available units, and the rest is debt', () => {
    new RatingFixture().play(`
      | request   | service | asks | used | answer        | units | PACK  | MONEY | SHARED | debt |
      |-----------|---------|------|------|---------------|-------|-------|-------|--------|------|
      | start 0   | data    | 150  | 0    | granted       | 150   | 50+150 | 50    | 100    | 0    |
      | expire    |         |      |      |               |       | 200   | 50    | 100    | 0    |
      | update 1  | data    | 90   | 120  | granted       | 0 *   | 80    | 50    | 100    | 0    |
      | update 2  | data    | 90   | 80   | granted       | 0 *   | 0     | 50    | 100    | 0    |
      | update 2  | data    | 90   | 80   | granted       | 0 *   | 0     | 50    | 100    | 0    |
      | update 3  | data    | 10   | 250  | granted       | 0 *   | 0     | 0     | 100    | 0    |
      | release 4 | data    |      | 115  | granted       | 0     | 0     | 0     | 0      | 4    |
    `)
  })

  it('continues the line of the session, marked as late, at its price', () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [call(60)] })
    scene.send({ requestNumber: 1, services: [call(60, 30)] })
    scene.expire('s')
    scene.catalogue = catalogueOf([rateOf('CALL', 'call', '999/1', { id: 'CALL@9' })], PLANS)
    scene.send({ requestNumber: 2, services: [call(60, 30)] })
    scene.send({ kind: 'release', requestNumber: 3, services: [call(-1, 1)] })
    // The second report begins no new minute and has no second access price; the third begins a
    // minute.
    expect(summaryOf(scene.lines)).toEqual([
      '1-1 1 open false 30 30 15 0',
      '1-1 2 expired false 30 30 15 0',
      '1-1 3 expired true 60 60 15 0',
      '1-1 4 expired true 61 61 25 0',
    ])
  })

  it('of a service without usage so far has the price of its time and a line of its own', () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [data(10)] })
    scene.expire('s')
    const services = [call(60, 61), data(10, 5)]
    const request = requestOf({ requestNumber: 1, services })
    expect(needsProfile(request, scene.sessions.get('s')!)).toBe(true)
    const known = requestOf({ requestNumber: 1, services: [data(10, 5), call(60)] })
    expect(needsProfile(known, scene.sessions.get('s')!)).toBe(false)
    scene.send(request)
    scene.send({ requestNumber: 2, services: [call(-1, 1)] })
    expect(summaryOf(scene.lines)).toEqual([
      '2-1 1 expired true 61 61 25 0',
      '1-1 1 expired true 5 0 0 0',
      '2-1 2 expired true 62 62 25 0',
    ])
  })

  it('is reported in the detail if it cannot be priced, and does not stop the rest', () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [data(10)] })
    scene.expire('s')
    const services = [serviceRequest({ usaget: 'mms', used: 1 }), data(10, 5)]
    const { reason, detail, services: answers } = scene.send({ requestNumber: 1, services })
    expect([reason, ...answers.map((answer) => answer.reason)]).toEqual([
      'granted',
      'noRate',
      'granted',
    ])
    expect(detail).toBe('the session had expired; mms not charged: No rate, or rate is blocked')
  })

  it('grants nothing, also to a service that only requests units', () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [data(10)] })
    scene.expire('s')
    const outcome = scene.send({ requestNumber: 1, services: [data(10, 5), call(60)] })
    expect(outcome).toMatchObject({ reason: 'granted', detail: 'the session had expired' })
    const nothing = { reason: 'granted', granted: 0, validityMs: 0, finalUnit: true }
    expect(outcome.services).toMatchObject([nothing, nothing])
    expect(scene.sessions.get('s')).toMatchObject({ state: 'expired' })
    expect(scene.bucket('PACK').reserved + scene.bucket('MONEY').reserved).toBe(0)
  })
})

describe('an expired session', () => {
  const expired = () => {
    const scene = new RatingFixture()
    scene.send({ kind: 'start', requestNumber: 0, services: [data(10)] })
    scene.expire('s')
    return scene
  }
  const reasonOf = (scene: RatingFixture, kind: RequestKind, requestNumber: number, used: number) =>
    scene.send({ kind, requestNumber, services: [data(10, used)] }).reason

  it('refuses requests that report no usage', () => {
    const scene = expired()
    expect(reasonOf(scene, 'update', 1, 0)).toBe('sessionClosed')
    expect(reasonOf(scene, 'release', 1, 0)).toBe('sessionClosed')
    expect(reasonOf(scene, 'start', 1, 0)).toBe('sessionClosed')
  })

  it('answers a repeated request as before, and is closed after a late release', () => {
    const scene = expired()
    const request = { kind: 'release' as const, requestNumber: 1, services: [data(-1, 7)] }
    const first: ChargeOutcome = scene.send(request)
    expect(first).toMatchObject({ reason: 'granted', detail: 'the session had expired' })
    expect(first.services[0]?.finalUnit).toBe(false)
    expect(scene.decide(request)).toEqual({ outcome: first, commit: null })
    expect(reasonOf(scene, 'update', 2, 5)).toBe('sessionClosed')
    expect(scene.sessions.get('s')).toMatchObject({ state: 'closed', services: [] })
  })

  it('is unknown after its replay time, which every late report prolongs', () => {
    const scene = expired()
    scene.nowMs += SETTINGS.replayMs - 1
    expect(reasonOf(scene, 'update', 1, 5)).toBe('granted')
    scene.nowMs += SETTINGS.replayMs - 1
    expect(reasonOf(scene, 'update', 2, 5)).toBe('granted')
    scene.nowMs += SETTINGS.replayMs
    expect(reasonOf(scene, 'update', 3, 5)).toBe('unknownSession')
  })
})

const report = fc.record({
  kind: fc.constantFrom<RequestKind>('update', 'update', 'update', 'release'),
  services: fc.uniqueArray(
    fc.record({
      usaget: fc.constantFrom('data', 'call', 'sms'),
      requested: fc.integer({ min: -1, max: 90 }),
      used: fc.oneof(fc.constant(0), fc.nat({ max: 90 })),
    }),
    { minLength: 1, maxLength: 3, selector: ({ usaget }) => usaget },
  ),
  topUp: fc.constantFrom(0, 0, 40),
  expires: fc.constantFrom(false, false, true),
})

/** The prices of the fixture's rates for the charged units of one whole session. */
const PRICES: Record<string, (units: number) => number> = {
  data: (units) => 2 * Math.ceil(units / 10),
  call: (units) => (units > 0 ? 5 : 0) + 10 * Math.ceil(units / 60),
  sms: (units) => 3 * units,
}

describe('a session that may expire at any time', () => {
  it('settles each unit once and has the price of a session that did not expire', () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 12 }), (reports) => {
        const scene = new RatingFixture()
        const opening = ['data', 'call'].map((usaget) => serviceRequest({ usaget, requested: 20 }))
        scene.send({ kind: 'start', requestNumber: 0, services: opening })
        const used: Record<string, number> = {}
        for (const [index, { kind, services, topUp, expires }] of reports.entries()) {
          if (topUp > 0) scene.topUp('MONEY', topUp)
          if (expires) scene.expire('s')
          const before = scene.sessions.get('s')?.state
          const request = { kind, requestNumber: index + 1, services: services.map(serviceRequest) }
          const { services: answers } = scene.send(request)
          for (const [position, { reason, granted, usaget }] of answers.entries()) {
            if (before !== 'open') expect([reason, granted]).toEqual(['granted', 0])
            used[usaget] = (used[usaget] ?? 0) + services[position]!.used
          }
        }
        const lines = [...newest(scene.lines).values()]
        for (const [usaget, total] of Object.entries(used)) {
          const own = lines.filter((line) => line.service.usaget === usaget)
          expect(own.reduce((sum, line) => sum + line.counts.used, 0)).toBe(total)
          const chargedUnits = own.reduce((sum, line) => sum + line.counts.chargedUnits, 0)
          const charged = own.reduce((sum, line) => sum + line.counts.charged, 0)
          expect(charged).toBe(PRICES[usaget]!(chargedUnits))
        }
        const paid = (kind: 'units' | 'money') =>
          lines
            .flatMap(({ counts: { payments } }) => payments)
            .reduce((sum, payment) => sum + (payment.kind === kind ? payment.amount : 0), 0)
        expect(scene.bucket('PACK').spent + scene.bucket('SHARED').spent).toBe(paid('units'))
        expect(scene.bucket('MONEY').spent).toBe(paid('money') + scene.subscriber.repaid)
        expect(scene.subscriber.owed).toBe(
          lines.reduce((sum, { counts: { debt } }) => sum + debt, 0),
        )
      }),
      propertyRuns(400),
    )
  })
})
