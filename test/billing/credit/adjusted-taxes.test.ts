import { describe, expect, it } from 'vitest'
import { adjustedTaxes, type TaxedLines } from '../../../src/billing/credit/adjusted-taxes.ts'
import type { TaxRule } from '../../../src/domain/tax.ts'

const tax = (key: string, rate: string, isEmbedded = false): TaxRule => {
  return { key, description: key, type: 'vat', rate, isEmbedded }
}
const [OLD, NEW, REDUCED] = [tax('VAT', '0.19'), tax('VAT', '0.25'), tax('REDUCED', '0.07')]
const lines = (rate: string | null, ...taxes: TaxRule[]): TaxedLines => ({ rate, taxes })

describe('the taxes of a line of a credit note', () => {
  it.each<[string, TaxedLines[], TaxRule[] | null, TaxRule[]]>([
    ['are the only ones of the invoice', [lines(null, OLD)], [NEW], [OLD]],
    ['also if they had another key', [lines(null, OLD)], [tax('VAT25', '0.25')], [OLD]],
    ['also if none is in force now', [lines(null, OLD)], null, [OLD]],
    ['none if it had none', [lines('FEE')], [NEW], []],
    ['those of the same rate', [lines(null, REDUCED), lines('FEE', OLD)], [NEW], [OLD]],
    ['those with the same key', [lines(null, OLD), lines('CALL', REDUCED)], [NEW], [OLD]],
    ['taxed ones for a taxed rate', [lines('A', OLD), lines('B')], [tax('V', '0.25')], [OLD]],
    ['none for a rate without', [lines('A', OLD), lines('B')], [], []],
    ['those of its time, of several', [lines('FEE', OLD), lines('FEE', NEW)], [NEW], [NEW]],
    [
      'within the price',
      [lines(null, tax('VAT', '0.19', true))],
      [NEW],
      [tax('VAT', '0.19', true)],
    ],
    ['all of a line', [lines(null, OLD, REDUCED)], [NEW], [OLD, REDUCED]],
  ])('%s', (_, adjusted, own, expected) => {
    expect(adjustedTaxes(adjusted, 'FEE', own)).toEqual(expected)
  })

  it('are not guessed', () => {
    const adjusted = [lines('FEE', OLD), lines('FEE', NEW)]
    expect(() => adjustedTaxes(adjusted, 'FEE', [tax('VAT', '0.21')])).toThrow(
      expect.objectContaining({
        reason:
          'rate FEE: the invoices have the taxes VAT 0.19, VAT 0.25: ' +
          'a credit_time at which one of them was in force decides',
      }),
    )
  })
})
