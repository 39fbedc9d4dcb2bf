import { afterEach, describe, expect, it } from 'vitest'
import { zoneChoice } from '../src/frame/choices.ts'
import { formatPeriod, formatTime, isInstant, precisionOf } from '../src/parts/time.tsx'
import { localeOf } from '../src/words/words.ts'

afterEach(() => {
  zoneChoice.value = 'node'
})

describe('formats', () => {
  it.each([
    ['en', ['en-GB', 'en'], 'en-GB'],
    ['en', ['de-CH', 'en-IE'], 'en-IE'],
    ['de', ['de-AT'], 'de-AT'],
    ['de', ['en-GB'], 'de'],
    ['en', [], 'en'],
    ['en', ['english', 'en_GB', 'en-GB'], 'en-GB'],
  ] as const)('of %s in a browser of %j are those of %s', (language, preferred, locale) => {
    expect(localeOf(language, preferred)).toBe(locale)
  })
})

const revision = (from: string, to: string) => ({ from, to })
const NEVER = '2170-01-01T00:00:00+0000'

describe('periods', () => {
  it('have days where days tell them apart', () => {
    const all = [
      revision('2026-01-01T00:00:00+0000', '2026-03-01T12:00:00+0000'),
      revision('2026-03-01T12:00:00+0000', NEVER),
    ]
    expect(precisionOf(all)).toBe('day')
    expect(formatPeriod(all[1]!, 'day')).toMatch(/^Mar 1, 2026 – no end$/)
  })

  it('of one day have times, with seconds if they are needed', () => {
    const noon = '2026-11-29T12:00:00+0000'
    const later = '2026-11-29T12:05:00+0000'
    const second = '2026-11-29T12:05:01+0000'
    expect(precisionOf([revision(noon, later), revision(later, NEVER)])).toBe('minute')
    expect(precisionOf([revision(later, second), revision(second, NEVER)])).toBe('second')
    expect(formatPeriod(revision(noon, later), 'minute')).toContain('12:05')
  })

  it('without an end say so, at every place', () => {
    expect(formatTime(NEVER)).toBe('no end')
    expect(formatTime('2170-01-01T00:00:00.000Z', 'day')).toBe('no end')
    expect(formatTime('2169-12-31T22:00:00.000Z')).toBe('no end')
    expect(formatTime('2026-01-01T00:00:00.000Z', 'day')).not.toBe('no end')
  })
})

describe('texts that are instants', () => {
  it.each([
    ['2026-01-01T00:00:00+0000', true],
    ['2026-01-01T00:00:00.000Z', true],
    ['2026-01-01T01:00:00+01:00', true],
    ['2026-01-01', false],
    ['GOLD', false],
    ['2026-01-01T00:00:00Z and more', false],
  ])('%j: %s', (text, expected) => expect(isInstant(text)).toBe(expected))
})
