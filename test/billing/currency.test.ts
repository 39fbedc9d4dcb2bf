import { expect, it } from 'vitest'
import { currencyDigits, currencyName, moneyFormat } from '../../src/billing/currency.ts'
import { rules, whyNoRules } from '../support/billing/en16931.ts'

const NAMES = Array.from({ length: 1000 }, (_, number) => ({ number, name: currencyName(number) }))
const KNOWN = NAMES.flatMap(({ number, name }) => (name === null ? [] : [{ number, name }]))

it.each([
  [978, 'EUR', 2],
  [376, 'ILS', 2],
  [392, 'JPY', 0],
  [414, 'KWD', 3],
  [8, 'ALL', 2],
  [990, 'CLF', 4],
  [999, null, 2],
  [0, null, 2],
])('currency %d is %s with %d decimals', (number, name, digits) => {
  expect([currencyName(number), currencyDigits(number)]).toEqual([name, digits])
})

it.each([
  [826, '9.5 GBP'],
  [999, '9.5'],
])('amounts in texts name currency %d', (number, text) => {
  expect(moneyFormat(number)('9.5')).toBe(text)
})

it('the table has each currency once', () => {
  expect(KNOWN.length).toBeGreaterThan(150)
  expect(new Set(KNOWN.map(({ name }) => name)).size).toBe(KNOWN.length)
})

/** Its list has the former code of São Tomé. */
it.skipIf(whyNoRules !== '')(`has no currency that EN 16931 forbids${whyNoRules}`, () => {
  const [, list = ''] = /id="BR-CL-04"[^>]*contains\('([A-Z ]+)'/.exec(rules()) ?? []
  expect(list.length).toBeGreaterThan(500)
  const permitted = new Set(list.trim().split(/\s+/))
  const others = KNOWN.filter(({ name }) => !permitted.has(name)).map(({ name }) => name)
  expect(others).toEqual(['STN'])
})
