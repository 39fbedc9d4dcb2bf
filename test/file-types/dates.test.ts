import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileEventTime } from '../../src/file-types/dates.ts'
import { DecodeErrors } from '../../src/file-types/decode-errors.ts'
import type { ParserSettings } from '../../src/file-types/file-type.ts'
import { compileDateFormat } from '../../src/file-types/php-dates.ts'
import { CONTEXT, NOW_MS, refusal } from '../support/file-types/sample.ts'

type Fields = Record<string, unknown>

/** The time as ISO 8601, `absent`, or the error. */
function timeOf(
  processor: Fields,
  message: Fields,
  zone = 'UTC',
  parser: ParserSettings['type'] = 'json',
): string {
  const errors = new DecodeErrors()
  const read = compileEventTime({ date_field: 'd', ...processor }, 'p', parser, zone)
  const atMs = read(message, CONTEXT, errors)
  if (errors.problem !== null) return `${errors.problem.field} ${errors.problem.why}`
  return atMs < 0 ? 'absent' : new Date(atMs).toISOString()
}

const FREE = 'd must be ISO 8601, YYYY-MM-DD HH:MM:SS, YYYYMMDDHHMMSS or unix seconds'
const MAY = '2026-05-03T10:20:30.000Z'
const MAY_S = Date.parse(MAY) / 1000

describe('a date without a format', () => {
  it.each([
    [MAY_S, MAY],
    [String(MAY_S), MAY],
    [MAY_S + 0.25, '2026-05-03T10:20:30.250Z'],
    [`${MAY_S}.5`, '2026-05-03T10:20:30.500Z'],
    ['2026-05-03T12:20:30+02:00', MAY],
    ['2026-05-03T10:20:30Z', MAY],
    ['2026-05-03 10:20:30', MAY],
    ['20260503102030', MAY],
    [20260503102030, MAY],
    ['2026-05-03', '2026-05-03T00:00:00.000Z'],
    ['', 'absent'],
    [null, 'absent'],
    ['yesterday', FREE],
    ['2026-02-30', FREE],
    ['20260503', 'd is too far in the past'],
    [`${MAY_S}000`, FREE],
    [Number.NaN, FREE],
    [-5, FREE],
    [true, FREE],
    [{}, FREE],
    ['1'.repeat(100), FREE],
    [MAY_S - 400 * 86_400, 'd is too far in the past'],
    [MAY_S + 400 * 86_400, 'd is in the future'],
  ])('%j is read as %s', (value, expected) => {
    expect(timeOf({}, { d: value })).toBe(expected)
  })

  it('is now if it is too far away and the document allows that', () => {
    for (const value of [MAY_S - 400 * 86_400, MAY_S + 400 * 86_400]) {
      expect(timeOf({ date_beyond: 'now' }, { d: value })).toBe('absent')
      expect(timeOf({ date_beyond: 'refuse' }, { d: value })).toMatch(/^d is /)
    }
    expect(timeOf({ date_beyond: 'now' }, { d: MAY_S })).toBe(MAY)
    expect(timeOf({ date_beyond: 'now' }, { d: 'yesterday' })).toBe(FREE)
    expect(() => timeOf({ date_beyond: 'clamp' }, {})).toThrow("p.date_beyond must be 'refuse'")
  })

  it('is in the zone of the document, then of the message, then of the installation', () => {
    const message = { d: '2026-05-03 12:20:30', zone: 'America/New_York' }
    expect(timeOf({}, message, 'Europe/Berlin')).toBe(MAY)
    expect(timeOf({ timezone_field: 'zone' }, message)).toBe('2026-05-03T16:20:30.000Z')
    const both = { timezone_field: 'zone', timezone: '+02:00' }
    expect(timeOf(both, message)).toBe(MAY)
    expect(timeOf({ timezone_field: 'zone' }, { d: message.d })).toBe('2026-05-03T12:20:30.000Z')
    const unknown = { ...message, zone: 'Mars/Olympus' }
    expect(timeOf({ timezone_field: 'zone' }, unknown)).toBe('zone is not a time zone')
    expect(timeOf({ timezone: 'Europe/Berlin' }, { d: `${message.d}Z` })).toContain('T12:20')
    expect(timeOf({ timezone: 'Europe/Berlin' }, { d: '20260503122030' })).toBe(MAY)
  })

  it.each([
    ['2026-03-29 01:59:59', '2026-03-29T00:59:59.000Z'],
    ['2026-03-29 02:30:00', '2026-03-29T01:30:00.000Z'],
    ['2026-03-29 03:00:00', '2026-03-29T01:00:00.000Z'],
    ['2026-10-25 02:30:00', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25 03:00:00', '2026-10-25T02:00:00.000Z'],
  ])('%s in Berlin, near a clock change, is %s', (value, expected) => {
    expect(timeOf({}, { d: value }, 'Europe/Berlin')).toBe(expected)
    const format = { date_format: 'Y-m-d H:i:s', timezone: 'Europe/Berlin' }
    expect(timeOf(format, { d: value })).toBe(expected)
  })

  it('is NTP seconds in Diameter where the value fits', () => {
    const ntp = MAY_S + 2_208_988_800
    expect(timeOf({}, { d: ntp }, 'UTC', 'diameter')).toBe(MAY)
    expect(timeOf({}, { d: MAY_S }, 'UTC', 'diameter')).toBe(MAY)
    expect(timeOf({}, { d: ntp })).toBe('d is in the future')
    expect(timeOf({ date_format: 'ntp' }, { d: String(ntp) })).toBe(MAY)
    expect(timeOf({ date_format: 'ntp' }, { d: 'x' })).toBe('d must be seconds since 1900')
  })
})

describe('a date with a format', () => {
  it.each([
    ['d/m/Y H:i:s', '03/05/2026 10:20:30', MAY],
    ['j.n.y G:i:s', '3.5.26 10:20:30', MAY],
    ['YmdHis', '20260503102030', MAY],
    ['D, d M Y h:i:s a', 'Sun, 03 May 2026 10:20:30 am', MAY],
    ['l j F Y g:i:s A', 'sunday 3 MAY 2026 10:20:30 AM', MAY],
    ['Y-m-d H:i:s.u', '2026-05-03 10:20:30.123456', '2026-05-03T10:20:30.123Z'],
    ['Y-m-d H:i:s.v', '2026-05-03 10:20:30.5', '2026-05-03T10:20:30.500Z'],
    ['Y-m-d\\TH:i:sP', '2026-05-03T12:20:30+02:00', MAY],
    ['Y-m-d H:i:s O', '2026-05-03 05:20:30 -0500', MAY],
    ['Y-m-d H:i:s e', '2026-05-03 12:20:30 Europe/Berlin', MAY],
    ['Y-m-d H:i:s T', '2026-05-03 10:20:30 UTC', MAY],
    ['Y-m-d\\TH:i:sp', '2026-05-03T10:20:30Z', MAY],
    ['N Y-m-d', '7 2026-05-03', '2026-05-03T00:00:00.000Z'],
    ['!d-m-Y|', '03-05-2026', '2026-05-03T00:00:00.000Z'],
    ['Y?m?d', '2026x05x03', '2026-05-03T00:00:00.000Z'],
    ['U', String(MAY_S), MAY],
    ['\\Y\\\\Ymd', 'Y\\20260503', '2026-05-03T00:00:00.000Z'],
    ['d/m/Y g:i A', '03/05/2026 12:05 AM', '2026-05-03T00:05:00.000Z'],
    ['d/m/Y g:i A', '03/05/2026 12:05 PM', '2026-05-03T12:05:00.000Z'],
    ['d/m/Y g:i A', '03/05/2026 13:05 PM', 'd must be a date as d/m/Y g:i A'],
    ['d/m/Y', '31/02/2026', 'd must be a date as d/m/Y'],
    ['d/m/Y', '03/05/2026 10:00', 'd must be a date as d/m/Y'],
    ['d/m/Y', '2026-05-03', 'd must be a date as d/m/Y'],
    ['YmdHis', '2026050324203', 'd must be a date as YmdHis'],
    ['Y-m-d e', '2026-05-03 Mars/Olympus', 'd must be a date as Y-m-d e'],
    ['Ymd', 20260503, '2026-05-03T00:00:00.000Z'],
    // Unix seconds are accepted with any format.
    ['d/m/Y', String(MAY_S), MAY],
    ['d/m/Y', MAY_S, MAY],
  ])('%s reads %j as %s', (date_format, value, expected) => {
    expect(timeOf({ date_format }, { d: value })).toBe(expected)
  })

  it('may have its time in a second field', () => {
    const split = { time_field: 't', date_format: 'd.m.Y', time_format: 'H:i' }
    expect(timeOf(split, { d: '03.05.2026', t: '10:20' })).toBe('2026-05-03T10:20:00.000Z')
    expect(timeOf(split, { d: '03.05.2026' })).toBe('d must be a date as d.m.Y H:i')
    expect(timeOf({ time_field: 't' }, { d: '2026-05-03', t: '10:20:30' })).toBe(MAY)
    expect(timeOf({ time_field: 't' }, { t: '10:20:30' })).toBe('absent')
  })

  it.each([
    [{ date_format: 'd/m' }, 'p.date_format must have a day, a month and a year, or U'],
    [{ date_format: 'Y-m-d z' }, "p.date_format has 'z', which is not supported"],
    [{ date_format: 'Y-m-d*' }, "p.date_format has '*', which is not supported"],
    [{ date_format: 'Y-m-d\\' }, 'p.date_format ends with a backslash'],
    [
      { date_format: 'Y-m-d h:i' },
      'p.date_format must have a or A with h or g, and only with them',
    ],
    [
      { date_format: 'Y-m-d', time_field: 't' },
      'p.time_format is missing beside time_field and date_format',
    ],
    [{ date_format: 'Y-m-d', time_format: 'H' }, 'p.time_field is missing beside time_format'],
    [{ time_format: 'H' }, 'p.time_format needs date_format'],
    [
      { date_format: 'Y-m-d', time_field: 't', time_format: 'x' },
      "p.time_format has 'x', which is not supported",
    ],
    [
      { date_format: 'ntp', time_field: 't' },
      'p.time_field cannot be combined with date_format ntp',
    ],
    [{ timezone: 'Mars/Olympus' }, 'p.timezone is not a time zone: Mars/Olympus'],
    [{ timezone_field: 'a b' }, expect.stringContaining('p.timezone_field must be the path')],
    [{ date_field: '', timezone: 'UTC' }, 'p.timezone needs date_field'],
  ])('%j is refused', (processor, message) => {
    expect(refusal(() => timeOf(processor, {}))).toEqual(message)
  })

  it('never throws, whatever the text, and reads back what it writes', () => {
    const formats = ['d/m/Y H:i:s', 'D, d M y g:i a T', 'YmdHisu', 'U', 'Y-m-d e P']
    const readers = formats.map((format) => compileDateFormat(format, 'at'))
    fc.assert(
      fc.property(fc.constantFrom(...readers), fc.string({ unit: 'binary' }), (read, text) => {
        expect(() => read(text, 'UTC')).not.toThrow()
      }),
    )
    const read = compileDateFormat('Y-m-d H:i:s.v', 'at')
    const dates = fc.date({ min: new Date(0), max: new Date(NOW_MS * 2), noInvalidDate: true })
    fc.assert(
      fc.property(dates, (date) => {
        const text = date.toISOString().replace('T', ' ').replace('Z', '')
        expect(read(text, 'UTC')).toBe(date.getTime())
      }),
    )
  })
})
