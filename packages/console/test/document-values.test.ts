import { describe, expect, it } from 'vitest'
import { withNumbers } from '../src/parts/document/schemas.ts'
import { changedFields, mergeOf, withValue } from '../src/parts/document/values.ts'

const BASE = { name: 'Ada', city: 'London', phone: '1' }
const tier = (to: string, price: string) => ({ to, price })
const TIERS = {
  key: 'T',
  rates: { call: [tier('10', '0.1'), tier('20', '0.2'), tier('X', '0.3')] },
}
const withTiers = (...call: object[]) => ({ key: 'T', rates: { call } })

describe('a value by path', () => {
  it('is replaced in a copy, and created with what is above it', () => {
    const changed = withValue(TIERS, ['rates', 'call', 1, 'price'], '9')
    expect(changed).toEqual(withTiers(tier('10', '0.1'), tier('20', '9'), tier('X', '0.3')))
    expect(TIERS.rates.call[1]?.price).toBe('0.2')
    expect(withValue({}, ['tax', 'type'], 'vat')).toEqual({ tax: { type: 'vat' } })
  })

  it('is removed by undefined, from objects and lists', () => {
    const changed = withValue(TIERS, ['rates', 'call', 0], undefined)
    expect(changed).toEqual(withTiers(tier('20', '0.2'), tier('X', '0.3')))
    expect(withValue(BASE, ['phone'], undefined)).toEqual({ name: 'Ada', city: 'London' })
  })
})

describe('two edits of one revision', () => {
  it('clash where both have set a field to different values', () => {
    const merge = mergeOf(BASE, { ...BASE, name: 'Eve' }, { ...BASE, name: 'Zoe' })
    expect(merge.clashes).toEqual([{ field: 'name', mine: 'Eve', theirs: 'Zoe' }])
    expect(merge.theirs).toEqual([])
    expect(merge.merged).toEqual({ ...BASE, name: 'Eve' })
  })

  it('do not clash with equal values or in different fields', () => {
    const stored = { ...BASE, name: 'Eve', city: '' }
    expect(mergeOf(BASE, { ...BASE, name: 'Eve', phone: '2' }, stored)).toEqual({
      clashes: [],
      theirs: [{ field: 'city', before: 'London', after: '' }],
      merged: { name: 'Eve', city: '', phone: '2' },
    })
  })

  it('are merged within lists', () => {
    const mine = withTiers(tier('10', '0.5'), tier('20', '0.2'), tier('X', '0.3'))
    const theirs = withTiers(tier('10', '0.1'), tier('20', '0.7'), tier('X', '0.3'))
    const merge = mergeOf(TIERS, mine, theirs)
    expect(merge.clashes).toEqual([])
    expect(merge.merged).toEqual(withTiers(tier('10', '0.5'), tier('20', '0.7'), tier('X', '0.3')))
  })

  it('remove whole members of a list that the other one has removed', () => {
    const mine = withTiers(tier('10', '0.5'), tier('20', '0.2'), tier('X', '0.3'))
    const merge = mergeOf(TIERS, mine, withTiers(tier('10', '0.1')))
    expect(merge.merged).toEqual(withTiers(tier('10', '0.5')))
  })
})

describe('a write', () => {
  it('has only the fields that differ, whole', () => {
    expect(changedFields(BASE, { ...BASE, city: '' })).toEqual({ city: '' })
    expect(changedFields(BASE, BASE)).toEqual({})
    const changed = withValue(TIERS, ['rates', 'call', 1, 'price'], '9') as typeof TIERS
    expect(changedFields(TIERS, changed)).toEqual({ rates: changed.rates })
  })

  it('takes numbers and their text for the same', () => {
    expect(changedFields({ price: 5 }, { price: '5' })).toEqual({})
  })
})

it('sends numbers, and text where the schema takes it and no number is exact', () => {
  const number = { type: 'number' } as const
  const schema = {
    type: 'object',
    properties: {
      debt: number,
      exact: { type: ['number', 'string'] },
      list: { type: 'array', items: number },
    },
    additionalProperties: number,
  } as const
  const exact = '0.1234567890123456'
  const typed = { debt: '12.50', exact, list: ['1', 'x'], other: '-3' }
  expect(withNumbers({}, schema, typed)).toEqual({
    ...{ debt: 12.5, exact, list: [1, 'x'], other: -3 },
  })
})
