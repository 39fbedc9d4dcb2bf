import { describe, expect, it } from 'vitest'
import { quoteCase } from '../../src/billing/quote/quote-case.ts'
import { PAYER_CASES } from '../support/rating/model/agreed-payers.ts'
import { differences } from '../support/rating/model/compare.ts'
import { INCLUDE_CASES } from '../support/rating/model/published-includes.ts'
import { CHARGE_CASES, GRANT_CASES, TAX_CASES } from '../support/rating/model/published-prices.ts'

describe('published and agreed cases, run by the product', () => {
  it.each(CHARGE_CASES)('price $name', (testCase) => quote(testCase))
  it.each(INCLUDE_CASES)('included units: $name', (testCase) => quote(testCase))
  it.each(GRANT_CASES)('grant: $name', (testCase) => quote(testCase))
  it.each(PAYER_CASES)('who pays: $name', (testCase) => quote(testCase))
  it.each(TAX_CASES)('tax: $name', (testCase) => quote(testCase))
})

function quote(testCase: (typeof CHARGE_CASES)[number]): void {
  const { results, ok, error } = quoteCase(testCase)
  expect(error).toBeUndefined()
  expect(differences(testCase.expect!, results)).toEqual([])
  expect(ok).toBe(true)
}
