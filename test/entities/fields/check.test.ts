import { describe, expect, it } from 'vitest'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import type { ActionName } from '../../../src/entities/definitions/definition.ts'
import {
  checkCustomFields,
  missingFields,
  uniqueValues,
} from '../../../src/entities/fields/check.ts'
import type { FieldDefinition } from '../../../src/entities/fields/field-definition.ts'
import { fieldRule, InvalidFieldsError } from '../../../src/requests/errors.ts'

const TIME = { timeZone: 'Europe/Berlin', nowMs: Date.UTC(2026, 2, 10, 12) } as const

const definition = (name = 'plans') => {
  const found = DEFINITIONS.get(name)
  if (found === undefined) throw new Error(name)
  return found
}

interface Case {
  action?: ActionName
  collection?: string
  current?: Record<string, unknown>
}

function check(field: Partial<FieldDefinition>, update: object, how: Case = {}) {
  const { action = 'create', collection, current } = how
  const options = { definition: definition(collection), action, ...TIME }
  const fields = [{ field_name: 'x', ...field }]
  return checkCustomFields(fields, update as Record<string, unknown>, {
    ...options,
    ...(current && { current }),
  })
}

function missing(field: Partial<FieldDefinition>, update: object, how: Case = {}) {
  const { action = 'create', collection } = how
  const fields = [{ field_name: 'x', ...field }]
  const where = { definition: definition(collection), action }
  return missingFields(fields, update as Record<string, unknown>, where)
}

const later = { action: 'update' } as const

describe('a value', () => {
  it.each([
    ['text', 'a', 'a'],
    ['text', 491701234567, '491701234567'],
    ['integer', '5', 5],
    ['integer', '5.0', 5],
    ['decimal', '10.50', '10.50'],
    ['decimal', 0.1, 0.1],
    ['boolean', 'false', false],
    ['boolean', 1, true],
    ['date', '2026-07-01', new Date('2026-06-30T22:00:00Z')],
    ['datetime', '2026-07-01T10:00:00Z', new Date('2026-07-01T10:00:00Z')],
    ['datetime', { sec: 1767225600, usec: 0 }, new Date('2026-01-01T00:00:00Z')],
    [
      'daterange',
      { from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' },
      { from: new Date('2026-01-01T00:00:00Z'), to: new Date('2026-02-01T00:00:00Z') },
    ],
    ['email', 'ops@example.org', 'ops@example.org'],
    ['percentage', '12%', 0.12],
    ['percentage', 0.5, 0.5],
    ['json', { a: [1] }, { a: [1] }],
    [undefined, { anything: true }, { anything: true }],
    ['ranges', '1-5', '1-5'],
  ])('of type %s: %j is stored as %j', (type, value, stored) => {
    const field = type === undefined ? {} : { type }
    expect(check(field, { x: value }, later)).toEqual({ x: stored })
  })

  it.each([
    ['text', { a: 1 }, 'update.x must be a text'],
    ['text', true, 'update.x must be a text'],
    ['integer', '1.5', 'update.x must be an integer'],
    ['integer', '9007199254740992', 'update.x must be an integer'],
    ['decimal', '1,5', 'update.x must be a number or decimal text'],
    ['decimal', '0.0000001', 'with at most 6 decimals'],
    ['boolean', 'perhaps', 'update.x must be true or false'],
    ['date', '2026-02-30', 'update.x must be a date'],
    ['date', { sec: 1e300 }, 'update.x must be a date'],
    ['daterange', { from: '2026-02-01', to: '2026-01-01' }, 'must be a range of two dates'],
    ['email', 'ops@', 'must be an e-mail address'],
    ['email', 'a b@c.de', 'must be an e-mail address'],
    ['percentage', '12 of 100', 'update.x must be a number'],
    ['percentage', '0.00001%', 'must be a percentage'],
  ])('of type %s is refused: %j', (type, value, message) => {
    const refused = () => check({ type }, { x: value })
    expect(refused).toThrow(InvalidFieldsError)
    expect(refused).toThrow(message)
  })

  it('of a list is checked per member, and a single value is a list of one', () => {
    const field = { type: 'integer', multiple: true }
    expect(check(field, { x: ['1', 2] })).toEqual({ x: [1, 2] })
    expect(check(field, { x: '3' })).toEqual({ x: [3] })
    expect(() => check(field, { x: [1, 'b'] })).toThrow('update.x must be an integer')
  })

  it('is found by a dotted name', () => {
    const field = { field_name: 'a.b', type: 'integer' }
    expect(check(field, { a: { b: '1' } })).toEqual({ 'a.b': 1 })
    expect(check(field, { 'a.b': '2' })).toEqual({ 'a.b': 2 })
    expect(check({ field_name: 'a.constructor' }, { a: {} })).toEqual({})
  })

  it('that is empty removes the field, and is ignored on create', () => {
    for (const value of ['', null, []]) {
      expect(check({ type: 'date' }, { x: value }, later)).toEqual({ x: null })
      expect(check({ type: 'date' }, { x: value })).toEqual({})
    }
  })

  it.each([
    ['now', '2026-03-10T12:00:00Z'],
    ['tomorrow', '2026-03-10T23:00:00Z'],
    ['+1 week', '2026-03-17T12:00:00Z'],
    [1767225600, '2026-01-01T00:00:00Z'],
    [{ sec: 1767225600, usec: 0 }, '2026-01-01T00:00:00Z'],
    ['1815-12-10', '1815-12-09T23:06:32Z'],
  ])('of a date may be %j, as in all requests', (value, date) => {
    for (const type of ['date', 'datetime']) {
      expect(check({ type }, { x: value })).toEqual({ x: new Date(date) })
    }
    const range = check({ type: 'daterange' }, { x: { from: value, to: '2030-01-01' } })
    expect(range).toMatchObject({ x: { from: new Date(date) } })
  })

  it('that cannot be read is reported together with all others', () => {
    const fields = [
      { field_name: 'a', type: 'integer' },
      { field_name: 'b', type: 'date' },
    ]
    const options = { definition: definition(), action: 'create', ...TIME } as const
    expect(() => checkCustomFields(fields, { a: 'x', b: 'y' }, options)).toThrow(
      'update.a must be an integer below 2^53; update.b must be a date',
    )
  })
})

describe('a rule', () => {
  it('of a mandatory field applies to create only', () => {
    for (const update of [{}, { x: '' }, { x: null }, { x: [] }]) {
      expect(missing({ mandatory: true }, update)).toEqual(['x'])
      expect(missing({ mandatory: true }, update, later)).toEqual([])
    }
    expect(missing({ mandatory: true, default_value: 'd' }, {})).toEqual([])
    expect(missing({ mandatory: true, generated: true }, {})).toEqual([])
    expect(check({ mandatory: true, default_value: 'd' }, {})).toEqual({ x: 'd' })
    expect(check({ default_value: 'd' }, {}, later)).toEqual({})
  })

  it('of a field of some plays applies to those only', () => {
    const field = { mandatory: true, plays: ['MOBILE'] }
    expect(missing(field, { play: 'TV' })).toEqual([])
    expect(missing(field, { play: 'MOBILE' })).toEqual(['x'])
  })

  it('of options reports all of them', () => {
    const field = { type: 'select', select_options: 'red, green' }
    expect(check(field, { x: 'green' })).toEqual({ x: 'green' })
    expect(check({ select_options: ['1', '2'], type: 'select' }, { x: 2 })).toEqual({ x: '2' })
    expect(() => check(field, { x: 'blue' }, later)).toThrow(
      fieldRule('x', "must be one of red, green, is 'blue'"),
    )
    expect(check({ ...field, mandatory: true }, {}, later)).toEqual({})
  })

  it('of a regular expression applies to the whole text', () => {
    const field = { type: 'text', validation: '/[a-z]+|\\d{2}/i' }
    expect(check(field, { x: 'ABC' })).toEqual({ x: 'ABC' })
    for (const value of ['abc1', '123', 'a\n', 'a'.repeat(300)]) {
      expect(() => check(field, { x: value })).toThrow('x does not match the configured pattern')
    }
    expect(check({ type: 'integer', validation: '1\\d' }, { x: 12 })).toEqual({ x: 12 })
  })

  it('of a regular expression is evaluated in bounded time', () => {
    const field = { type: 'text', validation: '(a+)+b' }
    expect(() => check(field, { x: 'a'.repeat(256) })).toThrow(
      'x does not match the configured pattern',
    )
  })

  it('of a fixed field lets clients send back the value they have read', () => {
    const field = { type: 'date', editable: false }
    const current = { x: new Date('2026-01-01T00:00:00Z') }
    expect(check(field, { x: '2026-01-01' })).toHaveProperty('x')
    expect(check(field, { x: '2026-01-01T00:00:00Z' }, { ...later, current })).toEqual({})
    for (const how of [later, { ...later, current }, { action: 'closeandnew' as const }]) {
      expect(() => check(field, { x: '2026-01-02' }, how)).toThrow('x can be set on create only')
    }
  })

  it('applies to declared fields, which it does not parse', () => {
    const field = { field_name: 'charging_type', select_options: 'postpaid', mandatory: true }
    expect(check(field, { charging_type: 'postpaid' })).toEqual({})
    expect(() => check(field, { charging_type: 'x' })).toThrow('charging_type must be one of')
    expect(missing(field, {})).toEqual(['charging_type'])
    expect(check({ ...field, default_value: 'postpaid' }, {})).toEqual({
      charging_type: 'postpaid',
    })
  })
})

describe('no configured field is accepted', () => {
  it.each(['close', 'move', 'delete'] as const)('in %s', (action) => {
    expect(check({ mandatory: true }, { x: 1 }, { action })).toEqual({})
  })

  it('if it is generated, a key, a date or an account', () => {
    expect(check({ generated: true, mandatory: true }, { x: 1 })).toEqual({})
    for (const name of ['from', 'to', 'creation_time', 'key']) {
      const how = { action: 'reopen', collection: 'rates' } as const
      expect(check({ field_name: name }, { [name]: '2026-01-01' }, how)).toEqual({})
    }
    const how = { action: 'reopen', collection: 'subscribers' } as const
    expect(check({ field_name: 'aid' }, { aid: 5 }, how)).toEqual({})
    expect(check({ field_name: 'msisdn', type: 'text' }, { msisdn: '49' }, how)).toEqual({
      msisdn: '49',
    })
  })

  it('if it is not configured', () => {
    expect(check({}, { y: 1, revision_info: {} }, later)).toEqual({})
  })
})

describe('a number', () => {
  const imsi = { type: 'text', multiple: true, numbering: 'imsi' } as const

  it('is stored in the form of requests', () => {
    const msisdn = { type: 'text', numbering: 'msisdn' } as const
    expect(check(msisdn, { x: '+44 7700 900123' })).toEqual({ x: '447700900123' })
    expect(check(msisdn, { x: 447700900123 })).toEqual({ x: '447700900123' })
    expect(check(imsi, { x: '001-010000000001' })).toEqual({ x: ['001010000000001'] })
    expect(() => check(msisdn, { x: '4.477E+11' })).toThrow('update.x must be a number with')
  })

  it('in another form is accepted only if it is stored already', () => {
    const current = { x: ['0010', '001010000000001'] }
    const update = { ...later, current }
    expect(check(imsi, { x: ['0010', '001010000000002'] }, update)).toEqual({
      x: ['0010', '001010000000002'],
    })
    expect(() => check(imsi, { x: ['0011'] }, update)).toThrow('update.x must be an IMSI of 6 to')
  })
})

describe('unique values', () => {
  it('are collected from a whole document, including each member of a list', () => {
    const fields = [
      { field_name: 'msisdn', unique: true },
      { field_name: 'imsi', unique: true, multiple: true },
      { field_name: 'params.code', unique: true },
      { field_name: 'aid', unique: true, generated: true },
      { field_name: 'empty', unique: true },
      { field_name: 'other' },
    ]
    const document = { msisdn: '1', imsi: ['2', '3'], params: { code: 4 }, aid: 5, empty: '' }
    expect(uniqueValues(fields, { ...document, other: 6 })).toEqual([
      { field: 'msisdn', value: '1' },
      { field: 'imsi', value: '2' },
      { field: 'imsi', value: '3' },
      { field: 'params.code', value: 4 },
    ])
  })
})
