import { describe, expect, it } from 'vitest'
import { sessionTagOf, transactionIdOf } from '../../src/domain/lines.ts'
import { outcomeOf, sessionOf } from '../support/domain/requests.ts'

const OPENED_MS = Date.UTC(2026, 6, 1)

/** A session that has processed this number of requests, the last one under this id. */
function after(processed: number, transactionId: string) {
  const outcome = { ...outcomeOf(''), transactionId }
  const answered = [{ requestNumber: processed, digest: 1, outcome }]
  return sessionOf({ openedMs: OPENED_MS, processed, answered })
}

describe('a transaction id', () => {
  const tag = sessionTagOf('key', sessionOf({ openedMs: OPENED_MS }))

  it('names the opening of the session and counts its requests', () => {
    expect(transactionIdOf('key', sessionOf({ openedMs: OPENED_MS }))).toBe(`${tag}-1`)
  })

  it.each([
    [1, '2'],
    [9, '10'],
    [10, '11'],
    [99, '100'],
  ])('continues from that of the request before: %i', (processed, next) => {
    const session = after(processed, `${tag}-${processed}`)
    expect(transactionIdOf('key', session)).toBe(`${tag}-${next}`)
  })

  it.each(['', '12', 'x12', `${tag}-11`, `${tag}-112`])(
    "starts from the session's count after an id of another form: %s",
    (last) => {
      expect(transactionIdOf('key', after(12, last))).toBe(`${tag}-13`)
    },
  )
})
