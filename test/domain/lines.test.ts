import { describe, expect, it } from 'vitest'
import { sessionTagOf, transactionIdOf } from '../../src/domain/lines.ts'

describe('a transaction id', () => {
  it('names the opening of the session and counts its requests', () => {
    const openings = [Date.UTC(2026, 6, 1), Date.UTC(2026, 6, 2)].map((openedMs) => ({ openedMs }))
    const ids = openings.flatMap((opening) =>
      ['one', 'other'].flatMap((key) =>
        [1, 2].map((count) => transactionIdOf(key, opening, count)),
      ),
    )
    expect(new Set(ids).size).toBe(8)
    const [first] = openings
    expect(transactionIdOf('one', first!, 7)).toBe(`${sessionTagOf('one', first!)}-7`)
  })
})
