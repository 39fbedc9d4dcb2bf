import { describe, expect, it } from 'vitest'
import { compileTax } from '../../../src/catalog/compile/tax.ts'
import { REVISION, refusal, stored } from '../../support/catalog/compile/stored.ts'

const tax = (fields: object = {}) => stored({ key: 'VAT_17', rate: 0.17, ...fields })

describe('a tax', () => {
  it('has its rate as decimal text, and the fields that tax mapping reads', () => {
    const params = { country: 'X', rates: ['A'] }
    expect(compileTax(tax({ description: 'Tax', embed_tax: true, params, zone: 2 }))).toEqual({
      ...REVISION,
      key: 'VAT_17',
      description: 'Tax',
      rate: '0.17',
      isEmbedded: true,
      params: { key: 'VAT_17', ...params, zone: 2 },
    })
    expect(compileTax(tax())).toMatchObject({ description: 'VAT', isEmbedded: false })
  })

  it.each([
    [0, '0'],
    [1, '1'],
    ['0.170', '0.17'],
    [1e-7, '0.0000001'],
    ['12.5', '12.5'],
  ])('of %j is %s', (rate, text) => {
    expect(compileTax(tax({ rate })).rate).toBe(text)
  })

  it.each([
    [{ rate: undefined }, 'rate is missing'],
    [{ rate: -0.1 }, 'rate must not be negative, is -0.1'],
    [{ rate: '00.17' }, "rate must not have leading zeros, is '00.17'"],
    [{ rate: '17 %' }, 'rate must be a number or decimal text'],
    [{ rate: '0.0000000000001' }, 'rate has more than 12 decimals: 0.0000000000001'],
    [{ key: 'vat' }, 'key must be a text of capital letters, digits and _'],
    [{ embed_tax: 1 }, 'embed_tax must be true or false'],
    [{ params: 1 }, 'params must be an object'],
  ])('refuses %j', (fields, message) => {
    expect(refusal(() => compileTax(tax(fields)))).toBe(message)
  })
})
