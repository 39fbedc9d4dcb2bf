import { expect, it } from 'vitest'
import { currencyDigits } from '../../../src/billing/currency.ts'
import { allotted } from '../../../src/billing/onetime/credit-notes.ts'
import { Exact } from '../../../src/catalog/records/exact-amount.ts'

it.each([
  [392, '500', '1200'],
  [978, '500.00', '1200.00'],
  [414, '500.000', '1200.000'],
])('a refusal has the decimals of the currency: %i', (code, left, asked) => {
  const refused = () =>
    allotted(
      [{ invoiceId: 101, amount: null }],
      new Map([[101, new Exact(500)]]),
      new Exact(1200),
      new Exact(0),
      currencyDigits(code),
    )
  expect(refused).toThrow(`adjusts: invoice 101 has ${left} left, less than ${asked}`)
})
