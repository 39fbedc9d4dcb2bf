import { describe, expect, it } from 'vitest'
import { compileRateKey, matchRate, type RateKeyFields } from '../../src/rating/match.ts'
import { readTable } from '../domain/table.ts'
import { catalogueOf, planOf, rateOf, tariffFrom } from './catalogue.ts'

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
  `)

  it.each(cases)('$template of $usaget and $group is $key', (row) => {
    const fields = { usaget: row['usaget']!, ratingGroup: Number(row['group']) }
    expect(compileRateKey(row['template']!)(fields) ?? 'none').toBe(row['key'])
  })

  it.each(['{msisdn}', 'A{Usaget}', '{}'])(
    'names the placeholder that it does not know: %s',
    (text) => {
      expect(() => compileRateKey(text)).toThrow(/rating\.rateKeys: unknown placeholder \{/)
    },
  )
})

/** Each rate has its own price, so that the price tells which was found. */
const CATALOGUE = catalogueOf(
  [
    rateOf('DATA_10', 'data', '10/1'),
    rateOf('DATA', 'data', '1/1', { id: 'DATA@0', toMs: 100 }),
    rateOf('DATA', 'data', '2/1', { id: 'DATA@100', fromMs: 100, toMs: 200 }),
    rateOf('CALL', 'call', '5/60', { plansPrices: { GOLD: '4/60' } }),
    rateOf('CALL_20', 'data', '9/1'),
    rateOf('SMS', 'sms', null, { plansPrices: { GOLD: '3/1' } }),
    rateOf('SMS_ANY', 'sms', '8/1'),
    rateOf('MMS', 'mms', '7/1'),
  ],
  [],
)
const TEMPLATES = ['{USAGET}_{rating_group}', '{USAGET}', '{USAGET}_ANY'].map(compileRateKey)
const PLANS = {
  PREPAID: planOf('PREPAID'),
  GOLD: planOf('GOLD'),
  STRICT: planOf('STRICT', { disallowedRates: new Set(['MMS', 'DATA_10']) }),
}

const MATCHES = readTable(`
  | case                            | plan    | usaget | group | at  | rate    | price |
  |---------------------------------|---------|--------|-------|-----|---------|-------|
  | the first template              | PREPAID | data   | 10    | 5   | DATA_10 | 10/1  |
  | the next where there is none    | PREPAID | data   | 11    | 5   | DATA    | 1/1   |
  | a field is absent               | PREPAID | data   | -1    | 5   | DATA    | 1/1   |
  | another usage type at that key  | PREPAID | call   | 20    | 5   | CALL    | 5/60  |
  | the last instant of a revision  | PREPAID | data   | -1    | 99  | DATA    | 1/1   |
  | the first of the next           | PREPAID | data   | -1    | 100 | DATA    | 2/1   |
  | after the last                  | PREPAID | data   | -1    | 200 | none    |       |
  | the price of the plan over BASE | GOLD    | call   | -1    | 5   | CALL    | 4/60  |
  | BASE for another plan           | STRICT  | call   | -1    | 5   | CALL    | 5/60  |
  | a price for this plan only      | GOLD    | sms    | -1    | 5   | SMS     | 3/1   |
  | blocked, with no price for it   | PREPAID | sms    | -1    | 5   | none    |       |
  | blocked by the plan             | STRICT  | mms    | -1    | 5   | none    |       |
  | no way around a blocked rate    | STRICT  | data   | 10    | 5   | none    |       |
  | not blocked                     | GOLD    | mms    | -1    | 5   | MMS     | 7/1   |
  | no rate of that kind            | PREPAID | fax    | -1    | 5   | none    |       |
`)

describe('matching a rate', () => {
  it.each(MATCHES)('$case: $rate', (row) => {
    const fields: RateKeyFields = { usaget: row['usaget']!, ratingGroup: Number(row['group']) }
    const plan = PLANS[row['plan'] as keyof typeof PLANS]
    const match = matchRate(CATALOGUE, TEMPLATES, plan, fields, Number(row['at']))
    expect(match?.rate.key ?? 'none').toBe(row['rate'])
    if (match !== null) expect(match.tariff).toEqual(tariffFrom(row['price']!))
  })
})
