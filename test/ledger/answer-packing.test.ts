import { describe, expect, it } from 'vitest'
import { reasons } from '../../src/domain/charge-outcome.ts'
import type { AnsweredRequest, Session } from '../../src/domain/session.ts'
import { readAnswer, STORED_REASONS, writeAnswer } from '../../src/ledger/answer-packing.ts'
import { Reader } from '../../src/ledger/reader.ts'
import { Writer } from '../../src/ledger/writer.ts'
import { keyOf, sessionOf } from '../support/ledger/fixture.ts'

const sessionKey = keyOf('a')
const session: Session = sessionOf(7, 'a', { openedMs: 1_795_305_724_971, processed: 9 })
const context = { sessionKey, session }

function answerOf(transactionId: string): AnsweredRequest {
  const outcome = { reason: 'granted' as const, detail: '', aid: 1, sid: 7, transactionId }
  const rest = { services: [], cost: 0, balances: null }
  return { requestNumber: 8, digest: 2 ** 52, outcome: { ...outcome, ...rest } }
}

function packed(answered: AnsweredRequest): Buffer {
  const writer = new Writer(64)
  writeAnswer(writer, answered, context)
  return writer.take()
}

describe('a stored answer', () => {
  it('has a stable number for every reason', () => {
    expect([...STORED_REASONS].sort()).toEqual(Object.keys(reasons).sort())
    const known = ['granted', 'notCharged', 'noCredit', 'unknownSubscriber', 'noRate', 'blocked']
    const more = ['pricing', 'noTax', 'unknownSession', 'sessionClosed', 'outOfOrder']
    const last = ['numberReused', 'barred', 'totalBelow', 'malformed', 'overloaded', 'contention']
    const end = ['storeDown', 'corrupt', 'timedOut']
    expect(STORED_REASONS.slice(0, 20)).toEqual([...known, ...more, ...last, ...end])
  })

  it('omits a transaction id that the session implies', () => {
    const answered = answerOf(`${sessionKey}-mwr2ob3f-9`)
    expect(packed(answered)).toHaveLength(12)
    expect(readAnswer(new Reader(packed(answered)), context)).toEqual(answered)
  })

  it.each([
    '',
    sessionKey,
    `${sessionKey}-`,
    `${sessionKey}-mwr2ob3f`,
    `${sessionKey}-mwr2ob3f-`,
    `${sessionKey}-mwr2ob3f-09`,
    `${sessionKey}-mwr2ob3f-9-1`,
    `${sessionKey}-mwr2ob3f-x`,
    `${sessionKey}-0mwr2ob3f-9`,
    `${sessionKey}-MWR2OB3F-9`,
    `${sessionKey}-mwr2ob3g-9`,
    `${sessionKey}-mwr2ob3f-90071992547409930`,
    `X${sessionKey.slice(1)}-mwr2ob3f-9`,
    `${sessionKey} mwr2ob3f-9`,
  ])('keeps a transaction id that the session does not imply: %s', (transactionId) => {
    const answered = answerOf(transactionId)
    expect(readAnswer(new Reader(packed(answered)), context)).toEqual(answered)
  })
})
