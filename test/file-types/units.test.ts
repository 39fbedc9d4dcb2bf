import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromBaseUnits, isDecimalUnit, toBaseUnits, unitAt } from '../../src/file-types/units.ts'
import { refusal } from '../support/file-types/sample.ts'

const MAX = Number.MAX_SAFE_INTEGER
const FACTORS = {
  counter: 1n,
  seconds: 1n,
  minutes: 60n,
  hours: 3600n,
  byte: 1n,
  kb1000: 10n ** 3n,
  mb1000: 10n ** 6n,
  gb1000: 10n ** 9n,
  tb1000: 10n ** 12n,
  kb1024: 2n ** 10n,
  mb1024: 2n ** 20n,
  gb1024: 2n ** 30n,
  tb1024: 2n ** 40n,
  mm: 1n,
  cm: 10n,
  m: 1000n,
  km: 10n ** 6n,
  mg: 1n,
  g: 1000n,
  kg: 10n ** 6n,
  ton: 10n ** 9n,
}
const units = fc.constantFrom(...Object.entries(FACTORS))

describe('a volume in base units', () => {
  it.each([
    [12, 'byte', 12],
    ['12', 'byte', 12],
    [' 12 ', 'byte', 12],
    ['1.5', 'mb1024', 1_572_864],
    [0.1, 'mb1000', 100_000],
    ['0.1', 'kb1024', 103],
    [3 * 0.1, 'mb1000', 300_000],
    [String(3 * 0.1), 'mb1000', 300_000],
    [158_480_035_343_498 / 3600, 'hours', 158_480_035_343_498],
    ['0.300000000000001', 'mb1000', 300_001],
    ['804.7830670906884', 'tb1000', 804_783_067_090_689],
    ['35.514131301954876', 'tb1024', 39_048_200_316_863],
    [35.514131301954876, 'tb1024', 39_048_200_316_863],
    [0.3, 'tb1000', 300_000_000_000],
    ['1e3', 'counter', 1000],
    [2.5, 'minutes', 150],
    ['0.0000000001', 'byte', 1],
    [-0, 'byte', 0],
    ['-0', 'byte', 0],
    [MAX, 'byte', MAX],
    [String(MAX), 'byte', MAX],
    ['8796093022207.999', 'kb1024', MAX],
    ['013000', 'hhmmss', 5400],
    ['1:30:00', 'hhmmss', 5400],
    ['130', 'hhmmss', 90],
    [7, 'hhmmss', 7],
    ['1000000', 'hhmmss', 360_000],
  ])('%j %s is %d', (value, unit, expected) => {
    expect(toBaseUnits(value, unit)).toBe(expected)
  })

  it.each([
    ['9007199254740992', 'byte', 'is more than 2^53 - 1 base units'],
    [2 ** 53, 'byte', 'is more than 2^53 - 1 base units'],
    ['8796093022208', 'kb1024', 'is more than 2^53 - 1 base units'],
    [1e300, 'byte', 'is more than 2^53 - 1 base units'],
    ['1e999', 'tb1024', 'is more than 2^53 - 1 base units'],
    [-1, 'byte', 'must not be negative'],
    ['-0.5', 'byte', 'must not be negative'],
    ['', 'byte', 'must be a number from 0 up'],
    ['12 MB', 'byte', 'must be a number from 0 up'],
    ['0x10', 'byte', 'must be a number from 0 up'],
    [Number.NaN, 'byte', 'must be a number from 0 up'],
    [Number.POSITIVE_INFINITY, 'byte', 'must be a number from 0 up'],
    [true, 'byte', 'must be a number from 0 up'],
    [[1], 'byte', 'must be a number from 0 up'],
    ['1'.repeat(65), 'byte', 'must be a number from 0 up'],
    ['016000', 'hhmmss', 'must be hours, minutes and seconds as HHMMSS or HH:MM:SS'],
    ['1:3', 'hhmmss', 'must be hours, minutes and seconds as HHMMSS or HH:MM:SS'],
    [null, 'hhmmss', 'must be hours, minutes and seconds as HHMMSS or HH:MM:SS'],
  ])('%j %s is refused', (value, unit, why) => {
    expect(toBaseUnits(value, unit)).toBe(why)
  })

  it('is the exact fraction rounded up, as computed with big integers', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 18n })
    fc.assert(
      fc.property(digits, fc.nat({ max: 18 }), units, (number, scale, [unit, factor]) => {
        const text = String(number).padStart(scale + 1, '0')
        const value = scale === 0 ? text : `${text.slice(0, -scale)}.${text.slice(-scale)}`
        const under = 10n ** BigInt(scale)
        const exact = (number * factor + under - 1n) / under
        const expected = exact > BigInt(MAX) ? 'is more than 2^53 - 1 base units' : Number(exact)
        expect(toBaseUnits(value, unit)).toBe(expected)
      }),
    )
  })

  it('of a double with 15 digits is that of its text', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e15, noNaN: true }), units, (double, [unit]) => {
        const text = String(Number(double.toPrecision(15)))
        expect(toBaseUnits(Number(text), unit)).toEqual(toBaseUnits(text, unit))
      }),
    )
  })

  it('is a number or a reason, whatever is given', () => {
    fc.assert(
      fc.property(fc.anything(), units, (value, [unit]) => {
        expect(['number', 'string']).toContain(typeof toBaseUnits(value, unit))
      }),
    )
  })
})

describe('base units in a unit', () => {
  it.each([
    [0, 'mb1024', '0'],
    [1_572_864, 'mb1024', '1.5'],
    [1, 'mb1024', '0.000000953674316'],
    [100, 'minutes', '1.666666666666666'],
    [MAX, 'byte', '9007199254740991'],
    [MAX, 'tb1000', '9007.199254740991'],
    [5400, 'hhmmss', '013000'],
    [359_999, 'hhmmss', '995959'],
    [360_000, 'hhmmss', '1000000'],
  ])('%d in %s is %s', (given, unit, text) => {
    expect(fromBaseUnits(given, unit)).toBe(text)
  })

  it('never exceed the amount, and convert back to it', () => {
    const amounts = fc.maxSafeNat()
    fc.assert(
      fc.property(amounts, units, (given, [unit, factor]) => {
        const text = fromBaseUnits(given, unit)
        const [whole = '', decimals = ''] = text.split('.')
        const written = BigInt(whole + decimals) * factor
        expect(written <= BigInt(given) * 10n ** BigInt(decimals.length)).toBe(true)
        expect(toBaseUnits(text, unit)).toBe(given)
      }),
    )
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 9 }), (given) => {
        expect(toBaseUnits(fromBaseUnits(given, 'hhmmss'), 'hhmmss')).toBe(given)
      }),
    )
  })
})

describe('the unit of a document', () => {
  it('is a counter by default', () => {
    expect([undefined, null, ''].map((value) => unitAt(value, 'at'))).toEqual(
      Array(3).fill('counter'),
    )
  })

  it('is one of the known units', () => {
    for (const unit of [...Object.keys(FACTORS), 'hhmmss']) expect(unitAt(unit, 'at')).toBe(unit)
    expect(refusal(() => unitAt('constructor', 'at'))).toMatch(
      /^at must be one of counter, .*, is 'constructor'$/,
    )
    expect(refusal(() => unitAt(1, 'at'))).toMatch(/, is number$/)
  })

  it('has decimal amounts, except for a clock', () => {
    expect(isDecimalUnit('mb1024')).toBe(true)
    expect(isDecimalUnit('hhmmss')).toBe(false)
  })
})
