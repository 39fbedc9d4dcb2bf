import fc from 'fast-check'
import { describe, it } from 'vitest'
import { quoteCase } from '../../src/billing/quote/quote-case.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { differences } from '../support/rating/model/compare.ts'
import { quoteCases } from '../support/rating/model/generate.ts'
import { modelCase } from '../support/rating/model/model.ts'

const runs = propertyRuns(1000)
/** A case runs for a few milliseconds; the long mode has a hundred thousand cases. */
const TIMEOUT_MS = Math.max(300_000, runs.numRuns * 20)

describe('the tariff bench against an exact model', () => {
  it(
    'agrees in every result',
    () => {
      fc.assert(
        fc.property(quoteCases, (testCase) => {
          const expected = modelCase(testCase)
          const { results, error } = quoteCase(testCase)
          const found = error === undefined ? differences(expected, results) : [error]
          if (found.length === 0) return
          // The case as a line for `tollgate quote --cases`, with the results that the model
          // expects.
          const line = JSON.stringify({ ...testCase, expect: expected })
          throw new Error(`${found.join('\n')}\n${line}`)
        }),
        runs,
      )
    },
    TIMEOUT_MS,
  )
})
