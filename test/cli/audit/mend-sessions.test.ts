import { describe, expect, it } from 'vitest'
import { lineDocument } from '../../../src/catalog/records/usage/line-document.ts'
import { emptySums } from '../../../src/catalog/records/usage/line-sums.ts'
import type { LaterLine, SegmentLine } from '../../../src/cli/audit/evidence.ts'
import { followingSessions } from '../../../src/cli/audit/mend-sessions.ts'
import type { Session } from '../../../src/domain/session.ts'
import { segmentLines } from '../../../src/ledger/stream-entries.ts'
import { withFields } from '../../support/domain/lines.ts'
import { serviceRequest } from '../../support/domain/requests.ts'
import { RatingFixture } from '../../support/rating/rating-fixture.ts'

const KEY = 'k'.repeat(22)

/** An open session that has used 30 units of one service, and its owner as evidence. */
function openSession() {
  const fixture = new RatingFixture()
  const grants = { requested: 50 }
  fixture.send({ kind: 'start', sessionId: 's', services: [serviceRequest(grants)] })
  fixture.send({
    kind: 'update',
    sessionId: 's',
    requestNumber: 2,
    services: [serviceRequest({ ...grants, used: 30 })],
  })
  const session = fixture.sessions.get('s') as Session
  const [standing] = segmentLines(session, KEY)
  if (standing === undefined) throw new Error('the session has no line')
  const state = fixture.subscriber
  const sessions = [{ sessionKey: KEY, session }]
  const owner = { state, sessions, sums: emptySums(), projected: [] }
  return { session, standing, owner }
}

describe('the mend of an open session whose usage is missing in the ledger', () => {
  it('changes nothing where its lines match the record', () => {
    const { owner } = openSession()
    expect(followingSessions(owner, [], [])).toEqual([])
  })

  it('counts the additional usage of a newer line as reported, and replaces that line', () => {
    const { owner, standing } = openSession()
    const recorded = lineDocument(
      withFields(standing, { version: 9, used: standing.counts.used + 12 }),
    )
    const different: SegmentLine[] = [{ ledgerLine: standing, recorded }]
    const [changed] = followingSessions(owner, different, [])
    const [service] = changed?.session.services ?? []
    expect(service).toMatchObject({ usedTotal: 42, segment: { version: 10, counts: { used: 30 } } })
  })

  it('does not replace lines of segments that only the record has', () => {
    const { owner, session, standing } = openSession()
    const stamp = standing.stamp.replace(/-\d+$/, '-2')
    const line = withFields(standing, { stamp, used: 20, charged: 4 })
    const later: LaterLine = {
      sessionKey: KEY,
      session,
      service: 1,
      segment: 2,
      recorded: lineDocument(line),
    }
    const first = { ...later, segment: 1 }
    const [changed] = followingSessions(owner, [], [later, first])
    const [, service] = changed?.session.services ?? []
    expect(service).toMatchObject({ usedTotal: 40, endedMicros: 8, segmentsEnded: 2 })
    expect(service).toMatchObject({
      identity: { usaget: 'data' },
      accessCharged: true,
      segment: null,
    })
  })
})
