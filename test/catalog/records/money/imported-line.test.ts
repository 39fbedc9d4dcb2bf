import { describe, expect, it } from 'vitest'
import { importedLine } from '../../../../src/catalog/records/money/imported-line.ts'

const FLAT = { type: 'flat', aid: 1, sid: 2, plan: 'P', billrun: '202605', aprice: 10 }
const of = (more: object) => importedLine({ ...FLAT, ...more }, 'Asia/Jerusalem')

describe('an imported line', () => {
  it('keeps what charges are found by, exactly', () => {
    const line = of({
      aprice: { $numberDecimal: '33.605000000001' },
      start: '2026-05-01',
      end: { $date: { $numberLong: '1780261200000' } },
      cycle: { from: 2, to: 5, price: 10 },
      service_id: 7,
      unknown: 'x',
    })
    expect(line).toMatchObject({
      source: 'billrun',
      imported: true,
      usaget: 'flat',
      aprice: 33.605000000001,
      charge_amount: '33.605000000001',
      charge_op: 'charge',
      is_upfront: false,
      cycle: { from: 2 },
      service_id: '7',
      start: new Date('2026-04-30T21:00:00Z'),
      end: new Date('2026-05-31T21:00:00Z'),
    })
    expect(line).not.toHaveProperty('unknown')
  })

  it('keeps the rates of its taxes', () => {
    const vat = { key: 'VAT', description: 'VAT 19 %', type: 'vat', tax: 0.19 }
    const within = { key: 'CITY', tax: { $numberDecimal: '0.02' }, embedded_amount: 0.2 }
    expect(
      of({ tax_data: { total_amount: 1.9, taxes: [{ ...vat, amount: 1.9 }, within] } }),
    ).toMatchObject({
      tax_data: { taxes: [vat, { key: 'CITY', type: 'vat', tax: 0.02, embedded_amount: 0.2 }] },
    })
  })

  it('keeps its rounding by the absolute amount, and the amount before it', () => {
    const up = { rounding_type: 'up', rounding_decimals: { $numberInt: '0' } }
    const kept = { rounding_decimals: 0, rounding_stage: 'after_tax' }
    const before = { final_charge: 9.4, aprice: { $numberDouble: '9.4' } }
    expect(of({ rounding_rules: up, before_rounding: before })).toMatchObject({
      charge_amount: '9.4',
      rounding_rules: { rounding_type: 'up', ...kept },
    })
    const credit = { aprice: -9, rounding_rules: up, before_rounding: { aprice: -9.4 } }
    expect(of(credit)).toMatchObject({
      charge_amount: '-9.4',
      rounding_rules: { rounding_type: 'down', ...kept },
    })
    const none = { rounding_type: 'None' }
    const small = { aprice: 0, rounding_rules: up, before_rounding: { aprice: -0.004 } }
    expect(of(small)).toMatchObject({
      charge_amount: '-0.004',
      rounding_rules: { rounding_type: 'down', ...kept },
    })
    expect(of({ rounding_rules: none })).toMatchObject({ rounding_rules: none })
    const early = { rounding_type: 'up', rounding_stage: 'before_tax' }
    expect(of({ rounding_rules: early })).toMatchObject({ charge_amount: '10' })
  })

  it('without a stamp has one of its content', () => {
    expect(of({}).stamp).toBe(of({ unknown: 1 }).stamp)
    expect(of({}).stamp).not.toBe(of({ aprice: 11 }).stamp)
  })

  it('may have a small amount with an exponent', () => {
    expect(of({ aprice: 1e-7 })).toMatchObject({ charge_amount: '0.000000100000' })
  })

  it.each([
    [{ aid: 0 }, 'aid must be an integer from 1'],
    [{ sid: 'x' }, 'sid must be an integer from 0'],
    [{ billrun: '202613' }, 'billrun must be a cycle'],
    [{ billrun: undefined }, 'billrun is missing'],
    [{ aprice: 'ten' }, 'aprice must be a number'],
    [{ aprice: Number.POSITIVE_INFINITY }, 'aprice must be a number'],
    [{ is_upfront: 1 }, 'is_upfront must be true or false'],
    [{ charge_op: 'x' }, 'charge_op must be charge or refund'],
    [{ start: 'soon' }, 'start must be a date'],
    [{ plan: undefined }, 'name is missing'],
    [{ type: 'service' }, 'name is missing'],
    [{ type: 'credit' }, 'usaget must be discount or conditional_charge'],
    [{ type: 'credit', usaget: 'discount' }, 'key is missing'],
    [{ charged_billrun: '2026' }, 'charged_billrun must be a cycle'],
    [{ rounding_rules: { rounding_type: 'above' } }, 'rounding_rules.rounding_type must be'],
    [{ rounding_rules: { rounding_type: 'up' } }, 'before_rounding.aprice is missing'],
    [{ tax_data: { taxes: [{ key: 'VAT' }] } }, 'tax_data.taxes.0.tax is missing'],
  ])('%j is refused', (more, text) => {
    expect(() => of(more)).toThrow(text)
  })

  it('that is no object is refused', () => {
    expect(() => importedLine([], 'UTC')).toThrow()
    expect(() => importedLine(null, 'UTC')).toThrow()
  })
})
