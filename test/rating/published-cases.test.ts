import { describe, expect, it } from 'vitest'
import { quoteCase } from '../../src/billing/quote/quote-case.ts'
import { PAYER_CASES } from '../support/rating/model/agreed-payers.ts'
import { differences } from '../support/rating/model/compare.ts'
import { modelCase } from '../support/rating/model/model.ts'
import { INCLUDE_CASES } from '../support/rating/model/published-includes.ts'
import { CHARGE_CASES, GRANT_CASES, TAX_CASES } from '../support/rating/model/published-prices.ts'

type Case = (typeof CHARGE_CASES)[number]

describe.each([
  ['the model of the property tests', checkModel],
  ['the product', checkProduct],
])('published and agreed cases, run by %s', (_, check) => {
  it.each(CHARGE_CASES)('price $name', check)
  it.each(INCLUDE_CASES)('included units: $name', check)
  it.each(GRANT_CASES)('grant: $name', check)
  it.each(PAYER_CASES)('who pays: $name', check)
  it.each(TAX_CASES)('tax: $name', check)
})

function checkModel(testCase: Case): void {
  expect(differences(testCase.expect!, modelCase(testCase))).toEqual([])
}

function checkProduct(testCase: Case): void {
  const { results, ok, error } = quoteCase(testCase)
  expect(error).toBeUndefined()
  expect(differences(testCase.expect!, results)).toEqual([])
  expect(ok).toBe(true)
}
