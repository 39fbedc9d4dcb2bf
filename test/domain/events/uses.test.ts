import { describe, expect, it } from 'vitest'
import { type Use, usesOf } from '../../../src/domain/events/uses.ts'
import { serviceIdentity } from '../../../src/domain/identity.ts'
import type { Line } from '../../../src/domain/line.ts'
import { serviceTagOf } from '../../../src/domain/lines.ts'
import { emptyService, startedService } from '../../../src/domain/segment.ts'
import type { Segment, ServiceSession, Session } from '../../../src/domain/session.ts'
import { type Flat, FREE, lineOf, withFields } from '../../support/domain/lines.ts'
import { startOf } from '../../support/domain/programs.ts'
import { sessionOf } from '../../support/domain/requests.ts'

const KEY = 'key'
const CONTEXT = { request: { kind: 'update', refund: false }, sessionKey: KEY } as const

/** The cycle before, as that of lines. */
const OLD = { cycle: '202611' }

const START = startOf(FREE.tariff, { plan: 'P', cycle: '202612' })

function segment(number: number, used: number, more: Partial<Flat<Segment>> = {}): Segment {
  const started = startedService(
    {
      ...emptyService(serviceIdentity({ ratingGroup: 0, usaget: 'data' })),
      segmentsEnded: number - 1,
    },
    START,
    0,
  )
  return withFields(started.segment as Segment, { used, charged: used * 10, ...more })
}

function session(services: (Segment | null)[], more: Partial<Session> = {}): Session {
  const list = services.map(
    (one, index): ServiceSession => ({
      ...emptyService(serviceIdentity({ ratingGroup: index, usaget: 'data' })),
      segment: one,
    }),
  )
  return { ...sessionOf(more), services: list }
}

function line(number: number, used: number, more: Partial<Flat<Line>> = {}): Line {
  const stamp = `${serviceTagOf(KEY, session([]), 0)}-${number}`
  return lineOf({ stamp, plan: 'P', ...OLD, state: 'ended', used, charged: used * 10, ...more })
}

const amounts = (uses: readonly Use[]) =>
  uses.map(({ units, micros, cycle }) => `${units} ${micros} ${cycle}`)

describe('the usage of a request', () => {
  it('is the growth of the segments that continue', () => {
    const before = session([segment(1, 5), segment(1, 7, { includedUnits: 7, hasGroups: true })])
    const after = session([segment(1, 5), segment(1, 10, { includedUnits: 8, hasGroups: true })])
    const uses = usesOf(before, { session: after, lines: [] }, CONTEXT)
    expect(uses).toMatchObject([{ units: 3, micros: 30, overGroup: 2, outGroup: 0 }])
  })

  it('is that of a segment that ended, and of the next one, each in its cycle', () => {
    const before = session([segment(1, 5, OLD)])
    const change = { session: session([segment(2, 4)]), lines: [line(1, 8)] }
    expect(amounts(usesOf(before, change, CONTEXT))).toEqual(['3 30 202611', '4 40 202612'])
  })

  it('is that of the lines at the end of a session, less what was reported before', () => {
    const change = { session: session([], { state: 'closed' }), lines: [line(1, 8)] }
    const context = { ...CONTEXT, request: { kind: 'release', refund: false } } as const
    expect(amounts(usesOf(session([segment(1, 5, OLD)]), change, context))).toEqual(['3 30 202611'])
    expect(usesOf(session([segment(1, 8, OLD)]), change, context)).toEqual([])
  })

  it('after expiry is that of the segment, which is also a line', () => {
    const before = session([segment(1, 5)], { state: 'expired' })
    const after = session([segment(1, 9)], { state: 'expired' })
    const change = { session: after, lines: [line(1, 9, { state: 'expired' })] }
    expect(amounts(usesOf(before, change, CONTEXT))).toEqual(['4 40 202612'])
  })

  it('in a late release is that of the line, as the session keeps no segment', () => {
    const change = {
      session: session([], { state: 'closed' }),
      lines: [line(1, 9, { state: 'expired' })],
    }
    const context = { ...CONTEXT, request: { kind: 'release', refund: false } } as const
    const [reported, silent] = [segment(1, 5, OLD), null].map((last) =>
      session([last], { state: 'expired' }),
    )
    expect(amounts(usesOf(reported as Session, change, context))).toEqual(['4 40 202611'])
    expect(amounts(usesOf(silent as Session, change, context))).toEqual(['9 90 202611'])
  })

  it('does not begin with an earlier session of the same id', () => {
    const before = session([segment(1, 5)], { openedMs: 1, state: 'expired' })
    const change = { session: session([segment(1, 4)], { openedMs: 2 }), lines: [] }
    expect(amounts(usesOf(before, change, CONTEXT))).toEqual(['4 40 202612'])
  })

  it('of events and refunds is that of their lines', () => {
    const change = { session: session([segment(1, 6)]), lines: [line(2, -6)] }
    for (const request of [
      { kind: 'event', refund: false },
      { kind: 'event', refund: true },
    ] as const) {
      const uses = usesOf(session([segment(1, 6)]), change, { ...CONTEXT, request })
      expect(amounts(uses)).toEqual(['-6 -60 202611'])
    }
  })
})
