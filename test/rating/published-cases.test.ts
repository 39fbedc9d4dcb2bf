import { describe, expect, it } from 'vitest'
import { PAYER_CASES } from '../support/rating/model/agreed-payers.ts'
import { differences } from '../support/rating/model/compare.ts'
import { modelCase } from '../support/rating/model/model.ts'
import { INCLUDE_CASES } from '../support/rating/model/published-includes.ts'
import { CHARGE_CASES, GRANT_CASES, TAX_CASES } from '../support/rating/model/published-prices.ts'

describe('published and agreed cases, run by the model of the property tests', () => {
  it.each(CHARGE_CASES)('price $name', (story) => judge(story))
  it.each(INCLUDE_CASES)('included units: $name', (story) => judge(story))
  it.each(GRANT_CASES)('grant: $name', (story) => judge(story))
  it.each(PAYER_CASES)('who pays: $name', (story) => judge(story))
  it.each(TAX_CASES)('tax: $name', (story) => judge(story))
})

function judge(story: (typeof CHARGE_CASES)[number]): void {
  expect(differences(story.expect!, modelCase(story))).toEqual([])
}
