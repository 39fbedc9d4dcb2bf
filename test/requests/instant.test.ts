import { describe, expect, it } from 'vitest'
import { dateOf, fullTimestamp, relativeInstant } from '../../src/requests/instant.ts'

const timeZone = 'Europe/Vienna'
/** A Wednesday, 11:30:15 in Vienna. */
const nowMs = Date.parse('2026-01-28T10:30:15.250Z')
const read = (value: unknown) => dateOf(value, { timeZone, nowMs })?.toISOString() ?? null

describe('dates', () => {
  it.each([
    ['2026-03-01', '2026-02-28T23:00:00.000Z'],
    ['2026-07-01 08:00:00', '2026-07-01T06:00:00.000Z'],
    ['2026-07-01T08:00:00Z', '2026-07-01T08:00:00.000Z'],
    ['2026-07-01T08:00:00.123+0200', '2026-07-01T06:00:00.123Z'],
    [1_767_225_600, '2026-01-01T00:00:00.000Z'],
    ['1767225600', '2026-01-01T00:00:00.000Z'],
    [{ sec: 1_767_225_600, usec: 5_000 }, '2026-01-01T00:00:00.005Z'],
    [{ sec: '1767225600' }, '2026-01-01T00:00:00.000Z'],
    ['now', '2026-01-28T10:30:15.250Z'],
    ['today', '2026-01-27T23:00:00.000Z'],
    ['Midnight', '2026-01-27T23:00:00.000Z'],
    ['noon', '2026-01-28T11:00:00.000Z'],
    ['tomorrow', '2026-01-28T23:00:00.000Z'],
    ['tomorrow noon', '2026-01-29T11:00:00.000Z'],
    ['noon yesterday', '2026-01-27T11:00:00.000Z'],
    ['tomorrow +6 days', '2026-02-03T23:00:00.000Z'],
    ['+1 month', '2026-02-28T10:30:15.000Z'],
    ['today -1 month +3 days', '2025-12-30T23:00:00.000Z'],
    ['+90 seconds', '2026-01-28T10:31:45.250Z'],
    ['-2 hours', '2026-01-28T08:30:15.250Z'],
    // A form has decoded the plus as a space.
    [' 1 week', '2026-02-04T10:30:15.000Z'],
    ['+1 year', '2027-01-28T10:30:15.000Z'],
  ])('%j', (value, expected) => {
    expect(read(value)).toBe(expected)
  })

  it('keep the hour of the day across a clock change', () => {
    const before = Date.parse('2026-03-28T11:00:00Z')
    const day = relativeInstant('+1 day', timeZone, before) ?? 0
    expect(new Date(day).toISOString()).toBe('2026-03-29T10:00:00.000Z')
    const hours = relativeInstant('+24 hours', timeZone, before) ?? 0
    expect(new Date(hours).toISOString()).toBe('2026-03-29T11:00:00.000Z')
  })

  it.each([
    '',
    ' ',
    '2026-02-30',
    '2026',
    'soon',
    '+1 fortnight',
    'first day',
    '1 week ago',
    'day',
    '1970-01-01T00:00:00Z',
    '1969-01-01',
    '+9000 years',
    '-9000 years',
    '-57 years',
    '+999999999 months',
    '-999999999 days',
    '+99999999 months -999999999 days',
    'constructor',
    '+1 constructor',
    `${'tomorrow '.repeat(50)}`,
    0,
    -1,
    Number.NaN,
    1e300,
    253_402_300_800,
    true,
    null,
    [],
    {},
    { sec: 1.5, usec: 0 },
    { sec: 1, usec: -1 },
    { sec: 1, usec: 0, more: 1 },
    { sec: 1e300 },
    { $gte: 1 },
  ])('%j is refused', (value) => {
    expect(read(value)).toBeNull()
  })
})

it('are full timestamps if they have T and a zone', () => {
  expect(fullTimestamp('2026-01-01T00:00:00Z')).toEqual(new Date(Date.UTC(2026, 0, 1)))
  expect(fullTimestamp('1965-05-05T00:00:00.000+02:00')?.toISOString()).toBe(
    '1965-05-04T22:00:00.000Z',
  )
  for (const text of ['2026-01-01', '2026-01-01T00:00:00', '2026-01-01 00:00:00Z', 'x']) {
    expect(fullTimestamp(text)).toBeNull()
  }
  expect(fullTimestamp('2026-13-01T00:00:00Z')).toBeNull()
})
