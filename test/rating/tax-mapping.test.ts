import { describe, expect, it } from 'vitest'
import type { TaxRevision } from '../../src/domain/catalogue.ts'
import { compileTaxPriorities, createTaxMapping } from '../../src/rating/tax-mapping.ts'
import { catalogueOf, rateOf } from './catalogue.ts'

function tax(key: string, params: Record<string, unknown>): TaxRevision {
  return {
    ...{ id: key, key, description: key, rate: '0.1', isEmbedded: false, fromMs: 0, toMs: 1e12 },
    params,
  }
}

const TAXES = [
  tax('FOOD', { params: { class: ['A', 'B'] } }),
  tax('BOOKS', { params: { class: 'B' } }),
  tax('OLD', { params: { class: 'C' } }),
]
const { taxes } = catalogueOf([], [], [], [{ ...TAXES[2]!, toMs: 5 }, TAXES[0]!, TAXES[1]!])
const PRIORITIES = [
  [{ tax_field: 'key', rate_field: 'params.tax' }],
  [{ tax_field: 'params.class', rate_field: 'params.tax_class' }],
]

describe('the mapping of taxes', () => {
  const mapTax = createTaxMapping(compileTaxPriorities(PRIORITIES, 'rating.taxMapping'), taxes)
  const key = (params: Record<string, unknown>, atMs = 10) =>
    mapTax(rateOf('R', 'call', '1/1', { params: { params } }), atMs)?.key ?? 'none'

  it.each([
    ['by the first priority that matches', { tax: 'FOOD', tax_class: 'C' }, 'FOOD'],
    ['by a later one', { tax: 'NONE', tax_class: 'A' }, 'FOOD'],
    ['the lowest key of several', { tax_class: 'B' }, 'BOOKS'],
    ['any member of a list', { tax_class: ['X', 'B'] }, 'BOOKS'],
    ['none without the field', {}, 'none'],
    ['none that is over', { tax_class: 'C' }, 'none'],
  ])('takes %s', (_what, params, wanted) => {
    expect(key(params)).toBe(wanted)
  })

  it('takes the revision of the event time', () => {
    expect(key({ tax_class: 'C' }, 4)).toBe('OLD')
  })

  it.each([
    [{}, 'rating.taxMapping must be a list of priorities'],
    [[[]], 'rating.taxMapping.0 must be a list of at least one pair of fields'],
    [[[{ tax_field: 'key' }]], 'rating.taxMapping.0.0.rate_field must be a text'],
    [[[{ rate_field: 'key' }]], 'rating.taxMapping.0.0.tax_field must be a text'],
  ])('names what is wrong in %j', (document, message) => {
    expect(() => compileTaxPriorities(document, 'rating.taxMapping')).toThrow(message)
  })
})
