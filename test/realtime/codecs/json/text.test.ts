import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseInstant } from '../../../../src/domain/time.ts'
import { instantMs } from '../../../../src/realtime/codecs/json/fields.ts'
import { isUnusable, quote } from '../../../../src/realtime/codecs/json/text.ts'
import { propertyRuns } from '../../../support/domain/property-runs.ts'

/** Any text, including halves of surrogate pairs. */
const text = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xff }), fc.integer({ min: 0xd000, max: 0xffff })))
  .map((codes) => String.fromCharCode(...codes))

describe('a text', () => {
  it('is quoted as JSON', () => {
    fc.assert(
      fc.property(text, (value) => {
        expect(quote(value)).toBe(JSON.stringify(value))
      }),
    )
  })

  it.each(['', 'plain ~', '"', '\\', '\u007f', '\u0080é', '\ud800', '😀'])(
    'is quoted: %j',
    (value) => expect(quote(value)).toBe(JSON.stringify(value)),
  )

  it('is unusable with control characters or half characters', () => {
    const unusable = /[\p{Cc}\p{Surrogate}]/u
    fc.assert(fc.property(text, (value) => isUnusable(value) === unusable.test(value)))
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        (value) => !/\p{Cc}/u.test(value) === !isUnusable(value),
      ),
    )
    expect(['😀😀', '😀\ud83d', '\ude00😀', 'é\u00a0'].map(isUnusable)).toEqual([
      false,
      true,
      true,
      false,
    ])
  })
})

describe('an instant in the usual form', () => {
  const digits = (length: number, max: number) =>
    fc.integer({ min: 0, max }).map((number) => String(number).padStart(length, '0'))
  const parts = fc.tuple(
    digits(4, 2100),
    digits(2, 13),
    digits(2, 32),
    digits(2, 25),
    digits(2, 61),
    digits(2, 61),
  )

  it('equals the result of the general parser, or is null if that is null', () => {
    fc.assert(
      fc.property(parts, ([year, month, day, hour, minute, second]) => {
        const value = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`
        expect(instantMs(value, 'Asia/Tokyo')).toBe(parseInstant(value, 'Asia/Tokyo'))
      }),
      propertyRuns(1000),
    )
  })

  it.each([
    ['2024-02-29T23:59:59Z', Date.UTC(2024, 1, 29, 23, 59, 59)],
    ['1969-12-31T23:59:59Z', -1000],
    ['2023-02-29T00:00:00Z', null],
    ['2026-11-2xT10:00:00Z', null],
    ['2026-11-21T10:00:/0Z', null],
    ['2026-11-21T10.00.00Z', null],
    ['2026-11-21t10:00:00Z', null],
    ['2026/11/21T10:00:00Z', null],
    ['2026-11-21T10:00:00z', null],
    ['2026-11-21 10:00:00Z', Date.UTC(2026, 10, 21, 10)],
  ])('is read from %s', (value, atMs) => expect(instantMs(value, 'UTC')).toBe(atMs))
})
