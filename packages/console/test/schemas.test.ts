import { describe, expect, it } from 'vitest'
import {
  emptyOf,
  kindOf,
  type Schema,
  type Schemas,
  schemaFor,
  withNumbers,
} from '../src/parts/document/schemas.ts'

const SCHEMAS: Schemas = {
  amount: { type: ['number', 'string'] },
  tier: {
    type: 'object',
    required: ['to', 'price'],
    properties: { to: { $ref: '#/components/schemas/amount' }, price: { $ref: 'x/amount' } },
  },
  price: {
    type: 'object',
    description: 'A price.',
    required: ['rate'],
    properties: { rate: { type: 'array', items: { $ref: '#/components/schemas/tier' } } },
  },
}
const found = (schema: Schema, value?: unknown) => schemaFor(SCHEMAS, schema, value)
const kind = (schema: Schema, value?: unknown) => kindOf(SCHEMAS, found(schema, value))

describe('the kind of a value', () => {
  it.each<[string, Schema]>([
    ['text', { type: 'string' }],
    ['number', { $ref: '#/components/schemas/amount' }],
    ['number', { type: 'integer' }],
    ['boolean', { type: 'boolean' }],
    ['choice', { type: 'string', enum: ['a', 'b'] }],
    ['record', { $ref: '#/components/schemas/price' }],
    ['tiers', { type: 'array', items: { $ref: '#/components/schemas/tier' } }],
    ['scalars', { type: 'array', items: { type: 'string' } }],
    ['list', { type: 'array', items: { $ref: '#/components/schemas/price' } }],
    ['any', {}],
  ])('is %s', (expected, schema) => {
    expect(kind(schema)).toBe(expected)
  })

  it('is that of the branch which fits the value, otherwise of the first one', () => {
    const either: Schema = {
      anyOf: [
        { type: 'array', items: { type: 'string' } },
        { type: 'string' },
        { type: 'array', maxItems: 0 },
      ],
    }
    expect(kind(either)).toBe('scalars')
    expect(kind(either, 'ALL_RATES')).toBe('text')
    expect(kind(either, [])).toBe('scalars')
  })

  it('keeps the description of where it is used', () => {
    expect(found({ $ref: '#/components/schemas/price' }).description).toBe('A price.')
    const own = { $ref: '#/components/schemas/price', description: 'Of a call.' }
    expect(found(own).description).toBe('Of a call.')
  })
})

describe('a new value', () => {
  it('has what is required, to be filled in', () => {
    expect(emptyOf(SCHEMAS, { $ref: '#/components/schemas/price' })).toEqual({
      rate: [{ to: '', price: '' }],
    })
    expect(emptyOf(SCHEMAS, { type: 'array', items: { type: 'string' } })).toEqual([])
    expect(emptyOf(SCHEMAS, { enum: ['a', 'b'] })).toBe('a')
  })
})

describe('a written document', () => {
  it('has numbers for typed amounts, and text where only it is exact', () => {
    const price = { $ref: '#/components/schemas/price' }
    const typed = {
      rate: [
        { to: '60', price: '0.10' },
        { to: 'UNLIMITED', price: '0.1234567890123456' },
      ],
    }
    expect(withNumbers(SCHEMAS, price, typed)).toEqual({
      rate: [
        { to: 60, price: 0.1 },
        { to: 'UNLIMITED', price: '0.1234567890123456' },
      ],
    })
    expect(withNumbers(SCHEMAS, price, { rate: [{ to: '', price: '-' }] })).toEqual({
      rate: [{ to: '', price: '-' }],
    })
  })
})
