/** Prices that records have, as exact amounts of the currency. */
import { describe, expect, it } from 'vitest'
import { CALLS, RECORD_CONTEXT, recordType } from '../../support/file-types/records.ts'
import { type Fields, refusal } from '../../support/file-types/sample.ts'

const RECORD = { when: '2026-05-01 10:00:00', caller: '0301234', called: '4930', seconds: '61' }
const PRICED = { call: { aprice_field: 'charge' } }

/** The prices of the services in micros, or `field why`. */
function pricesOf(record: object, pricing: Fields = PRICED, changes: Fields = {}) {
  const found = recordType({ pricing, ...changes }).map({ ...RECORD, ...record }, RECORD_CONTEXT)
  if ('why' in found) return `${found.field} ${found.why}`
  return found.request?.services.map(({ priceMicros }) => priceMicros)
}

describe('a price in a record', () => {
  it.each([
    ['1.5', 1_500_000],
    [0.1, 100_000],
    ['0', 0],
    [' 12 ', 12_000_000],
    ['0.0000010', 1],
    ['1e-6', 1],
    [0.1 + 0.2, 300_000],
    ['9007199254.740991', Number.MAX_SAFE_INTEGER],
  ])('%j is exact', (charge, micros) => {
    expect(pricesOf({ charge })).toEqual([micros])
  })

  it.each([
    [undefined, 'is required: it is the price'],
    ['', 'is required: it is the price'],
    [null, 'is required: it is the price'],
    ['free', 'must be a decimal number'],
    ['1,50', 'must be a decimal number'],
    [{ amount: 1 }, 'must be a decimal number'],
    ['1'.repeat(65), 'must be a decimal number'],
    ['-0.01', 'must not be negative: a refund is a credit'],
    ['0.0000001', 'must have at most 6 decimals as an amount'],
    ['9007199254.740992', 'is more than 2^53 - 1 millionths'],
  ])('%j is wrong', (charge, why) => {
    expect(pricesOf({ charge })).toBe(`charge ${why}`)
  })

  it('is multiplied exactly', () => {
    const times = (factor: unknown) => ({ call: { aprice_field: 'charge', aprice_mult: factor } })
    expect(pricesOf({ charge: '1234' }, times('0.001'))).toEqual([1_234_000])
    expect(pricesOf({ charge: 5e-7 }, times(2))).toEqual([1])
    expect(pricesOf({ charge: '0.1' }, times(0.000001))).toBe(
      'charge must have at most 6 decimals as an amount',
    )
  })

  it('belongs to a usage type: that of the catalogue applies to the others', () => {
    const ofCalls = { ...CALLS.usaget_mapping[0], src_field: 'called', pattern: '/^49/' }
    const others = { usaget_field: 'what', default_usaget: 'data', default_volume_src: 'seconds' }
    const open = { processor: { ...CALLS, usaget_mapping: [ofCalls], ...others } }
    expect(pricesOf({ charge: '1' }, PRICED, open)).toEqual([1_000_000])
    expect(pricesOf({ called: '33' }, PRICED, open)).toEqual([undefined])
    expect(pricesOf({ called: '33', what: 'mms' }, PRICED, open)).toEqual([undefined])
    expect(pricesOf({}, { call: [] })).toEqual([undefined])
  })

  it('needs units, which it is the price of', () => {
    expect(pricesOf({ seconds: '0', charge: '1' })).toBe('charge is a price without units')
    expect(pricesOf({ seconds: '0', charge: '0' })).toEqual([0])
  })

  it('is in each service of a record, and added up for the same one', () => {
    const processor = {
      date_field: 'when',
      services_field: 'parts',
      rating_group_field: 'rg',
      usaget_mapping: [{ usaget: 'data', volume_src: 'up' }],
    }
    const services = (parts: object[], more: object = {}) =>
      pricesOf({ parts, ...more }, { data: { aprice_field: 'charge' } }, { processor })
    const one = { rg: 1, up: 1, charge: '0.1' }
    const free = { rg: 1, up: 0, charge: '0.2' }
    expect(services([one, { ...one, rg: 2 }, free])).toEqual([300_000, 100_000])
    expect(services([one, { rg: 2, up: 1 }])).toBe('parts.1.charge is required: it is the price')
    expect(services([one, { rg: 2, up: 1 }], { charge: '1' })).toBe(
      'parts.1.charge must be in the service itself: it is one of several',
    )
    expect(services([{ rg: 2, up: 1 }], { charge: '1' })).toEqual([1_000_000])
    const large = { ...one, charge: '9007199254' }
    expect(services([large, large])).toBe('charge is more than 2^53 - 1 millionths')
  })
})

describe('a document', () => {
  it.each<[Fields, string]>([
    [{ sms: { aprice_field: 'charge' } }, 'pricing.sms is no usage type of the file type'],
    [{ call: { price: 'charge' } }, 'pricing.call.price is not known'],
    [{ call: { aprice_field: 'a b' } }, 'pricing.call.aprice_field must be the path of a field'],
    [{ call: { aprice_mult: 2 } }, 'pricing.call.aprice_field is missing'],
    [
      { call: { aprice_field: 'charge', aprice_mult: 0 } },
      'pricing.call.aprice_mult must be above 0, with at most 12 decimals',
    ],
    [
      { call: { aprice_field: 'charge', tax_included: true } },
      'pricing.call.tax_included is not supported: prices are before tax',
    ],
  ])('%j is refused', (pricing, why) => {
    expect(refusal(() => recordType({ pricing }))).toContain(why)
  })

  it('may have the empty sections of an input form', () => {
    const forms = [null, [], {}, { call: [] }, { call: { aprice_field: '', aprice_mult: '' } }]
    for (const pricing of forms) expect(pricesOf({}, pricing as never)).toEqual([undefined])
  })
})
