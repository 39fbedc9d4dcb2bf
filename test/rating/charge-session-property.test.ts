import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequestKind } from '../../src/domain/charge-request.ts'
import type { Line } from '../../src/domain/line.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { RatingFixture } from '../support/rating/rating-fixture.ts'

const SESSIONS = ['a', 'b', 'c']
const BUCKETS = ['PACK', 'MONEY', 'SHARED']

const requestArbitrary = fc.record({
  session: fc.constantFrom(...SESSIONS),
  kind: fc.constantFrom<RequestKind>('start', 'start', 'update', 'update', 'release', 'event'),
  services: fc.uniqueArray(
    fc.record({
      usaget: fc.constantFrom('data', 'call', 'sms', 'mms'),
      requested: fc.integer({ min: -1, max: 150 }),
      used: fc.oneof(fc.constant(0), fc.nat({ max: 150 })),
    }),
    { maxLength: 3, selector: ({ usaget }) => usaget },
  ),
  numbering: fc.constantFrom('next', 'next', 'next', 'same', 'older', 'none'),
  laterMs: fc.constantFrom(0, 1, 1000, 700_000),
  retransmit: fc.boolean(),
  pretend: fc.constantFrom(false, false, false, true),
  topUp: fc.constantFrom(0, 0, 0, 30),
  expires: fc.constantFrom(false, false, true),
})

type Drawn = typeof requestArbitrary extends fc.Arbitrary<infer T> ? T : never

function play(scene: RatingFixture, numbers: Map<string, number>, drawn: Drawn): void {
  scene.nowMs += drawn.laterMs
  if (drawn.topUp > 0) scene.topUp('MONEY', drawn.topUp)
  if (drawn.expires) scene.expire(drawn.session)
  const last = numbers.get(drawn.session) ?? 0
  const opens = drawn.kind === 'start' || drawn.kind === 'event'
  const requestNumber = { next: last + 1, same: last, older: last - 1, none: -1 }[drawn.numbering]
  if (requestNumber > last) numbers.set(drawn.session, requestNumber)
  const request = {
    kind: drawn.kind,
    sessionId: drawn.session,
    requestNumber: Math.max(-1, requestNumber),
    eventTimeMs: scene.nowMs,
    pretend: drawn.pretend,
    // Decoders refuse usage in a request that opens a session.
    services: drawn.services.map((one) => serviceRequest(opens ? { ...one, used: 0 } : one)),
  }
  const before = structuredClone([scene.subscriber, scene.account])
  const outcome = scene.send(request)
  if (drawn.pretend) expect([scene.subscriber, scene.account]).toEqual(before)
  if (!drawn.retransmit || drawn.pretend) return
  expect(scene.decide(request)).toEqual({ outcome, commit: null })
}

/** Reserved units by bucket, summed over the sessions. */
function reservedUnits(scene: RatingFixture): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { services } of scene.sessions.values()) {
    for (const { reservation } of services) {
      for (const { bucket, units } of reservation.slices) {
        if (bucket === null) continue
        const key = `${bucket.owner}:${bucket.id}`
        sums[key] = (sums[key] ?? 0) + units
      }
      for (const { source, micros } of reservation.money) {
        const key = `${source.owner}:${source.id}`
        sums[key] = (sums[key] ?? 0) + micros
      }
    }
  }
  return sums
}

/** The newest version of each line; versions must be consecutive. */
function newestLines(lines: readonly Line[]): Line[] {
  const newest = new Map<string, Line>()
  for (const line of lines) {
    expect(line.version).toBe((newest.get(line.stamp)?.version ?? 0) + 1)
    newest.set(line.stamp, line)
  }
  return [...newest.values()]
}

describe('any exchange of several sessions', () => {
  it('reserves what its sessions hold and spends what its lines say', () => {
    fc.assert(
      fc.property(fc.array(requestArbitrary, { maxLength: 20 }), (exchange) => {
        const scene = new RatingFixture()
        const numbers = new Map<string, number>()
        for (const drawn of exchange) {
          play(scene, numbers, drawn)
          const sums = reservedUnits(scene)
          expect(scene.bucket('PACK').reserved).toBe(sums['0:1'] ?? 0)
          expect(scene.bucket('MONEY').reserved).toBe(sums['0:2'] ?? 0)
          expect(scene.bucket('SHARED').reserved).toBe(sums['1:1'] ?? 0)
        }
        const lines = newestLines(scene.lines)
        const paid = lines.flatMap(({ counts: { payments } }) => payments)
        const spentBy = (owner: number, id: number) =>
          paid.reduce(
            (sum, payment) =>
              sum + (payment.owner === owner && payment.bucketId === id ? payment.amount : 0),
            0,
          )
        expect(scene.bucket('PACK').spent).toBe(spentBy(0, 1))
        expect(scene.bucket('MONEY').spent).toBe(spentBy(0, 2) + scene.subscriber.repaid)
        expect(scene.bucket('SHARED').spent).toBe(spentBy(1, 1))
        expect(scene.subscriber.owed).toBe(
          lines.reduce((sum, { counts: { debt } }) => sum + debt, 0),
        )
      }),
      propertyRuns(400),
    )
  })

  it('leaves nothing reserved once all sessions are released', () => {
    fc.assert(
      fc.property(fc.array(requestArbitrary, { maxLength: 15 }), (exchange) => {
        const scene = new RatingFixture()
        const numbers = new Map<string, number>()
        for (const drawn of exchange) play(scene, numbers, drawn)
        for (const sessionId of SESSIONS) {
          const requestNumber = (numbers.get(sessionId) ?? 0) + 1
          scene.send({ kind: 'release', sessionId, requestNumber, services: [] })
        }
        expect(BUCKETS.map((name) => scene.bucket(name).reserved)).toEqual([0, 0, 0])
        expect(newestLines(scene.lines).every(({ state }) => state !== 'open')).toBe(true)
      }),
      propertyRuns(300),
    )
  })
})
