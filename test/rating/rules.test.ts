import { describe, expect, it } from 'vitest'
import { compileRules } from '../../src/rating/rules.ts'

const none = {
  rateCalculators: {},
  customerIdentification: {},
  countryPrefix: '',
  taxMapping: {},
}
const filter = (line_key: string) => ({
  call: { priorities: [{ filters: [{ type: 'match', rate_key: 'params.x', line_key }] }] },
})

describe('the rules of the configuration', () => {
  it('name each field once that a decoder has to keep', () => {
    const rules = compileRules({
      ...none,
      rateCalculators: { retail: filter('uf.apn'), wholesale: filter('uf.carrier.name') },
      customerIdentification: { call: [{ src_key: 'apn', target_key: 'imsi' }] },
    })
    expect(rules.keptFields).toEqual(['apn', 'carrier.name'])
    expect(rules.identification.fieldsNeeded()).toEqual(['apn'])
    expect(rules.identification.targetKeys()).toEqual(['imsi'])
  })

  it('need no fields if there are no rules', () => {
    expect(compileRules(none).keptFields).toEqual([])
  })

  it.each([
    [
      { rateCalculators: { retail: filter('') } },
      'rating.rateCalculators.retail.call.priorities.0',
    ],
    [{ customerIdentification: { data: [{}] } }, 'rating.customerIdentification.data.0.src_key'],
    [{ taxMapping: { priorities: 1 } }, 'rating.taxMapping.priorities'],
  ])('are refused with the path of the error: %j', (wrong, path) => {
    expect(() => compileRules({ ...none, ...wrong })).toThrow(path)
  })
})
