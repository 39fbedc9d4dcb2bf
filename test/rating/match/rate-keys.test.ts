import { describe, expect, it } from 'vitest'
import { compileRateKey } from '../../../src/rating/match/rate-keys.ts'
import { readTable } from '../../support/domain/table.ts'

describe('a rate key template', () => {
  const cases = readTable(`
    | template                | usaget | group | key        |
    |-------------------------|--------|-------|------------|
    | {USAGET}                | data   | 10    | DATA       |
    | {usaget}                | data   | 10    | data       |
    | {USAGET}_{rating_group} | data   | 10    | DATA_10    |
    | {USAGET}_{rating_group} | data   | 0     | DATA_0     |
    | {USAGET}_{rating_group} | data   | -1    | none       |
    | RG{rating_group}-X      | data   | 7     | RG7-X      |
    | EVERYTHING              | sms    | -1    | EVERYTHING |
    | {called_number}         | call   | 1     | none       |
  `)

  it.each(cases)('$template of $usaget and $group is $key', (row) => {
    const fields = { usaget: row['usaget']!, ratingGroup: Number(row['group']) }
    expect(compileRateKey(row['template']!)(fields) ?? 'none').toBe(row['key'])
  })

  it('returns the same key again, also after it has built more keys than it caches', () => {
    const keyOf = compileRateKey('{USAGET}_{rating_group}')
    for (let round = 0; round < 2; round += 1) {
      for (let ratingGroup = -1; ratingGroup < 1500; ratingGroup += 1) {
        const key = ratingGroup < 0 ? null : `DATA_${ratingGroup}`
        expect(keyOf({ usaget: 'data', ratingGroup })).toBe(key)
      }
    }
    expect(keyOf({ usaget: 'call', ratingGroup: 7 })).toBe('CALL_7')
  })

  it.each(['{msisdn}', 'A{Usaget}', '{}', 'A{called_number}'])(
    'names an unknown placeholder: %s',
    (text) => {
      expect(() => compileRateKey(text)).toThrow(/rating\.rateKeys: unknown placeholder \{/)
    },
  )
})
