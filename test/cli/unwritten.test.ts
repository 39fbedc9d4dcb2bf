import { describe, expect, it } from 'vitest'
import { unwrittenText } from '../../src/cli/unwritten.ts'

const COUNTS = { commits: 3, accounts: 2, sessions: 4 }
const NEWEST_MS = Date.UTC(2026, 10, 1, 12, 0, 1)

describe('unwritten data of Redis', () => {
  it.each([
    [Date.UTC(2026, 10, 1, 12), 'from 2026-11-01T12:00:00.000Z'],
    [null, 'from the beginning of its file'],
  ])('is named by its commits: last one in the file at %s', (writtenMs, from) => {
    expect(unwrittenText({ writtenMs, newestMs: NEWEST_MS, ...COUNTS }, 700)).toBe(
      `In its memory only: 700 bytes: what was charged ${from} to 2026-11-01T12:00:01.000Z; of ` +
        'that 3 commits with 4 sessions of 2 accounts are still to be recorded.',
    )
  })

  it('has no commit if the newest one is in the file, or there never was one', () => {
    const text = 'In its memory only: no commit of charges.'
    expect(unwrittenText({ writtenMs: NEWEST_MS, newestMs: NEWEST_MS, ...COUNTS }, null)).toBe(text)
    expect(unwrittenText({ writtenMs: null, newestMs: null, ...COUNTS }, null)).toBe(text)
  })

  it('has an upper bound if it cannot be read', () => {
    expect(unwrittenText(null, 700)).toMatch(/^The unwritten data cannot be read; .* two seconds/)
  })
})
