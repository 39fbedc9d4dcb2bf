/** Numbers as readers see them: no decimal of an amount is lost. */
import { expect, it } from 'vitest'
import type { DecimalText } from '../src/api/figures.ts'
import { nodeCurrency } from '../src/api/session.ts'
import {
  formatMoney,
  formatNumber,
  isOwed,
  moneyHeader,
  moneyText,
  withCurrency,
} from '../src/parts/numbers.ts'

it.each([
  ['0.42', '0.42'],
  ['5', '5.00'],
  ['1.5', '1.50'],
  ['-12345.678901', '-12,345.678901'],
  ['12345678901234567890.000000000001', '12,345,678,901,234,567,890.000000000001'],
])('the amount %s is shown as %s', (figure, shown) => {
  expect(formatMoney(figure as DecimalText)).toBe(shown)
})

it.each([
  ['0.01', true],
  ['10', true],
  ['0.00', false],
  ['0', false],
  ['-10.5', false],
  ['', false],
])('%s is owed: %s', (amount, owed) => {
  expect(isOwed(amount)).toBe(owed)
})

it('an amount has at least the decimals of its currency', () => {
  const shown = (figure: string, currency: string) => {
    nodeCurrency.value = currency
    return formatMoney(figure as DecimalText)
  }
  expect(shown('1.5', 'EUR')).toBe('1.50')
  expect(shown('0.0042', 'EUR')).toBe('0.0042')
  expect(shown('150', 'JPY')).toBe('150')
  expect(moneyHeader('Price')).toBe('Price (JPY)')
  expect(moneyText('150' as DecimalText)).toBe('150 JPY')
  expect(withCurrency('')).toBe('')
  nodeCurrency.value = null
  expect(moneyHeader('Price')).toBe('Price')
  expect(moneyText('1.5' as DecimalText)).toBe('1.50')
})

it('units have all their digits', () => {
  expect(formatNumber(10485760)).toBe('10,485,760')
  expect(formatNumber('0.5' as DecimalText)).toBe('0.5')
})
