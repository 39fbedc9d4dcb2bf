import { describe, expect, it } from 'vitest'
import { quoteCase } from '../../../src/billing/quote/quote-case.ts'
import { call, quoteCaseOf } from '../../support/billing/quote/case-builder.ts'

/** The differences found; null if the case is as expected. */
function verdict(...expected: object[]) {
  const { ok, mismatches } = quoteCase(
    quoteCaseOf({ events: [call(61), call(1)], expect: expected }),
  )
  expect(ok).toBe(mismatches === undefined)
  return mismatches ?? null
}

describe('the expectation of a case', () => {
  it('matches a part of the result, and numbers by value', () => {
    expect(verdict()).toBeNull()
    expect(verdict({})).toBeNull()
    expect(verdict({ aprice: 0.61, granted: '61.0' }, { aprice: '1e-2' })).toBeNull()
    expect(verdict({ rating: [{ amount: '0.610' }, { step: 'tier', units: 61 }] })).toBeNull()
    expect(verdict({ tax_data: { taxes: [] } })).toBeNull()
  })

  it('is reported where the result differs', () => {
    expect(verdict({ aprice: 0.6100001, granted: 61 }, { arate_key: 'T02' })).toEqual([
      { event: 0, field: 'aprice', expected: 0.6100001, actual: 0.61 },
      { event: 1, field: 'arate_key', expected: 'T02', actual: 'T01' },
    ])
    expect(verdict({ rating: [{ step: 'tier' }] })).toEqual([
      { event: 0, field: 'rating.0.step', expected: 'tier', actual: 'price' },
    ])
  })

  it('is not met where the result has no value', () => {
    expect(verdict({ price: 1 })).toEqual([{ event: 0, field: 'price', expected: 1 }])
    expect(verdict({}, {}, { aprice: 1 })).toEqual([
      { event: 2, field: '', expected: { aprice: 1 } },
    ])
    expect(verdict({ rating: { step: 'price' } })).toMatchObject([{ event: 0, field: 'rating' }])
  })

  it('is optional: a case without it has no verdict', () => {
    const result = quoteCase(quoteCaseOf())
    expect('ok' in result || 'mismatches' in result).toBe(false)
  })
})
