/** Numbers as readers see them: no decimal of an amount is lost. */
import { expect, it } from 'vitest'
import type { DecimalText } from '../../../../src/admin/console/web/api/figures.ts'
import { formatMoney, formatNumber } from '../../../../src/admin/console/web/parts/numbers.ts'

it.each([
  ['0.42', '0.42'],
  ['5', '5.00'],
  ['1.5', '1.50'],
  ['-12345.678901', '-12,345.678901'],
  ['12345678901234567890.000000000001', '12,345,678,901,234,567,890.000000000001'],
])('the amount %s is shown as %s', (figure, shown) => {
  expect(formatMoney(figure as DecimalText)).toBe(shown)
})

it('an amount has at least the decimals of its currency', () => {
  expect(formatMoney('1.5' as DecimalText, 'EUR')).toBe('€1.50')
  expect(formatMoney('0.0042' as DecimalText, 'EUR')).toBe('€0.0042')
  expect(formatMoney('150' as DecimalText, 'JPY')).toBe('¥150')
})

it('units have all their digits', () => {
  expect(formatNumber(10485760)).toBe('10,485,760')
  expect(formatNumber('0.5' as DecimalText)).toBe('0.5')
})
