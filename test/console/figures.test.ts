/** Numbers of answers stay exact. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorAt, refusalOf } from '../../packages/console/src/api/errors.ts'
import {
  type DecimalText,
  exactDecimal,
  parseExactly,
  sumOf,
} from '../../packages/console/src/api/figures.ts'
import { errorBody } from '../../src/admin/client-errors.ts'
import {
  ExecutionError,
  InvalidFieldsError,
  NotAllowedError,
  NotLoggedInError,
  RequestError,
  VersionConflictError,
} from '../../src/requests/errors.ts'

describe('a sum', () => {
  const sum = (...figures: readonly (number | string)[]) => sumOf(figures as DecimalText[])

  it.each([
    [['0.1', '0.2'], '0.3'],
    [[1, 2], 3],
    [['-0.05', '0.05'], 0],
    [['12345678901234567890.000000000001', '0.1'], '12345678901234567890.100000000001'],
    [['-1.5', 1], '-0.5'],
    [[9007199254740991, 9], '9007199254741000'],
    [['1.50'], '1.5'],
  ])('of %j is %s', (figures, expected) => expect(sum(...figures)).toBe(expected))
})

describe('numbers of an answer', () => {
  // Node 20 hides the source text of numbers: frame.browser.test.ts has more digits.
  it('are numbers if they are whole and exact, otherwise decimal text', () => {
    const text = '{"sid":1001,"aprice":0.42,"left":[1e21,-1.5e-7,5.0,9007199254740991]}'
    expect(parseExactly(text)).toEqual({
      sid: 1001,
      aprice: '0.42',
      left: ['1000000000000000000000', '-0.00000015', 5, 9007199254740991],
    })
  })

  it.each([
    ['1e21', '1000000000000000000000'],
    ['1.5e-7', '0.00000015'],
    ['-2.5E+20', '-250000000000000000000'],
    ['0.1', '0.1'],
    ['-0.25', '-0.25'],
    ['12.345e1', '123.45'],
  ])('%s is shown as %s', (text, plain) => {
    expect(exactDecimal(text)).toBe(plain)
  })

  it('any number has the same value without its exponent', () => {
    const number = fc.tuple(
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      fc.stringMatching(/^(?:\.[0-9]{1,20})?$/),
      fc.integer({ min: -40, max: 40 }),
    )
    fc.assert(
      fc.property(number, ([whole, fraction, power]) => {
        const plain = exactDecimal(`${whole}${fraction}e${power}`)
        expect(plain).toMatch(/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/)
        expect(scaled(plain)).toBe(
          (scaled(`${whole}${fraction}`) * 10n ** BigInt(power + 100)) / 10n ** 100n,
        )
      }),
    )
  })
})

/** A decimal as a whole number of 10^-100. */
function scaled(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return (
    BigInt(whole.replace(/^-?/, '') + fraction.padEnd(100, '0')) * (text.startsWith('-') ? -1n : 1n)
  )
}

describe('a refusal', () => {
  it('names what is wrong at its fields', () => {
    const body = new InvalidFieldsError([
      { path: 'price.0.to', reason: 'must be a number; or UNLIMITED' },
      { path: 'query.effective_date', reason: 'is missing' },
    ]).body()
    const refusal = refusalOf(200, body)
    expect(refusal).toMatchObject({ kind: 'refused', code: 17576 })
    expect(errorAt(refusal?.fields ?? [], 'price.0.to')).toBe('must be a number; or UNLIMITED')
    expect(errorAt(refusal?.fields ?? [], 'effective_date')).toBe('is missing')
  })

  it.each([
    ['login', 200, new NotLoggedInError('No user is logged in').body()],
    ['login', 401, new NotLoggedInError('No user is logged in', 401).body()],
    ['forbidden', 200, new NotAllowedError('No permission').body()],
    ['forbidden', 403, errorBody(403, 'refused')],
    ['conflict', 409, new VersionConflictError('changed', null, {}).body()],
    ['unavailable', 503, new RequestError(503, 'MongoDB is unavailable').body()],
    ['refused', 429, errorBody(429, 'too many')],
    ['refused', 200, new ExecutionError('no', 'refused').body()],
    ['refused', 500, null],
    ['unavailable', 502, undefined],
    ['refused', 200, undefined],
  ] as const)('is of the kind %s for HTTP %d', (kind, httpStatus, answer) => {
    const refusal = refusalOf(httpStatus, answer)
    expect(refusal?.fields).toEqual([])
    expect(refusal?.kind).toBe(kind)
    expect(refusal?.text).not.toBe('')
  })

  it('is none for a success', () => {
    expect(refusalOf(200, { status: 1, details: [] })).toBeNull()
    expect(refusalOf(200, { status: 'ready' })).toBeNull()
    // `remove` has removed no line.
    expect(refusalOf(200, { status: 0, desc: 'success', input: {} })).toBeNull()
  })
})
