import { describe, expect, it } from 'vitest'
import { type Numbering, normalNumber, readNumber } from '../../src/domain/numbering.ts'

const NUMBER = '447700900123'

describe('an MSISDN is stored as digits', () => {
  it.each([
    ['447700900123'],
    ['+447700900123'],
    ['+44 7700 900 123'],
    ['  +44-7700-900123 '],
    ['+44 (7700) 900/123'],
    ['+44 (0)7700 900123'],
    ['+44\u00a07700\u2011900\u2013123'],
    ['\u202a+447700900123\u202c'],
    ['\ufeff447700900123'],
  ])('%j', (text) => {
    expect(readNumber('msisdn', text)).toEqual({ value: NUMBER })
  })

  it.each(['1', '4477', '07700900123', '123456789012345'])('%j', (text) => {
    expect(readNumber('msisdn', text)).toEqual({ value: text })
  })
})

describe('a number that is refused', () => {
  it.each<[Numbering, string, string]>([
    ['msisdn', '4.477E+11', 'not in scientific notation'],
    ['msisdn', '4,477e11', 'not in scientific notation'],
    ['msisdn', '4E+11', 'not in scientific notation'],
    ['imsi', '2.34150000000001E+14', 'not in scientific notation'],
    ['msisdn', '447700900199.0', 'without decimals'],
    ['msisdn', '447700900199,00', 'without decimals'],
    ['imsi', '234150000000001.', 'without decimals'],
    ['msisdn', 'unknown', 'in digits'],
    ['msisdn', '44770090012x', 'in digits'],
    ['msisdn', '-447700900123', 'in digits'],
    ['msisdn', '++447700900123', 'in digits'],
    ['msisdn', '44+7700900123', 'in digits'],
    ['msisdn', '447,700,900,123', 'in digits'],
    ['msisdn', '+', 'in digits'],
    ['msisdn', ' ', 'in digits'],
    ['msisdn', '1234567890123456', 'of 1 to 15 digits, has 16'],
    ['imsi', '+234150000000001', 'in digits'],
    ['imsi', '23415', 'of 6 to 15 digits, has 5'],
    ['imsi', '2341500000000011', 'of 6 to 15 digits, has 16'],
  ])('%s %j', (numbering, text, reason) => {
    expect(readNumber(numbering, text)).toEqual({ reason: expect.stringContaining(reason) })
  })
})

it('an IMSI is stored as digits, with its leading zeros', () => {
  expect(readNumber('imsi', '001-01-0000000001')).toEqual({ value: '001010000000001' })
  expect(readNumber('imsi', '001010')).toEqual({ value: '001010' })
})

it('another numbering plan takes any text', () => {
  expect(readNumber('any', '+44 x')).toEqual({ value: '+44 x' })
})

it('a value that is no number is kept as it is', () => {
  expect(normalNumber('msisdn', 447700900123)).toBe(NUMBER)
  expect(normalNumber('imsi', ['234 150000000001', 'x'])).toEqual(['234150000000001', 'x'])
  for (const value of [undefined, null, '', '4.477E+11', 1.5, { a: 1 }]) {
    expect(normalNumber('msisdn', value)).toEqual(value)
  }
  expect(normalNumber('any', '+44')).toBe('+44')
})
