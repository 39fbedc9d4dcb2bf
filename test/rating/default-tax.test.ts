import { describe, expect, it } from 'vitest'
import { compileRate } from '../../src/catalog/compile/rate.ts'
import { compileTax } from '../../src/catalog/compile/tax.ts'
import { chooseTaxes, hasNoTax } from '../../src/rating/price.ts'
import { documentOf } from '../support/entities/rules/context.ts'

const AT_MS = Date.UTC(2026, 5, 1)
const price = { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] }

function rateWith(tax?: unknown) {
  const fields = { key: 'R', rates: { call: { BASE: price } }, pricing_method: 'tiered' }
  return compileRate(documentOf({ ...fields, ...(tax !== undefined && { tax }) }))
}

function contextOf(keys: readonly string[], defaultTax: string | null) {
  const taxes = new Map(keys.map((key) => [key, [compileTax(documentOf({ key, rate: 0.17 }))]]))
  return { taxes, defaultTax, mapTax: () => null }
}

const keysOf = (keys: readonly string[], defaultTax: string | null, tax?: unknown) =>
  chooseTaxes(contextOf(keys, defaultTax), rateWith(tax), AT_MS)?.map(({ key }) => key) ?? null

const hint = (taxation: string, custom_tax?: string) => [
  { type: 'vat', taxation, ...(custom_tax && { custom_tax, custom_logic: 'override' }) },
]

describe('a rate', () => {
  it.each([undefined, hint('global'), hint('default')])(
    'with %j has the default tax, or none',
    (tax) => {
      expect(keysOf([], null, tax)).toEqual([])
      expect(keysOf(['DEFAULT_VAT', 'OTHER'], null, tax)).toEqual([])
      expect(keysOf(['VAT', 'OTHER'], 'VAT', tax)).toEqual(['VAT'])
      expect(keysOf(['OTHER'], 'VAT', tax)).toBeNull()
      expect(keysOf([], 'VAT', tax)).toBeNull()
      expect(hasNoTax(contextOf(['OTHER'], null), rateWith(tax), AT_MS)).toBe(true)
      expect(hasNoTax(contextOf(['OTHER'], 'VAT'), rateWith(tax), AT_MS)).toBe(false)
    },
  )

  it('with a tax of its own has that tax, or cannot be charged', () => {
    expect(keysOf(['OTHER'], null, hint('custom', 'OTHER'))).toEqual(['OTHER'])
    expect(keysOf(['OTHER'], null, hint('custom', 'GONE'))).toBeNull()
    expect(keysOf(['OTHER'], 'OTHER', hint('no'))).toEqual([])
    expect(hasNoTax(contextOf([], null), rateWith(hint('no')), AT_MS)).toBe(false)
  })
})
