import { expect, it } from 'vitest'
import { customFieldsOf } from '../../../../src/catalog/settings/customers/customer-fields.ts'

it('has the fields that operators have added', () => {
  const value = {
    account: {
      fields: [
        { field_name: 'branch', type: 'text', mandatory: true },
        { field_name: 'email', mandatory: true },
        { field_name: 'payment_gateway.active', mandatory: true },
        'x',
        {},
      ],
    },
    subscriber: { fields: [{ field_name: 'end', type: 'date', plays: ['TV'] }] },
  }
  expect(customFieldsOf(value)).toEqual({
    account: [{ name: 'branch', isMandatory: true, isDate: false, plays: [] }],
    subscriber: [{ name: 'end', isMandatory: false, isDate: true, plays: ['TV'] }],
  })
})

it('has the numbering of built-in fields', () => {
  const imsi = { field_name: 'imsi', mandatory: true }
  const msisdn = { ...imsi, field_name: 'msisdn', numbering: 'any' }
  const { subscriber } = customFieldsOf({ subscriber: { fields: [imsi, msisdn] } })
  const plain = { isMandatory: false, isDate: false, plays: [] }
  expect(subscriber).toEqual([{ name: 'msisdn', numbering: 'any', ...plain }])
})

it.each([undefined, null, {}, [], { account: [] }, { account: { fields: {} } }])(
  'has none in %j',
  (value) => {
    expect(customFieldsOf(value)).toEqual({ account: [], subscriber: [] })
  },
)
