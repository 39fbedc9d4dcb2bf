import { describe, expect, it } from 'vitest'
import type { RequestKind } from '../../src/domain/charge-request.ts'
import {
  ANSWERS_KEPT_UNNUMBERED,
  addAnswer,
  findAnswer,
  sequenceErrorOf,
} from '../../src/domain/replay.ts'
import type { SessionState } from '../../src/domain/session.ts'
import { outcomeOf, requestOf, serviceRequest, sessionOf } from '../support/domain/requests.ts'
import { readTable } from '../support/domain/table.ts'

/** Whether a first-time request fits a session whose last number is 5 (–: none). */
const FITS = readTable(`
  | session | last | kind    | number | fits           |
  |---------|------|---------|--------|----------------|
  | none    | –    | start   | 0      | yes            |
  | none    | –    | event   | 0      | yes            |
  | none    | –    | update  | 1      | unknownSession |
  | none    | –    | release | 1      | unknownSession |
  | open    | 5    | update  | 6      | yes            |
  | open    | 5    | update  | 9      | yes            |
  | open    | 5    | release | 6      | yes            |
  | open    | 5    | update  | 5      | numberReused   |
  | open    | 5    | update  | 4      | outOfOrder     |
  | open    | 5    | start   | 6      | outOfOrder     |
  | open    | 5    | event   | 6      | outOfOrder     |
  | open    | 5    | start   | 5      | numberReused   |
  | open    | 5    | update  | –      | yes            |
  | open    | –    | update  | 0      | yes            |
  | open    | –    | start   | –      | outOfOrder     |
  | closed  | 5    | update  | 6      | sessionClosed  |
  | closed  | 5    | release | 6      | sessionClosed  |
  | closed  | 5    | start   | 6      | sessionClosed  |
  | closed  | 5    | release | 5      | numberReused   |
  | closed  | 5    | update  | 4      | outOfOrder     |
  | closed  | –    | update  | –      | sessionClosed  |
  | expired | 5    | update  | 6      | sessionClosed  |
  | expired | 5    | start   | 6      | sessionClosed  |
  | denied  | 5    | start   | 6      | yes            |
  | denied  | 5    | event   | 6      | yes            |
  | denied  | 5    | update  | 6      | sessionClosed  |
  | denied  | 5    | start   | 5      | numberReused   |
  | denied  | –    | start   | –      | yes            |
`)

function numberOf(text: string): number {
  return text === '–' ? -1 : Number(text)
}

describe('a first-time request', () => {
  it.each(FITS)('$kind $number in a session $session at $last: $fits', (row) => {
    const state = row['session'] as SessionState | 'none'
    const session =
      state === 'none' ? null : sessionOf({ state, lastNumber: numberOf(row['last']!) })
    const kind = row['kind'] as RequestKind
    const problem = sequenceErrorOf(
      session,
      requestOf({ kind, requestNumber: numberOf(row['number']!) }),
    )
    expect(problem?.reason ?? 'yes').toBe(row['fits'])
  })

  it.each([
    ['update', 6, 1, 'yes'],
    ['release', 6, 1, 'yes'],
    ['update', -1, 1, 'yes'],
    ['update', 6, 0, 'sessionClosed'],
    ['release', 6, 0, 'sessionClosed'],
    ['update', 5, 1, 'numberReused'],
    ['update', 4, 1, 'outOfOrder'],
    ['start', 6, 1, 'sessionClosed'],
  ] as const)(
    '%s %i with usage %i in an expired session: %s',
    (kind, requestNumber, used, fits) => {
      const session = sessionOf({ state: 'expired', lastNumber: 5 })
      const services = [serviceRequest({ usaget: 'call' }), serviceRequest({ used })]
      const problem = sequenceErrorOf(session, requestOf({ kind, requestNumber, services }))
      expect(problem?.reason ?? 'yes').toBe(fits)
    },
  )

  it('is denied with the last answered number, or with the note that the session expired', () => {
    const open = sessionOf({ lastNumber: 5 })
    expect(sequenceErrorOf(open, requestOf({ requestNumber: 4 }))?.detail).toContain('5')
    const expired = sessionOf({ state: 'expired' })
    expect(sequenceErrorOf(expired, requestOf())?.detail).toBe('it expired')
  })
})

describe('a repeated request', () => {
  const answered = addAnswer([], {
    requestNumber: 3,
    digest: 77,
    count: 1,
    outcome: outcomeOf('third'),
  })

  it.each([
    ['the same number and content', 3, 77, 'third'],
    ['the same number with other content', 3, 78, undefined],
    ['another number with the same content', 4, 77, undefined],
    ['no number with the same content', -1, 77, undefined],
  ])('%s', (_what, requestNumber, digest, detail) => {
    const request = requestOf({ requestNumber })
    expect(findAnswer(sessionOf({ answered }), request, digest)?.detail).toBe(detail)
  })

  it('is answered again after the session has closed', () => {
    const session = sessionOf({ state: 'closed', answered, lastNumber: 3 })
    expect(findAnswer(session, requestOf({ requestNumber: 3 }), 77)?.detail).toBe('third')
  })
})

describe('the stored answers', () => {
  const remembered = (numbers: (number | string)[]) => {
    let answered = sessionOf().answered
    for (const [index, number] of numbers.entries()) {
      const requestNumber = typeof number === 'number' ? number : -1
      answered = addAnswer(answered, {
        requestNumber,
        digest: index,
        count: index + 1,
        outcome: outcomeOf(String(number)),
      })
    }
    return answered.map(({ outcome }) => outcome.detail)
  }

  it('are only the last one if requests have numbers', () => {
    expect(remembered([0, 1, 2])).toEqual(['2'])
  })

  it('are the last eight, newest first, if requests have no numbers', () => {
    expect(ANSWERS_KEPT_UNNUMBERED).toBe(8)
    const letters = [...'abcdefghij']
    expect(remembered(letters)).toEqual([...'jihgfedc'])
  })
})
