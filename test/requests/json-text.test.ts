import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError, EntityRuleError } from '../../src/requests/errors.ts'
import { compoundParameters, parseJson } from '../../src/requests/json-text.ts'

const read = (parameters: Record<string, unknown>) =>
  compoundParameters(new Map(Object.entries(parameters)))

describe('compound parameters', () => {
  it('are texts of JSON, or values', () => {
    expect(
      read({ query: '{"sid":1}', update: { a: [1] }, states: '[0,1]', sort: '', project: null }),
    ).toEqual({ query: { sid: 1 }, update: { a: [1] }, states: [0, 1] })
    expect(read({ states: ['0'], unknown: '{' })).toEqual({ states: ['0'] })
  })

  it('are empty objects where PHP writes an empty list', () => {
    expect(read({ query: '[]', options: [] })).toEqual({ query: {}, options: {} })
  })

  it('are all reported if several are malformed', () => {
    const reading = () => read({ query: '{"a" 1}', update: '{"b":1}', sort: '[1]', states: '{}' })
    expect(reading).toThrow(EntityRuleError)
    expect(reading).toThrow(
      /^query is not JSON: .*position 5.*; sort must be an object; states must be a list$/,
    )
  })

  it('are reported without the sent text: it may be a password', () => {
    expect(() => parseJson('{"a":tru}', 'body')).toThrow(/^body is not JSON: Unexpected token '}'$/)
  })

  it.each([
    ['{"a":{"b":12345678901234567890}}', 'update.a.b is a number beyond 2^53'],
    ['{"a":1e400}', 'update.a is a number beyond 2^53'],
    ['{"a":1e-400}', 'has the number 1e-400'],
    ['{"a":0.12345678901234567890}', 'has the number 0.12345678901234567890'],
    ['{"a":9007199254740991.49}', 'has the number 9007199254740991.49'],
    ['{"a":{"__proto__":1}}', 'update.a.__proto__ is a name that is not allowed'],
    ['{"a\\u0000":1}', 'is a name with a zero byte'],
    ['"text"', 'update must be an object'],
    ['12', 'update must be an object'],
  ])('%s is refused', (update, text) => {
    expect(() => read({ update })).toThrow(EntityRuleError)
    expect(() => read({ update })).toThrow(text)
  })

  it('may have numbers that lose no digits, and any digits in texts', () => {
    const text =
      '{"a":0.10000000000000001,"b":9007199254740991,"c":1.50e3,"d":"0.123456789012345678"}'
    expect(parseJson(text, 'update')).toEqual(JSON.parse(text))
    const quoted = '{"a\\"0.123456789012345678901":-0.0,"b":100000000000000000000e-20}'
    expect(parseJson(quoted, 'update')).toEqual(JSON.parse(quoted))
  })

  it('are read like JSON.parse, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json({ maxDepth: 40 }), fc.string()), (query) => {
        try {
          const { query: value } = read({ query })
          if (value !== undefined && !Array.isArray(JSON.parse(query))) {
            expect(value).toEqual(JSON.parse(query))
          }
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError)
        }
      }),
    )
  })
})
