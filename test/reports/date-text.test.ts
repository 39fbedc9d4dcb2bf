/** Dates in PHP's formats, from instants and from the parts by which the store groups. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileDateText, datePartsAt } from '../../src/reports/date-text.ts'

const AT = Date.UTC(2027, 0, 2, 20, 5, 9)
const shown = (format: string, zone = 'UTC') =>
  compileDateText(format, 'x').write(datePartsAt(AT, zone))

describe('a date', () => {
  it.each([
    ['d/m/Y', '02/01/2027'],
    ['j n y', '2 1 27'],
    ['D l N w', 'Sat Saturday 6 6'],
    ['M F', 'Jan January'],
    ['o-W z', '2026-53 1'],
    ['G H g h', '20 20 8 08'],
    ['i s a A', '05 09 pm PM'],
    ['\\Y\\m Y', 'Ym 2027'],
  ])('%s', (format, text) => expect(shown(format)).toBe(text))

  it('has the time of the time zone', () => expect(shown('d H:i', 'Asia/Kolkata')).toBe('03 01:35'))
})

const LETTERS = [...'djDlNwzWomnFMYyaAGHghis']

it('the parts by which the store groups are sufficient for the text', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: Date.UTC(2099, 0, 1) }),
      fc.array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 6 }),
      (atMs, letters) => {
        const format = compileDateText(letters.join('/'), 'x')
        const whole = datePartsAt(atMs, 'UTC')
        const values: Record<string, number> = {
          ...{ '%G': whole.isoYear, '%V': whole.isoWeek, '%Y': whole.year, '%m': whole.month },
          ...{ '%d': whole.day, '%j': whole.dayOfYear, '%u': whole.weekday, '%H': whole.hour },
          ...{ '%M': whole.minute, '%S': whole.second },
        }
        const grouped = format.grouped.replace(/%[A-Za-z]/g, (sign) =>
          String(values[sign]).padStart(2, '0'),
        )
        expect(format.write(format.partsOf(grouped))).toBe(format.write(whole))
      },
    ),
  )
})
