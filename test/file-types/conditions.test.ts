import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileConditions } from '../../src/file-types/conditions.ts'
import { refusal } from '../support/file-types/sample.ts'

type Fields = Readonly<Record<string, unknown>>
const readerOf = (name: string) => (fields: Fields) => fields[name]

function holds(conditions: unknown, fields: Fields): boolean {
  return compileConditions(conditions, 'at', readerOf)(fields)
}

describe('a condition', () => {
  it.each([
    ['$eq', 'net', 'net', true],
    ['$eq', 'net', 'other', false],
    ['$eq', 5, '5', true],
    ['$eq', '5.0', 5, true],
    ['$eq', true, 'true', true],
    ['$eq', 'x', undefined, false],
    ['$eq', '', '', true],
    [undefined, 'net', 'net', true],
    ['eq', 'net', 'net', true],
    ['$ne', 'net', 'other', true],
    ['$ne', 'net', 'net', false],
    ['$ne', 'net', undefined, true],
    ['$gt', 9, '10', true],
    ['$gt', 10, 10, false],
    ['$gte', 10, '10', true],
    ['$lt', 10, 9.5, true],
    ['$lt', 10, '', false],
    ['$lte', 'b', 'a', true],
    ['$gt', 1, undefined, false],
    ['$in', ['a', 2], '2', true],
    ['$in', 'a, b', 'b', true],
    ['$in', ['a'], 'b', false],
    ['$in', [], 'b', false],
    ['$nin', ['a'], 'b', true],
    ['$nin', ['a'], 'a', false],
    ['$nin', ['a'], undefined, true],
    ['$exists', true, 'x', true],
    ['$exists', undefined, 'x', true],
    ['$exists', true, undefined, false],
    ['$exists', 'false', undefined, true],
    ['$exists', 0, 'x', false],
    ['$regex', '^net', 'net.x', true],
    ['$regex', '/NET/i', 'my net', true],
    ['$eq', '/^net/', 'net.x', true],
    ['$ne', '/^net/', 'net.x', true],
    ['$regex', '^5', 57, true],
    ['$regex', 'x', undefined, false],
    ['$eq', 'b', ['a', 'b'], true],
    ['$ne', 'b', ['a', 'b'], false],
    ['$eq', 'a', { a: 'a' }, false],
    ['$eq', '', null, false],
  ])('%s %j on %j is %s', (op, pattern, value, expected) => {
    expect(holds([{ src_field: 'f', op, pattern }], { f: value })).toBe(expected)
    expect(holds([{ field_name: 'f', op, value: pattern }], { f: value })).toBe(expected)
  })

  it('on a list applies an expression to a limited number of characters', () => {
    const list = Array.from({ length: 10 }, () => 'y'.repeat(102))
    for (const pattern of ['x', '(x|x)+']) {
      const condition = [{ src_field: 'f', op: '$regex', pattern }]
      expect(holds(condition, { f: [...list.slice(1), 'x'] })).toBe(true)
      expect(holds(condition, { f: [...list, 'x'] })).toBe(false)
      expect(holds(condition, { f: [{}, null, 'x'] })).toBe(true)
      expect(holds(condition, { f: Array(2_000).fill('').concat('x') })).toBe(false)
    }
  })

  it('compares the numbers of a list as it does single ones', () => {
    const numbers = fc.constantFrom(
      '1',
      '01',
      '1.0',
      '-0',
      '0',
      '9007199254740993',
      '9007199254740992',
      '1e3',
      '1000',
      '9007199254740993.0',
      '0x10',
      '16',
      '',
      ' ',
      'NaN',
      'Infinity',
      '9'.repeat(401),
    )
    fc.assert(
      fc.property(fc.array(numbers), numbers, (pattern, value) => {
        const isOne = pattern.some((one) => holds([{ src_field: 'f', pattern: one }], { f: value }))
        expect(holds([{ src_field: 'f', op: '$in', pattern }], { f: value })).toBe(isOne)
      }),
    )
  })

  it('holds with others only if all of them hold', () => {
    const both = [
      { src_field: 'a', pattern: 1 },
      { src_field: 'b', pattern: 2 },
    ]
    expect(holds(both, { a: 1, b: 2 })).toBe(true)
    expect(holds(both, { a: 1, b: 3 })).toBe(false)
    expect(holds(both, { a: 0, b: 2 })).toBe(false)
    expect(holds([], {})).toBe(true)
  })

  it.each([
    ['x', 'at must be a list'],
    [undefined, 'at is missing'],
    [['x'], 'at.0 must be an object'],
    [[{ pattern: 1 }], 'at.0.src_field is missing'],
    [[{ src_field: 'f', field: 'g' }], 'at.0.field is not known'],
    [[{ src_field: 'f' }], 'at.0.pattern is missing'],
    [[{ src_field: 'f', pattern: {} }], 'at.0.pattern must be a text, a number or true or false'],
    [[{ src_field: 'f', op: '$in', pattern: 3 }], 'at.0.pattern must be a list'],
    [
      [{ src_field: 'f', op: '$in', pattern: [{}] }],
      'at.0.pattern.0 must be a text, a number or true or false',
    ],
    [[{ src_field: 'f', op: '$exists', pattern: 'x' }], 'at.0.pattern must be true or false'],
    [[{ field_name: 'f', op: '$regex', value: '(' }], 'at.0.value is not a regular expression: ('],
    [
      [{ src_field: 'f', op: '$where', pattern: 1 }],
      'at.0.op must be one of $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $regex, is ' +
        "'$where'",
    ],
  ])('%j is refused', (document, message) => {
    expect(refusal(() => compileConditions(document, 'at', readerOf))).toBe(message)
  })

  it('never throws, whatever values are compared', () => {
    const ops = '$eq $ne $gt $gte $lt $lte $in $nin $exists'.split(' ')
    fc.assert(
      fc.property(fc.constantFrom(...ops), fc.anything(), (op, value) => {
        const pattern = op === '$exists' ? true : '5'
        expect(typeof holds([{ src_field: 'f', op, pattern }], { f: value })).toBe('boolean')
      }),
    )
  })
})
