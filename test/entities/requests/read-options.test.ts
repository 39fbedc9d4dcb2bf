import { describe, expect, it } from 'vitest'
import { readOptions, withAlternatives } from '../../../src/entities/requests/read-options.ts'
import { ApiError, EntityRuleError, InvalidFieldsError } from '../../../src/requests/errors.ts'
import { compoundParameters } from '../../../src/requests/json-text.ts'

function read(parameters: Record<string, unknown>) {
  const raw = new Map(Object.entries(parameters))
  return readOptions(raw, compoundParameters(raw), { pageSize: 10, pageSizeMax: 1_000 })
}

describe('options of a read', () => {
  it('have defaults', () => {
    expect(read({})).toEqual({
      page: 0,
      size: 10,
      skip: 0,
      sort: null,
      projection: null,
      states: [0, 1],
      options: { orFields: [], push: [], pull: [], headers: true, delimiter: null, force: false },
    })
  })

  it.each<[Record<string, unknown>, Record<string, unknown>]>([
    [
      { page: '2', size: '25' },
      { page: 2, size: 25, skip: 50 },
    ],
    [
      { page: 1, size: '9999' },
      { size: 1_000, skip: 1_000 },
    ],
    [{ size: -1 }, { size: 1_000 }],
    [{ size: '0' }, { size: 1_000 }],
    [{ sort: '{"from":-1,"name":1}' }, { sort: { from: -1, name: 1 } }],
    [{ sort: { 'a.b': '-1' } }, { sort: { 'a.b': -1 } }],
    [{ sort: '{}' }, { sort: null }],
    [{ project: '{"name":1,"a.b":true,"_id":0}' }, { projection: { name: 1, 'a.b': 1, _id: 0 } }],
    [{ project: { secret: 0 } }, { projection: { secret: 0 } }],
    [{ states: '[2,"0",2]' }, { states: [2, 0] }],
    [{ state: '[2]' }, { states: [0, 1] }],
  ])('%j', (parameters, expected) => {
    expect(read(parameters)).toMatchObject(expected)
  })

  it.each([{ from: 2 }, { from: 'down' }, { from: true }, { $where: 1 }, { 'a..b': 1 }, { '': 1 }])(
    'cannot sort by %j',
    (sort) => {
      expect(() => read({ sort })).toThrow(EntityRuleError)
      try {
        read({ sort })
      } catch (error) {
        expect((error as EntityRuleError).displayCode).toBe(10_403)
      }
    },
  )

  it.each<[Record<string, unknown>, string]>([
    [{ page: -1 }, 'page must be an integer from 0'],
    [{ page: 1e12 }, 'page must be at most'],
    [{ size: 'many' }, 'size must be an integer'],
    [{ project: { a: 2 } }, 'project.a must be 1 or 0'],
    [{ project: { a: { $slice: 1 } } }, 'project.a must be 1 or 0'],
    [{ project: { $a: 1 } }, 'project.$a is a name that begins with $'],
    [{ project: { a: 1, b: 0 } }, 'must not mix'],
    [{ project: { a: 1, 'a.b': 1 } }, 'project.a.b is inside a'],
    [{ states: [] }, 'at least one state'],
    [{ states: [3] }, 'must be a list of 0, 1 and 2'],
    [{ options: { or_field: [] } }, "options.or_field is not known, 'or_fields' is"],
    [{ options: { or_fields: ['$or'] } }, 'must be a list of names'],
    [{ options: { or_fields: [1] } }, 'must be a list of names'],
    [{ options: { headers: 'x' } }, 'options.headers must be true or false'],
    [{ options: { delimiter: ';;' } }, 'options.delimiter must be one character'],
    [{ options: { push_fields: {} } }, 'options.push_fields must be a list'],
    [{ options: { push_fields: [1] } }, 'push_fields.0.field_name must be the name of a field'],
    [{ options: { push_fields: [{ field_name: 'a' }] } }, 'push_fields.0.field_values must'],
    [
      { options: { pull_fields: [{ field_name: 'a', field_values: [], pull_by_key: '$a' }] } },
      'pull_fields.0.pull_by_key must be the name',
    ],
    [
      { options: { pull_fields: [{ field_name: 'a', field_values: [{ $gt: 1 }] }] } },
      'pull_fields.0.field_values.0.$gt is a name that begins with $',
    ],
  ])('%j is refused', (parameters, text) => {
    expect(() => read(parameters)).toThrow(InvalidFieldsError)
    expect(() => read(parameters)).toThrow(text)
  })

  it('have at most 32 fields to sort by, the limit of the store', () => {
    const sort = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`f${index}`, 1]))
    expect(() => read({ sort })).toThrow(ApiError)
  })
})

it('options push and pull members of lists', () => {
  const { options } = read({
    options: {
      push_fields: [{ field_name: 'services', field_values: [{ from: '2026-01-01T00:00:00Z' }] }],
      pull_fields: [{ field_name: 'services', pull_by_key: 'service_id', field_values: 17 }],
      headers: 'false',
      delimiter: ';',
    },
  })
  expect(options).toEqual({
    orFields: [],
    push: [{ field: 'services', values: [{ from: new Date('2026-01-01') }], byKey: null }],
    pull: [{ field: 'services', values: [17], byKey: 'service_id' }],
    headers: false,
    force: false,
    delimiter: ';',
  })
})

it('or_fields match if one of the fields does', () => {
  expect(withAlternatives({ a: 1, b: 2, c: 3 }, ['a', 'c', 'a', 'none'])).toEqual({
    b: 2,
    $or: [{ a: 1 }, { c: 3 }],
  })
  expect(withAlternatives({ a: 1 }, ['none'])).toEqual({ a: 1 })
  const $or = [{ x: 1 }]
  expect(withAlternatives({ a: 1, b: 2, $or }, ['a', 'b'])).toEqual({
    $and: [{ $or }, { $or: [{ a: 1 }, { b: 2 }] }],
  })
  expect(withAlternatives({ a: 1, $or, $and: [{ y: 1 }] }, ['a'])).toEqual({
    $and: [{ y: 1 }, { $or }, { $or: [{ a: 1 }] }],
  })
})
