import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { microsOfUnitValue } from '../../src/file-types/unit-value.ts'
import { fromBaseUnits, toBaseUnits } from '../../src/file-types/units.ts'
import { problemOf, START, serviceOf, withMapping } from '../support/file-types/sample.ts'

const amount = (digits: unknown, exponent?: unknown) =>
  exponent === undefined
    ? { 'Value-Digits': digits }
    : { 'Value-Digits': digits, Exponent: exponent }

describe('an amount of digits and exponent', () => {
  it.each([
    [amount(5), 5_000_000],
    [amount(125, -2), 1_250_000],
    [amount('125', '-2'), 1_250_000],
    [amount(3, 2), 300_000_000],
    [amount(1, -6), 1],
    [amount('1000000000000000000', -18), 1_000_000],
    [amount(0), 0],
    [amount(0, -2147483648), 0],
    [amount('0', 2147483647), 0],
    [amount('9007199254740991', -6), Number.MAX_SAFE_INTEGER],
    [{ 'Unit-Value': amount(125, -2), 'Currency-Code': 978 }, 1_250_000],
  ])('%j is read in micros', (value, micros) => {
    expect(microsOfUnitValue(value)).toBe(micros)
    expect(toBaseUnits(value, 'unit_value')).toBe(micros)
  })

  const whole = 'must have Value-Digits, a whole number, and perhaps Exponent'
  const fine = 'must be whole micros: at most 6 decimals'
  const large = 'is more than 2^53 - 1 micros'
  it.each([
    [amount(-1), 'must not be negative'],
    [amount('-9223372036854775808', -20), 'must not be negative'],
    [amount(1, -7), fine],
    [amount(10_000_001, -7), fine],
    [amount(1, -2147483648), fine],
    [amount('9223372036854775807', -30), fine],
    [amount('9007199254740992', -6), large],
    [amount('9223372036854775807'), large],
    [amount(1, 2147483647), large],
    [amount(1.5), whole],
    [amount('1.5'), whole],
    [amount('99999999999999999999'), whole],
    [amount(undefined, 1), whole],
    [amount(1, 'x'), whole],
    [{ 'Unit-Value': {} }, whole],
    [{ 'Unit-Value': null }, whole],
    [{}, whole],
    [5, whole],
    ['5', whole],
  ])('%j is refused', (value, why) => {
    expect(microsOfUnitValue(value)).toBe(why)
  })

  it('is exact for all whole micros', () => {
    const digits = fc.maxSafeNat()
    fc.assert(
      fc.property(digits, fc.integer({ min: -12, max: 6 }), (value, exponent) => {
        const [up, down] = [BigInt(Math.max(0, exponent + 6)), BigInt(Math.max(0, -exponent - 6))]
        const scaled = BigInt(value) * 10n ** up
        const isWhole = scaled % 10n ** down === 0n
        const exact = scaled / 10n ** down
        const isSmall = exact <= BigInt(Number.MAX_SAFE_INTEGER)
        const read = microsOfUnitValue(amount(value, exponent))
        expect(read).toBe(isWhole ? (isSmall ? Number(exact) : large) : fine)
      }),
    )
  })

  it('is a volume of a message, named if it cannot be read', () => {
    const document = withMapping({ usaget: 'money', unit: 'unit_value' })
    const asked = (want: unknown) => ({ ...START, want })
    expect(serviceOf(document, asked(amount(125, -2)))).toMatchObject({ requested: 1_250_000 })
    expect(problemOf(document, asked(amount(1, -9)))).toBe(`want ${fine}`)
    const micros = withMapping({ usaget: 'money', unit: 'micros' })
    expect(serviceOf(micros, asked('1250000'))).toMatchObject({ requested: 1_250_000 })
  })

  it('is written as a decimal number of the currency', () => {
    expect(fromBaseUnits(1_250_000, 'unit_value')).toBe('1.25')
    expect(fromBaseUnits(1, 'unit_value')).toBe('0.000001')
  })
})
