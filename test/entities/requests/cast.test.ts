import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { castUpdate } from '../../../src/entities/requests/cast.ts'
import { ApiError, EntityRuleError, InvalidFieldsError } from '../../../src/requests/errors.ts'
import type { Params } from '../../../src/requests/param.ts'

const context = { timeZone: 'Europe/Vienna', nowMs: Date.parse('2026-01-28T10:30:15Z') }
const HEX = '65f0c0ffee0123456789abcd'

const PARAMS: Params = {
  name: { type: 'string' },
  priority: { type: 'integer' },
  rate: { type: 'number' },
  value: { type: 'float' },
  shared: { type: 'boolean' },
  from: { type: 'datetime' },
  account: { type: 'dbid' },
  email: { type: 'email' },
  sid: { type: 'generated' },
  any: { type: 'json' },
  include: { type: 'array' },
  aids: { type: 'array', of: 'integer' },
  days: { type: 'array', of: 'datetime' },
  kinds: { type: 'array', of: 'string', options: ['a', 'b'] },
  mode: { type: 'string', options: ['inc', 'set'] },
  'charge.not_before': { type: 'datetime' },
  'params.class': { type: 'json' },
  'rates.*': { type: 'array' },
}

const cast = (raw: Record<string, unknown>, params = PARAMS) => castUpdate(params, raw, context)
type Case = [name: string, value: unknown, expected: unknown]
const shared = (value: unknown, expected: boolean): Case => ['shared', value, expected]
const fieldsOf = (raw: Record<string, unknown>) => cast(raw).fields

describe('values by type', () => {
  it.each<[string, unknown, unknown]>([
    ['name', 'GOLD', 'GOLD'],
    ['name', 12, '12'],
    ['priority', '5', 5],
    ['priority', '5.0', 5],
    ['priority', 5, 5],
    ['priority', '9007199254740991', 9_007_199_254_740_991],
    ['priority', '-0', 0],
    ['rate', '0.17', 0.17],
    ['value', 1e3, 1000],
    ...[true, 'true', '1', 1, 'yes', 'on'].map((value) => shared(value, true)),
    ...[false, 'false', '0', 0, 'no', 'off'].map((value) => shared(value, false)),
    ['from', '2026-03-01', new Date('2026-02-28T23:00:00Z')],
    ['from', 'tomorrow', new Date('2026-01-28T23:00:00Z')],
    ['account', HEX, new ObjectId(HEX)],
    ['account', { $id: HEX }, new ObjectId(HEX)],
    ['email', 'a.b@example.org', 'a.b@example.org'],
    ['any', { a: [1, null, ''] }, { a: [1, null, ''] }],
    ['any', null, null],
    ['include', 'TV', ['TV']],
    ['include', false, [false]],
    ['include', { groups: {} }, { groups: {} }],
    ['aids', '17', [17]],
    ['aids', [1, '2'], [1, 2]],
    ['days', ['2026-07-01'], [new Date('2026-06-30T22:00:00Z')]],
    ['mode', 'set', 'set'],
    ['charge.not_before', 1_767_225_600, new Date('2026-01-01T00:00:00Z')],
  ])('%s %j', (name, value, expected) => {
    expect(fieldsOf({ [name]: value })).toEqual({ [name]: expected })
  })

  it.each<readonly [string, unknown]>([
    ...[{}, [], ['a']].map((value) => ['name', value] as const),
    ...['5.5', 'x', 5.5, true, '1e99', '9007199254740993', '1'.repeat(99)].map(
      (value) => ['priority', value] as const,
    ),
    ...['NaN', 'Infinity', '0x10', '0.12345678901234567890', '1e400', {}].map(
      (value) => ['rate', value] as const,
    ),
    ...['TRUE!', 2, 'ja', []].map((value) => ['shared', value] as const),
    ...['soon', {}, 0].map((value) => ['from', value] as const),
    ...['65f0', 12, `${HEX}0`, { $id: HEX, a: 1 }, { $oid: HEX }].map(
      (value) => ['account', value] as const,
    ),
    ...['a', '@b.c', 'a@b', 'a b@c.de', `${'a'.repeat(300)}@b.de`, 1].map(
      (value) => ['email', value] as const,
    ),
    ...[['x'], [{}], '1.5'].map((value) => ['aids', value] as const),
    ...['c', ['a', 'c']].map((value) => ['kinds', value] as const),
    ['mode', 'dec'],
  ])('%s %j is refused', (name, value) => {
    expect(() => cast({ [name]: value })).toThrow(InvalidFieldsError)
    expect(() => cast({ [name]: value })).toThrow(`update.${name}`)
  })

  it('with full timestamps and the form of answers become dates at any path', () => {
    const at = new Date('2026-01-01T00:00:00Z')
    const shown = { sec: 1_767_225_600, usec: 0 }
    expect(
      fieldsOf({
        name: '2026-01-01T00:00:00Z',
        any: { list: ['2026-01-01T01:00:00+0100', '2026-01-01', shown] },
        include: [{ from: '2026-01-01T00:00:00.000Z', when: shown, other: { sec: 'x', usec: 0 } }],
      }),
    ).toEqual({
      name: at,
      any: { list: [at, '2026-01-01', at] },
      include: [{ from: at, when: at, other: { sec: 'x', usec: 0 } }],
    })
  })
})

describe('names', () => {
  it('are dropped and reported if they are empty or not declared', () => {
    const raw = { name: 'A', revision_info: { $x: 1 }, _id: { $id: HEX }, from: '', rate: null }
    expect(cast({ ...raw, sid: 'whatever' })).toEqual({
      fields: { name: 'A' },
      dropped: ['revision_info', '_id', 'from', 'rate'],
    })
  })

  it('may be dotted if declared, also within objects', () => {
    expect(fieldsOf({ 'params.class': 'a', 'rates.CALL_1': [] })).toEqual({
      'params.class': 'a',
      'rates.CALL_1': [],
    })
    const { fields, dropped } = cast({ params: { class: 'a', other: 1 }, rates: { CALL: [1] } })
    expect(fields).toEqual({ 'params.class': 'a', 'rates.CALL': [1] })
    expect(dropped).toEqual(['params.other'])
  })

  it.each<[string, Record<string, unknown>]>([
    ['update.$set', { $set: { a: 1 } }],
    ['update.include.groups', { 'include.groups': {} }],
    ['update.rates.call', { 'rates.call': [] }],
    ['update.rates.A.B', { 'rates.A.B': [] }],
    ['update.rates.A.$x', { 'rates.A.$x': 1 }],
    ['update.params.$x', { params: { $x: 1 } }],
    ['update.any.a.0.$where', { any: { a: [{ $where: '1' }] } }],
    ['update.include.0.a.b', { include: [{ 'a.b': 1 }] }],
    ['update.any.constructor', { any: { constructor: 1 } }],
    ['update.any._bsontype', { any: { _bsontype: 'ObjectId' } }],
    ['update.__proto__', JSON.parse('{"__proto__":{"a":1}}')],
    ['update.any.__proto__', { any: JSON.parse('{"__proto__":{"a":1}}') }],
    ['update.params.class', { 'params.class': 1, params: { class: 2 } }],
  ])('%s are refused', (path, raw) => {
    expect(() => cast(raw)).toThrow(InvalidFieldsError)
    expect(() => cast(raw)).toThrow(path)
  })

  it('of a field and of a member of it are refused together', () => {
    const params: Params = { rates: { type: 'array' }, 'rates.*': { type: 'array' } }
    expect(() => cast({ rates: {}, 'rates.A': [] }, params)).toThrow('is set by rates too')
  })
})

describe('rules', () => {
  const params: Params = {
    key: { type: 'string', mandatory: true, pattern: 'key' },
    description: { type: 'string', pattern: 'path' },
    custom: { type: 'json', mandatory: true },
    aid: { type: 'generated', mandatory: true },
    rate: { type: 'number' },
  }

  it.each<[Record<string, unknown>, string]>([
    [{ key: '', custom: 1 }, 'update.key is mandatory'],
    [{ key: 'A', custom: '' }, 'update.custom is mandatory'],
    [{ key: 'a b', custom: 1 }, 'update.key must be of capital letters, digits and _'],
    [{ key: 'A', custom: 1, description: '$a' }, 'update.description must not begin with $'],
    [{ key: 'A', custom: 1, description: 'a.b' }, 'update.description must not begin with $'],
    [{ rate: 'x' }, 'update.key is mandatory; update.custom is mandatory; update.rate must be'],
  ])('refuse %j', (raw, text) => {
    expect(() => cast(raw, params)).toThrow(EntityRuleError)
    expect(() => cast(raw, params)).toThrow(text)
    try {
      cast(raw, params)
    } catch (error) {
      expect((error as EntityRuleError).displayCode).toBe(999_999)
    }
  })

  it('report all invalid fields together, and count those above the limit', () => {
    expect(() => cast({ priority: 'x', shared: 'x', any: { $a: 1 } })).toThrow(
      /^Invalid fields: update.priority .*; update.shared .*; update.any.\$a /,
    )
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`$${index}`, 1]))
    expect(() => cast(many)).toThrow('and 480 more')
  })
})

it('casting throws only errors of the API, for any JSON', () => {
  const names = fc.oneof(fc.constantFrom(...Object.keys(PARAMS), 'rates.A', 'params'), fc.string())
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (raw) => {
      try {
        const { fields } = cast(raw)
        for (const name of Object.keys(fields)) expect(name).not.toMatch(/^\$/)
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError)
        expect(JSON.parse(JSON.stringify((error as ApiError).body()))).toHaveProperty('status', 0)
      }
    }),
    { numRuns: 1_000 },
  )
})
