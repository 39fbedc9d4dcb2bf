import { describe, expect, it } from 'vitest'
import { quoteCase } from '../../src/cli/quote/quote-case.ts'
import { PAYER_CASES } from '../support/rating/model/agreed-payers.ts'
import { differences } from '../support/rating/model/compare.ts'
import { INCLUDE_CASES } from '../support/rating/model/published-includes.ts'
import { CHARGE_CASES, GRANT_CASES, TAX_CASES } from '../support/rating/model/published-prices.ts'

describe('published and agreed cases, run by the product', () => {
  it.each(CHARGE_CASES)('price $name', (story) => quote(story))
  it.each(INCLUDE_CASES)('included units: $name', (story) => quote(story))
  it.each(GRANT_CASES)('grant: $name', (story) => quote(story))
  it.each(PAYER_CASES)('who pays: $name', (story) => quote(story))
  it.each(TAX_CASES)('tax: $name', (story) => quote(story))
})

function quote(story: (typeof CHARGE_CASES)[number]): void {
  const { results, ok, error } = quoteCase(story)
  expect(error).toBeUndefined()
  expect(differences(story.expect!, results)).toEqual([])
  expect(ok).toBe(true)
}
