import { describe, expect, it } from 'vitest'
import { plainValue } from '../../../src/entities/import/extended-json.ts'

describe('Extended JSON', () => {
  it.each([
    [{ $oid: '65f000000000000000000001' }, '65f000000000000000000001'],
    [{ $date: '2026-01-01T00:00:00Z' }, '2026-01-01T00:00:00Z'],
    [{ $date: { $numberLong: '1767225600000' } }, '2026-01-01T00:00:00.000Z'],
    [{ $date: 1_767_225_600_000 }, '2026-01-01T00:00:00.000Z'],
    [{ $date: { $numberLong: '99999999999999999' } }, { $numberLong: '99999999999999999' }],
    [{ $numberLong: '1700000000000001' }, 1_700_000_000_000_001],
    [{ $numberInt: '-5' }, -5],
    [{ $numberDouble: '2.0' }, 2],
    [{ $numberDouble: 'NaN' }, NaN],
    [{ $numberDecimal: '0.1' }, 0.1],
    [{ $numberDecimal: '12345678901234567890.5' }, '12345678901234567890.5'],
    [
      { sec: 1, usec: 2 },
      { sec: 1, usec: 2 },
    ],
    [
      { $oid: 'a', b: 1 },
      { $oid: 'a', b: 1 },
    ],
    [[{ a: { $numberInt: '1' } }], [{ a: 1 }]],
    [{}, {}],
    [null, null],
  ])('%j is %j', (value, plain) => {
    expect(plainValue(value)).toEqual(plain)
  })
})
