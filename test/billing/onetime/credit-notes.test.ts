import { expect, it } from 'vitest'
import { allotted } from '../../../src/billing/onetime/credit-notes.ts'
import { Exact } from '../../../src/catalog/records/money/exact-amount.ts'

it.each([
  [392, '500 JPY', '1200 JPY'],
  [978, '500.00 EUR', '1200.00 EUR'],
  [999, '500.00', '1200.00'],
  [414, '500.000 KWD', '1200.000 KWD'],
])('a refusal has the currency and its decimals: %i', (code, left, asked) => {
  const refused = () =>
    allotted(
      [{ invoiceId: 101, amount: null }],
      new Map([[101, new Exact(500)]]),
      new Exact(1200),
      new Exact(0),
      code,
    )
  expect(refused).toThrow(`adjusts: invoice 101 has ${left} left, less than ${asked}`)
})
