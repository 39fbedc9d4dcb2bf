import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decimalText,
  divideHalfEven,
  divideHalfEvenBig,
  exactDecimal,
  microsFrom,
  parseDecimal,
  toScale,
} from '../../src/domain/money.ts'
import { fraction, fromDecimal, nearestEven } from '../support/domain/fraction.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'

describe('parseDecimal', () => {
  it.each([
    ['12.5', 125n, 1],
    ['-0.250', -25n, 2],
    ['+7', 7n, 0],
    ['007.10', 71n, 1],
    ['0.000', 0n, 0],
    ['-0', 0n, 0],
    ['1e3', 1000n, 0],
    ['1.5E+3', 1500n, 0],
    ['15e-4', 15n, 4],
    ['1500e-2', 15n, 0],
    [' 3.3 ', 33n, 1],
    ['123456789012345678901.5', 1234567890123456789015n, 1],
    [0.1, 1n, 1],
    [1e-7, 1n, 7],
    [1e21, 10n ** 21n, 0],
    [-2.5, -25n, 1],
  ])('reads %s exactly', (value, digits, scale) => {
    expect(parseDecimal(value)).toEqual({ digits, scale })
  })

  it.each([
    '',
    ' ',
    '.5',
    '5.',
    '1,5',
    '1 000',
    '0x10',
    '1e',
    '1e1000',
    '--1',
    '1.2.3',
    'NaN',
    'Infinity',
    '١٢',
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ])('refuses %j', (value) => {
    expect(parseDecimal(value)).toBeNull()
  })

  it.each<[number | string, string]>([
    [0.1 * 3, '0.3'],
    [-0.1 * 3, '-0.3'],
    ['0.30000000000000004', '0.3'],
    [' -0.30000000000000004', '-0.3'],
    [1.1 + 2.2, '3.3'],
    [0.7 + 0.1, '0.8'],
    [4.35 * 100, '435'],
    [1000.1 * 3, '3000.3'],
    [100_000.1 * 3, '300000.3'],
    [3e-7 * 3, '0.0000009'],
    [0.123456789012, '0.123456789012'],
    // Whole micros and integers of up to 16 digits stay as they are.
    [4_503_599_627.370496, '4503599627.370496'],
    [1_234_567_890_123_457, '1234567890123457'],
    // Not a decimal of 15 digits and at most 12 decimals.
    [1 / 3, '0.333333333333333'],
    [5.551115123125783e-17, '0.0000000000000000555111512312578'],
    // Not the text form of a double.
    ['0.3000000000000000444', '0.3000000000000000444'],
    ['0.3333333333333333', '0.333333333333333'],
    ['300000.30000000005', '300000.30000000005'],
  ])('reads %j as %s, without the rounding error of a double', (value, text) => {
    expect(parseDecimal(value)).toEqual(exactDecimal(text))
  })

  it('reads a double of at most 15 digits as it was written', () => {
    const written = fc.tuple(
      fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }),
      fc.integer({ min: 0, max: 15 }),
    )
    fc.assert(
      fc.property(written, ([digits, scale]) => {
        const text = `${digits}e-${scale}`
        expect(parseDecimal(Number(text))).toEqual(exactDecimal(text))
      }),
      propertyRuns(500),
    )
  })

  it('reads a long text in one pass', () => {
    expect(parseDecimal(`1.${'0'.repeat(200_000)}`)).toEqual({ digits: 1n, scale: 0 })
  })

  it('agrees with exact fractions', () => {
    const text = fc
      .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat({ max: 10 ** 9 }))
      .map(([minus, whole, part]) => `${minus ? '-' : ''}${whole}.${part}`)
    fc.assert(
      fc.property(text, (drawn) => {
        const { digits, scale } = parseDecimal(drawn)!
        const { over, under } = fromDecimal(drawn)
        expect(digits * under).toBe(over * 10n ** BigInt(scale))
        expect(scale === 0 || digits % 10n !== 0n).toBe(true)
      }),
      propertyRuns(500),
    )
  })
})

describe('toScale', () => {
  it.each([
    ['1.5', 6, 1_500_000],
    ['0.000001', 6, 1],
    ['-3', 0, -3],
    ['9007199254.740991', 6, Number.MAX_SAFE_INTEGER],
  ])('%s at scale %i is %i', (text, scale, expected) => {
    expect(toScale(parseDecimal(text)!, scale)).toBe(expected)
  })

  it.each([
    ['finer than the scale', '0.0000001', 6],
    ['a fraction of a unit', '0.5', 0],
    ['beyond 2^53', '9007199254.740992', 6],
    ['below -2^53', '-9007199254740992', 0],
  ])('refuses %s', (_why, text, scale) => {
    expect(toScale(parseDecimal(text)!, scale)).toBeNull()
  })
})

describe('micros', () => {
  it.each([
    ['25', 25_000_000],
    [0.1, 100_000],
    ['0.0000001', null],
    ['a lot', null],
  ])('of %j are %j', (value, expected) => {
    expect(microsFrom(value)).toBe(expected)
  })

  it.each([
    [-1_500_000, '-1.5'],
    [1, '0.000001'],
    [-1, '-0.000001'],
    [0, '0'],
    [-0, '0'],
    [10_000_000, '10'],
    [100_100, '0.1001'],
    [Number.MAX_SAFE_INTEGER, '9007199254.740991'],
  ])('%i read as %s', (micros, text) => {
    expect(decimalText(micros)).toBe(text)
  })

  it('are unchanged by conversion to text and back', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (micros) => {
        expect(microsFrom(decimalText(micros))).toBe(micros === 0 ? 0 : micros)
      }),
      propertyRuns(500),
    )
  })
})

describe('division, half to even', () => {
  it.each([
    [5, 2, 2],
    [7, 2, 4],
    [4, 3, 1],
    [5, 3, 2],
    [0, 7, 0],
    [1_500_000, 1_000_000, 2],
    [2_500_000, 1_000_000, 2],
    [2_500_001, 1_000_000, 3],
  ])('%i / %i is %i', (numerator, divisor, quotient) => {
    expect(divideHalfEven(numerator, divisor)).toBe(quotient)
    expect(divideHalfEvenBig(BigInt(numerator), BigInt(divisor))).toBe(BigInt(quotient))
  })

  it('agrees with exact fractions, ties included, for all safe integers', () => {
    const divisor = fc.oneof(fc.constantFrom(2, 10, 1000, 1_000_000), fc.maxSafeNat())
    const halves = fc
      .tuple(fc.nat({ max: 2 ** 30 }), fc.nat({ max: 2 ** 20 }))
      .map(([half, odd]): [number, number] => [half * (2 * odd + 1), half * 2])
    const any = fc.tuple(fc.maxSafeNat(), divisor)
    fc.assert(
      fc.property(fc.oneof(any, halves), ([numerator, by]) => {
        fc.pre(by > 0)
        const modelled = nearestEven(fraction(numerator, by))
        expect(divideHalfEven(numerator, by)).toBe(Number(modelled))
        expect(divideHalfEvenBig(BigInt(numerator), BigInt(by))).toBe(modelled)
      }),
      propertyRuns(2000),
    )
  })
})
