import { describe, expect, it } from 'vitest'
import type { TaxRevision } from '../../src/domain/catalogue.ts'
import { compileTaxMapping, createTaxMappings } from '../../src/rating/tax-mapping.ts'
import { catalogueOf, rateOf } from '../support/rating/catalogue.ts'

function tax(key: string, params: Record<string, unknown>): TaxRevision {
  return {
    id: key,
    key,
    description: key,
    rate: '0.1',
    isEmbedded: false,
    fromMs: 0,
    toMs: 1e12,
    params,
  }
}

const TAXES = [
  tax('FOOD', { params: { class: ['A', 'B'] } }),
  tax('BOOKS', { params: { class: 'B' } }),
  tax('OLD', { params: { class: 'C' } }),
]
const { taxes } = catalogueOf([], [], [], [{ ...TAXES[2]!, toMs: 5 }, TAXES[0]!, TAXES[1]!])
const MAPPING = {
  priorities: [
    { filters: [{ tax_field: 'key', rate_field: 'params.tax' }] },
    { filters: [{ tax_field: 'params.class', rate_field: 'params.tax_class' }] },
  ],
}

describe('the tax mapping', () => {
  const mapTax = createTaxMappings(compileTaxMapping(MAPPING))(taxes)
  const key = (params: Record<string, unknown>, atMs = 10) =>
    mapTax(rateOf('R', 'call', '1/1', { params: { params } }), atMs)?.key ?? 'none'

  it.each([
    ['by the first priority that matches', { tax: 'FOOD', tax_class: 'C' }, 'FOOD'],
    ['by a later one', { tax: 'NONE', tax_class: 'A' }, 'FOOD'],
    ['the lowest key of several', { tax_class: 'B' }, 'BOOKS'],
    ['any member of a list', { tax_class: ['X', 'B'] }, 'BOOKS'],
    ['no rule without the field', {}, 'none'],
    ['no rule that has ended', { tax_class: 'C' }, 'none'],
  ])('accepts %s', (_what, params, expected) => {
    expect(key(params)).toBe(expected)
  })

  it('applies the revision of the event time', () => {
    expect(key({ tax_class: 'C' }, 4)).toBe('OLD')
  })

  it('returns null without rules', () => {
    const rate = rateOf('R', 'call', '1/1', { params: { params: { tax: 'FOOD' } } })
    expect(createTaxMappings(compileTaxMapping({}))(taxes)(rate, 10)).toBeNull()
  })

  it.each([
    [{ rules: [] }, 'rating.taxMapping.rules is not known'],
    [{ priorities: {} }, 'rating.taxMapping.priorities must be a list'],
    [{ priorities: [{ filters: [] }] }, 'priorities.0.filters must not be empty'],
    [{ priorities: [{ filters: [{ tax_field: 'key' }] }] }, '0.filters.0.rate_field is missing'],
  ])('reports the error in %j', (document, message) => {
    expect(() => compileTaxMapping(document)).toThrow(message)
  })
})
