import { describe, expect, it } from 'vitest'
import { pageOf } from '../src/api/records.ts'
import { afterTime, isoOf, timePosition } from '../src/parts/paging.ts'

const row = (id: string, sec: number) => ({ _id: { $id: id }, urt: { sec, usec: 194_000 } })

describe('a page', () => {
  it('has the position after its last row, if there are more', () => {
    const details = [row('b', 60), row('a', 0)]
    const page = pageOf({ details, next_page: true }, timePosition)
    expect(page).toEqual({ rows: details, next: '1970-01-01T00:00:00.194Z~a' })
    expect(pageOf({ details, next_page: false }, timePosition).next).toBe(null)
    expect(pageOf({ details: [], next_page: true }, timePosition).next).toBe(null)
  })

  it('begins after a time and an id', () => {
    const urt = '1970-01-01T00:00:00.194Z'
    expect(afterTime(`${urt}~a`)).toEqual({
      urt: { $lte: urt },
      $or: [{ urt: { $lt: urt } }, { urt: { $eq: urt }, _id: { $lt: 'a' } }],
    })
  })
})

describe('a date of an answer', () => {
  it.each([
    [{ sec: 1, usec: 500_000 }, '1970-01-01T00:00:01.500Z'],
    [{ sec: 1 }, '1970-01-01T00:00:01.000Z'],
    ['2026-03-01T00:00:00+0000', '2026-03-01T00:00:00+0000'],
    [undefined, ''],
    [null, ''],
  ])('%j', (value, iso) => expect(isoOf(value)).toBe(iso))
})
