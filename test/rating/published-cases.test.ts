import { describe, expect, it } from 'vitest'
import { PAYER_CASES } from '../support/rating/model/agreed-payers.ts'
import { differences } from '../support/rating/model/compare.ts'
import { modelCase } from '../support/rating/model/model.ts'
import { INCLUDE_CASES } from '../support/rating/model/published-includes.ts'
import { CHARGE_CASES, GRANT_CASES, TAX_CASES } from '../support/rating/model/published-prices.ts'

describe('published and agreed cases, run by the model of the property tests', () => {
  it.each(CHARGE_CASES)('price $name', (testCase) => checkModel(testCase))
  it.each(INCLUDE_CASES)('included units: $name', (testCase) => checkModel(testCase))
  it.each(GRANT_CASES)('grant: $name', (testCase) => checkModel(testCase))
  it.each(PAYER_CASES)('who pays: $name', (testCase) => checkModel(testCase))
  it.each(TAX_CASES)('tax: $name', (testCase) => checkModel(testCase))
})

function checkModel(testCase: (typeof CHARGE_CASES)[number]): void {
  expect(differences(testCase.expect!, modelCase(testCase))).toEqual([])
}
