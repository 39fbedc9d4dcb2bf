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

function answerOf(transactionId: string, count: number): AnsweredRequest {
  const outcome = { reason: 'granted' as const, detail: '', aid: 1, sid: 7, transactionId }
  const rest = { services: [], cost: 0, balances: null }
  return { requestNumber: 8, digest: 2 ** 52, count, outcome: { ...outcome, ...rest } }
}

function packed(answered: AnsweredRequest): Buffer {
  const writer = new Writer(64)
  writeAnswer(writer, answered, session)
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
    const answered = answerOf(`${sessionKey}-mwr2ob3f-9`, 9)
    expect(packed(answered)).toHaveLength(12)
    expect(readAnswer(new Reader(packed(answered)), context)).toEqual(answered)
  })

  it.each(['', `${sessionKey}-mwr2ob3f-9`, 'anything'])('keeps an id of another form: %s', (id) => {
    const answered = answerOf(id, 0)
    expect(readAnswer(new Reader(packed(answered)), context)).toEqual(answered)
  })
})
